// Positions. Inner nodes have the entry count of each child, so one descent finds the rank of an id
// or the n-th entry.

extension DenseTable {
  /// The number of entries with an id below `id`.
  ///
  /// - Complexity: O(height), with at most 63 additions for each level.
  func rank(of id: UInt64) -> Int {
    guard var node = root else { return 0 }
    guard covers(id) else { return count }
    var below = 0
    var level = height - 1
    while true {
      let view = DenseNode(node)
      let slot = DenseNode.slot(of: id, level: level)
      below &+= view.count(below: slot)
      guard level > 0, let child = view.child(slot, in: file) else { return below }
      node = child
      level &-= 1
    }
  }

  /// The number of entries with an id in `range`.
  func count(in range: Range<UInt64>) -> Int { rank(of: range.upperBound) - rank(of: range.lowerBound) }

  /// The number of entries with an id in `range`.
  func count(in range: ClosedRange<UInt64>) -> Int {
    let below = rank(of: range.lowerBound)
    return (range.upperBound == .max ? count : rank(of: range.upperBound + 1)) - below
  }

  /// The entry that has `position` entries before it; nil if there is no such entry.
  func select(_ position: Int) -> (id: UInt64, word: UInt64)? {
    guard let place = place(atPosition: position) else { return nil }
    return (place.id, place.leaf.word(DenseNode.slot(of: place.id, level: 0)))
  }
}

// MARK: - Places

/// The location of an entry: its leaf and its id.
struct DensePlace {
  var leaf: DenseNode
  var id: UInt64
}

extension DenseTable {
  func place(atPosition position: Int) -> DensePlace? {
    guard position >= 0, position < count, var node = root else { return nil }
    var rest = position
    var id: UInt64 = 0
    var level = height - 1
    while level > 0 {
      let view = DenseNode(node)
      var slot = 0
      while slot < DenseNode.slotCount &- 1, rest >= view.count(slot) {
        rest &-= view.count(slot)
        slot &+= 1
      }
      id = id << 6 | UInt64(slot)
      guard let child = view.child(slot, in: file) else { return nil }
      node = child
      level -= 1
    }
    var bits = DenseNode(node).presence
    // A substitute node (FN2) can have fewer entries than the position requires.
    for _ in 0..<min(rest, DenseNode.slotCount &- 1) { bits &= bits &- 1 }
    return DensePlace(leaf: DenseNode(node), id: id << 6 | UInt64(bits.lowestBit))
  }

  /// The location of the first entry whose id is at least `id`; nil if there is none.
  func firstPlace(from id: UInt64) -> DensePlace? {
    guard var node = root, covers(id) else { return nil }
    // The deepest node of the path that has a later child, and that child's slot. The search
    // continues there if the path of `id` leads to no suitable entry.
    var fork: (node: UnsafeMutableRawPointer, level: Int, slot: Int)?
    var level = height &- 1
    while level > 0 {
      let view = DenseNode(node)
      let slot = DenseNode.slot(of: id, level: level)
      let later = view.presence.bits(above: slot)
      if later != 0 { fork = (node, level, later.lowestBit) }
      guard let child = view.child(slot, in: file) else { break }
      node = child
      level &-= 1
    }
    if level == 0 {
      let slot = DenseNode.slot(of: id, level: 0)
      let bits = DenseNode(node).presence & (~0 &<< UInt64(slot))
      if bits != 0 {
        return DensePlace(leaf: DenseNode(node), id: id & ~63 | UInt64(bits.lowestBit))
      }
    }
    guard let fork else { return nil }
    return edgePlace(from: fork, of: id) { $0.lowestBit }
  }

  /// The location of the last entry whose id is at most `id`; nil if there is none.
  func lastPlace(through id: UInt64) -> DensePlace? {
    guard var node = root else { return nil }
    let id = covers(id) ? id : ~0 >> UInt64(max(0, 64 - height * DenseNode.bitsPerLevel))
    var fork: (node: UnsafeMutableRawPointer, level: Int, slot: Int)?
    var level = height &- 1
    while level > 0 {
      let view = DenseNode(node)
      let slot = DenseNode.slot(of: id, level: level)
      let earlier = view.presence.bits(below: slot)
      if earlier != 0 { fork = (node, level, earlier.highestBit) }
      guard let child = view.child(slot, in: file) else { break }
      node = child
      level &-= 1
    }
    if level == 0 {
      let slot = DenseNode.slot(of: id, level: 0)
      let bits = DenseNode(node).presence & (~0 &>> UInt64(63 &- slot))
      if bits != 0 {
        return DensePlace(leaf: DenseNode(node), id: id & ~63 | UInt64(bits.highestBit))
      }
    }
    guard let fork else { return nil }
    return edgePlace(from: fork, of: id) { $0.highestBit }
  }

  /// The first or last entry below child `fork.slot` of `fork.node`, a node on the path of `id`.
  /// `choose` selects the first or the last slot of each node.
  private func edgePlace(
    from fork: (node: UnsafeMutableRawPointer, level: Int, slot: Int), of id: UInt64,
    choose: (UInt64) -> Int
  ) -> DensePlace {
    let shift = UInt64((fork.level + 1) * DenseNode.bitsPerLevel)
    var prefix = (id >> shift) << 6 | UInt64(fork.slot)
    var node = DenseNode(DenseNode(fork.node).child(fork.slot, in: file).unsafelyUnwrapped)
    while node.level > 0 {
      let slot = choose(node.presence)
      prefix = prefix << 6 | UInt64(slot)
      node = DenseNode(node.child(slot, in: file).unsafelyUnwrapped)
    }
    return DensePlace(leaf: node, id: prefix << 6 | UInt64(choose(node.presence)))
  }
}
