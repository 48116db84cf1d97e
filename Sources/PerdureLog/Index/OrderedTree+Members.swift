// A group has all keys of a tree that begin with the same eight bytes. In an index with eight-byte
// keys, its members are the references stored with one key.
//
// A walk over a graph reads the members of a group for every object, to reach the object's
// neighbours. Therefore this code allocates nothing: no cursor, no copy of a key. One descent finds
// the group's first leaf. It also notes the deepest node of its path that has a later child. Below
// that child is the next leaf, in which the group may continue. If the group continues after that
// leaf, another descent finds the next member. So there is one descent for every two leaves.

extension OrderedTree {
  /// Passes the members of a group to `body` in order. A key of the group is `group` and eight more
  /// bytes, both big-endian. The eight bytes are the member.
  ///
  /// - Complexity: O(log n), then O(1) for each member.
  @inline(__always)
  func forEachMember(of group: UInt64, _ body: (UInt64) -> Void) {
    var next: UInt64 = 0
    while true {
      let (leaf, index, turn) = place(of: group, next)
      guard let leaf else { return }
      var walk = MemberWalk(group: group, next: next)
      if walk.visit(leaf, from: index, body) { return }
      guard let turn, !walk.visit(firstLeaf(below: turn), from: 0, body) else { return }
      next = walk.next
    }
  }

  /// Whether a group has this member. O(log n).
  func hasMember(_ member: UInt64, of group: UInt64) -> Bool {
    withUnsafeBytes(of: (group.bigEndian, member.bigEndian)) { get($0) != nil }
  }

  /// The leaf whose range of keys includes a member, the index of the first entry that is not less
  /// than the member, and the subtree after the leaf.
  private func place(
    of group: UInt64, _ member: UInt64
  ) -> (leaf: OrderedNode?, index: Int, turn: Turn?) {
    guard let root else { return (nil, 0, nil) }
    return withUnsafeBytes(of: (group.bigEndian, member.bigEndian)) { key in
      var node = OrderedNode(root)
      var turn: Turn?
      var level = height &- 1
      while level > 0 {
        let slot = node.childIndex(for: key)
        if slot &+ 1 < node.count { turn = Turn(node: node, index: slot &+ 1) }
        node = OrderedNode(node.child(slot, in: file))
        node.prefetch()
        level &-= 1
      }
      return (node, node.search(key).index, turn)
    }
  }

  private func firstLeaf(below turn: Turn) -> OrderedNode {
    var node = OrderedNode(turn.node.child(turn.index, in: file))
    while !node.isLeaf { node = OrderedNode(node.child(0, in: file)) }
    return node
  }

  /// The next child after the one that a path entered.
  private struct Turn {
    var node: OrderedNode
    var index: Int
  }
}

/// A walk over the members of a group, one leaf after another.
private struct MemberWalk {
  let group: UInt64
  /// The least member that can still follow.
  var next: UInt64

  private static let keyByteCount = 16

  /// Passes the members in a leaf to `body`. Returns true if no member can follow after this leaf.
  @inline(__always)
  mutating func visit(_ leaf: OrderedNode, from start: Int, _ body: (UInt64) -> Void) -> Bool {
    let count = leaf.count
    let suffixLength = Self.keyByteCount &- leaf.prefixLength
    guard suffixLength >= 0 else { return start < count }
    let prefix = leaf.prefix.reduce(UInt128(0)) { $0 &<< 8 | UInt128($1) }
    var index = start
    while index < count {
      guard !leaf.isOutOfLine(index), leaf.suffixLength(index) == suffixLength else { return true }
      let key = prefix &<< UInt128(suffixLength &* 8) | leaf.suffix(index, byteCount: suffixLength)
      guard UInt64(truncatingIfNeeded: key &>> 64) == group else { return true }
      let member = UInt64(truncatingIfNeeded: key)
      body(member)
      if member == .max { return true }
      next = member &+ 1
      index &+= 1
    }
    return false
  }
}

extension OrderedNode {
  /// The suffix of an inline key, sixteen bytes at most, as a big-endian number.
  @inline(__always)
  fileprivate func suffix(_ index: Int, byteCount: Int) -> UInt128 {
    let restByteCount = byteCount &- Self.headByteCount
    let head = UInt128(head(index))
    // A head of fewer than four bytes is padded at its end.
    if restByteCount <= 0 { return head &>> UInt128(-restByteCount &* 8) }
    return head &<< UInt128(restByteCount &* 8) | tail(of: rest(index), byteCount: restByteCount)
  }

  /// A few bytes as a big-endian number. They are read in whole words, which is safe because at
  /// least sixteen bytes of the node are before them.
  @inline(__always)
  private func tail(of start: UnsafeRawPointer, byteCount: Int) -> UInt128 {
    let end = start + byteCount
    let low = UInt64(bigEndian: (end - 8).loadUnaligned(as: UInt64.self))
    if byteCount <= 8 { return UInt128(low & (.max &>> UInt64((8 &- byteCount) &* 8))) }
    let high = UInt64(bigEndian: (end - 16).loadUnaligned(as: UInt64.self))
    return UInt128(high & (.max &>> UInt64((16 &- byteCount) &* 8))) &<< 64 | UInt128(low)
  }
}
