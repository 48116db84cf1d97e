// Positions and counts, computed from the entry counts in the inner nodes.

/// The keys that are not less than `lower` and, if there is an upper bound, less than `upper`.
struct RawKeyRange {
  var lower: UnsafeRawBufferPointer
  var upper: UnsafeRawBufferPointer?

  /// Every key.
  static var all: RawKeyRange { RawKeyRange(lower: UnsafeRawBufferPointer(start: nil, count: 0), upper: nil) }
}

extension OrderedTree {
  /// The number of entries with a key less than `key`.
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

  /// The number of entries with a key in `range`; 0 if its upper bound is less than its lower
  /// bound.
  func count(in range: RawKeyRange) -> Int {
    let end = range.upper.map { rank(of: $0) } ?? count
    return max(0, end - rank(of: range.lower))
  }

  /// The payload of the entry that has `position` entries before it; nil if there is no such entry.
  /// A cursor can also provide the key.
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
    // A substitute node (FN2) can have fewer entries than the position requires.
    return node.word(min(rest, node.count &- 1))
  }
}
