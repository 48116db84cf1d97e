// Positions and counts, by the entry counts in the inner nodes.

/// Keys from `lower` on and, if there is an upper bound, below it.
struct RawKeyRange {
  var lower: UnsafeRawBufferPointer
  var upper: UnsafeRawBufferPointer?

  /// Every key.
  static var all: RawKeyRange { RawKeyRange(lower: UnsafeRawBufferPointer(start: nil, count: 0), upper: nil) }
}

extension OrderedTree {
  /// Entries with a key less than `key`.
  ///
  /// - Complexity: O(log n).
  func rank(of key: UnsafeRawBufferPointer) -> Int {
    guard let root else { return 0 }
    var node = OrderedNode(root)
    var below = 0
    while !node.isLeaf {
      let index = node.childIndex(for: key)
      below &+= node.entryCount(below: index)
      node = OrderedNode(node.child(index, in: file))
    }
    return below &+ node.search(key).index
  }

  /// Entries with a key in `range`; 0 if its bounds are the wrong way round.
  func count(in range: RawKeyRange) -> Int {
    let end = range.upper.map { rank(of: $0) } ?? count
    return max(0, end - rank(of: range.lower))
  }

  /// The payload of the entry with `position` entries below it, nil if there are not so many. A
  /// cursor gives the key as well.
  func select(_ position: Int) -> UInt64? {
    guard position >= 0, position < count, let root else { return nil }
    var node = OrderedNode(root)
    var rest = position
    while !node.isLeaf {
      var index = 0
      while index < node.count &- 1, rest >= node.entryCount(index) {
        rest &-= node.entryCount(index)
        index &+= 1
      }
      node = OrderedNode(node.child(index, in: file))
    }
    // Of a substitute (FN2) the position says nothing.
    return node.word(min(rest, node.count &- 1))
  }
}
