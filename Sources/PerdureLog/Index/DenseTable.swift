// A map from 64-bit ids to nonzero words, made for ids that are assigned in sequence. It is a radix
// tree with 64 ways: each level uses six bits of the id. Its height depends on the largest id.
// Sixty-four neighbouring ids share one leaf of 536 bytes. A lookup costs one load for each level.
//
// The value contains the root, so a copy of the value is a snapshot. Changes go through the arena,
// which decides whether a node is written in place or copied (NodeArena.swift, NA1 to NA5).
//
// Invariants
//  DT1  height == 0 if and only if the table is empty. Otherwise the height is the lowest with
//    which every id < 64^height.
//  DT2  A node's presence bit is set if and only if its slot contains a word or a child. No node is
//       empty.
//  DT3  The count beside a child is the number of entries below it. `count` is the number of
//       entries of the whole table.
//  DT4  A node's level is one less than its parent's level. The root's level is height - 1.

/// A copy-on-write map from dense 64-bit ids to nonzero words.
// Unchecked, because of the pointer: the memory it reaches is never written after its version is
// published. The engine frees it only when no reader has that version pinned (NA2, NA3).
struct DenseTable: @unchecked Sendable {
  var root: UnsafeMutableRawPointer?
  var height = 0
  var count = 0
  /// The mapped file that may contain nodes of the table. All other nodes are in the arena's
  /// memory.
  var file = FileNodes.none

  /// Drops the root if some nodes may be in a mapped file; the count stays unchanged.
  mutating func releaseNodes() { if file.hasFile { (root, height) = (nil, 0) } }

  /// The greatest height: 64^11 > 2^64.
  static let heightLimit = 11

  /// Whether `id` fits below the root.
  @inline(__always)
  func covers(_ id: UInt64) -> Bool { id >> UInt64(height * DenseNode.bitsPerLevel) == 0 }

  /// The word of `id`; nil if the table does not contain `id`.
  ///
  /// - Complexity: O(height).
  @inline(__always)
  func get(_ id: UInt64) -> UInt64? {
    guard let leaf = leaf(of: id) else { return nil }
    let word = leaf.word(DenseNode.slot(of: id, level: 0))
    return word == 0 ? nil : word
  }

  @inline(__always)
  func leaf(of id: UInt64) -> DenseNode? {
    guard var node = root, covers(id) else { return nil }
    var level = height &- 1
    while level > 0 {
      guard let child = DenseNode(node).child(DenseNode.slot(of: id, level: level), in: file) else {
        return nil
      }
      node = child
      level &-= 1
    }
    return DenseNode(node)
  }
}

// MARK: - Changes

extension DenseTable {
  /// Sets the word of `id`.
  ///
  /// - Parameter word: Must not be 0.
  /// - Returns: The previous word of `id`; nil if there was none.
  @discardableResult
  mutating func put(_ id: UInt64, _ word: UInt64, in arena: NodeArena) -> UInt64? {
    precondition(word != 0, "the word must not be 0, which means absence")
    let old = get(id)
    if old == word { return old }
    grow(toCover: id, in: arena)
    let added = old == nil ? 1 : 0
    var node = DenseNode(arena.writable(root.unsafelyUnwrapped))
    root = node.base
    var level = height &- 1
    while level > 0 {
      let slot = DenseNode.slot(of: id, level: level)
      level &-= 1
      let child =
        if let present = node.child(slot, in: file) { arena.writable(present) } else {
          DenseNode.make(level: level, in: arena).base
        }
      node.setChild(slot, child, count: node.count(slot) &+ added)
      node = DenseNode(child)
    }
    node.setWord(DenseNode.slot(of: id, level: 0), word)
    count &+= added
    return old
  }

  /// Removes the word of `id`.
  ///
  /// - Returns: The removed word; nil if there was none. Then the table is unchanged.
  @discardableResult
  mutating func remove(_ id: UInt64, in arena: NodeArena) -> UInt64? {
    guard let old = get(id) else { return nil }
    count &-= 1
    var node = DenseNode(arena.writable(root.unsafelyUnwrapped))
    root = node.base
    var level = height &- 1
    while level > 0 {
      let slot = DenseNode.slot(of: id, level: level)
      let child = node.child(slot, in: file).unsafelyUnwrapped
      let left = node.count(slot) &- 1
      if left == 0 {
        discardSubtree(DenseNode(child), in: arena)
        node.setChild(slot, nil, count: 0)
        lowerRoot(in: arena)
        return old
      }
      let kept = arena.writable(child)
      node.setChild(slot, kept, count: left)
      node = DenseNode(kept)
      level &-= 1
    }
    node.setWord(DenseNode.slot(of: id, level: 0), 0)
    lowerRoot(in: arena)
    return old
  }

  /// Removes every entry.
  mutating func removeAll(in arena: NodeArena) {
    if let root { discardSubtree(DenseNode(root), in: arena) }
    self = DenseTable()
  }

  /// Adds roots above the old one until the table covers `id`. DT1
  private mutating func grow(toCover id: UInt64, in arena: NodeArena) {
    if root == nil {
      height = 1
      while !covers(id) { height += 1 }
      root = DenseNode.make(level: height - 1, in: arena).base
    }
    while !covers(id) {
      let top = DenseNode.make(level: height, in: arena)
      top.setChild(0, root, count: count)
      root = top.base
      height += 1
    }
  }

  /// Removes the root as long as its only child is in the first slot. Removes everything if no
  /// entry is left.
  private mutating func lowerRoot(in arena: NodeArena) {
    guard let top = root else { return }
    if count == 0 {
      arena.discard(top)
      self = DenseTable()
    } else if height > 1, DenseNode(top).presence == 1 {
      root = DenseNode(top).child(0, in: file)
      height -= 1
      arena.discard(top)
      lowerRoot(in: arena)
    }
  }

  private func discardSubtree(_ node: DenseNode, in arena: NodeArena) {
    if node.level > 0 {
      var bits = node.presence
      while bits != 0 {
        discardSubtree(DenseNode(node.child(bits.lowestBit, in: file).unsafelyUnwrapped), in: arena)
        bits &= bits &- 1
      }
    }
    arena.discard(node.base)
  }
}
