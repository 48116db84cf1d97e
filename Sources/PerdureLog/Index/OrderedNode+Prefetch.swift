import CPerdureShims

extension OrderedNode {
  /// Prefetches the cache lines of a node that will be searched next, so that their cache misses
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
