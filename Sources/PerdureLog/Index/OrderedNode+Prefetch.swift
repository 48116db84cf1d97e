import CPerdureShims

extension OrderedNode {
  /// Prefetches the lines of a node that is about to be searched, so that their cache misses
  /// overlap.
  @inline(__always)
  func prefetch() {
    var offset = 0
    while offset < Self.byteCount {
      perdure_prefetch(base + offset)
      offset &+= 64
    }
  }
}
