import CPerdureShims

extension OrderedNode {
  /// Asks for the header, the heads and the prefix of a node that is about to be searched, so that their
  /// cache misses overlap.
  @inline(__always)
  func prefetch() {
    perdure_prefetch(base)
    perdure_prefetch(base + 64)
    perdure_prefetch(base + 128)
  }
}
