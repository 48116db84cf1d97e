// Many changes to an ordered tree, in ascending order of their keys.
//
// A change to a tree walks from the root to a leaf, and then updates the counts on the way back up.
// Ascending keys usually belong to the leaf of the previous key, or to a neighbour below the same
// parent. Therefore the path is kept open, and only its end is walked again. The counts of the path
// are not updated for each key: the pending difference is added when the path moves on to another
// leaf.
//
// Invariants
//  AI1  While the path is open, it contains all nodes from the root to the leaf, and each belongs
//       to the working version. The counts in the slots of the path do not include `added` yet.
//       `added` is negative after more removals than insertions. The tree's own count is always up
//       to date.
//  AI2  Let a key be not less than the previous key. It belongs in the leaf if every separator to
//       the right of the path is greater than the key. A split of the leaf closes the path.
//  AI3  Removals along the path keep at least one entry in the leaf. Sparseness is checked only
//       when the path moves to another leaf, or in `finish`. So removing a run of keys costs at
//       most one check for each leaf. A merge closes the path.

/// Inserts entries into a tree and removes entries from it, in ascending order of keys.
struct AscendingChanges: ~Copyable {
  /// An inner node of the path, and the slot in which the path continues.
  private struct Step {
    var node: OrderedNode
    var slot: Int
    /// Whether the node is on the right edge of the tree.
    var isLast: Bool
  }

  private let tree: UnsafeMutablePointer<OrderedTree>
  private let arena: NodeArena
  /// The inner nodes of the path, by level. Level 0 has no element.
  private let steps: UnsafeMutablePointer<Step>
  /// The leaf at the end of the path; nil while the path is closed.
  private var leaf: OrderedNode?
  private var isLeafLast = false
  /// The number of entries added to the leaf, minus the number of removed entries. The counts above
  /// the leaf do not include it yet.
  private var added = 0
  /// Whether an entry of the leaf was removed.
  private var hasRemoved = false

  /// - Parameter tree: Must not move, or be changed by other code, until `finish`.
  init(_ tree: UnsafeMutablePointer<OrderedTree>, in arena: NodeArena) {
    self.tree = tree
    self.arena = arena
    steps = .allocate(capacity: OrderedTree.heightLimit + 1)
  }

  deinit { steps.deallocate() }

  /// Like `OrderedTree.put`. No key may be less than an earlier one.
  mutating func put(_ key: UnsafeRawBufferPointer, _ payload: UInt64) {
    guard let leaf = leaf(for: key) else {
      tree.pointee.put(key, payload, in: arena)
      return
    }
    var insertion = Insertion(key: key, payload: payload, file: tree.pointee.file)
    let result = insertion.insert(intoLeaf: leaf, isLast: isLeafLast, in: arena)
    if insertion.old == nil {
      added &+= 1
      tree.pointee.count &+= 1
    }
    if result.right != nil { close(result) }
  }

  /// Like `OrderedTree.remove`. No key may be less than an earlier one.
  ///
  /// - Returns: Whether the tree had the key.
  mutating func remove(_ key: UnsafeRawBufferPointer) -> Bool {
    guard let leaf = leaf(for: key) else { return tree.pointee.remove(key, in: arena) != nil }
    let place = leaf.search(key)
    guard place.isFound else { return false }
    guard leaf.count > 1 else {
      // Removing the last entry removes the leaf, and a neighbour takes over its key range. AI3
      finish()
      return tree.pointee.remove(key, in: arena) != nil
    }
    Removal(arena: arena, file: tree.pointee.file).removeEntry(place.index, from: leaf)
    added &-= 1
    tree.pointee.count &-= 1
    hasRemoved = true
    return true
  }

  /// Ends the changes: updates the counts of the path, and merges a sparse leaf.
  mutating func finish() {
    count()
    mergeIfSparse()
    leaf = nil
  }

  // MARK: The path

  /// The leaf for `key`; nil while the tree has no inner node.
  private mutating func leaf(for key: UnsafeRawBufferPointer) -> OrderedNode? {
    guard tree.pointee.height > 1 else { return nil }
    var level = tree.pointee.height &- 1
    guard let leaf else {
      let root = OrderedNode(arena.writable(tree.pointee.root.unsafelyUnwrapped))
      tree.pointee.root = root.base
      steps[level] = Step(node: root, slot: 0, isLast: true)
      return descend(to: key, from: level)
    }
    // Find the highest node of the path in which the key belongs to a later slot. AI2
    while level > 0 {
      let step = steps[level]
      if step.slot &+ 1 < step.node.count, !step.node.isBefore(key, step.slot &+ 1) {
        count()
        mergeIfSparse()
        // If a merge has closed the path, the search begins at the root.
        return self.leaf == nil ? self.leaf(for: key) : descend(to: key, from: level)
      }
      level &-= 1
    }
    return leaf
  }

  /// Descends to the leaf for `key` from the path's node at level `top`.
  private mutating func descend(to key: UnsafeRawBufferPointer, from top: Int) -> OrderedNode {
    var level = top
    while true {
      let step = steps[level]
      let slot =
        step.isLast && step.node.isAfterLast(key) ? step.node.count &- 1 : step.node.childIndex(for: key)
      steps[level].slot = slot
      let child = step.node.child(slot, in: tree.pointee.file)
      let own = OrderedNode(arena.writable(child))
      if own.base != child { step.node.setChild(slot, own.base, entryCount: step.node.entryCount(slot)) }
      let isLast = step.isLast && slot == step.node.count &- 1
      level &-= 1
      guard level > 0 else {
        leaf = own
        isLeafLast = isLast
        return own
      }
      steps[level] = Step(node: own, slot: 0, isLast: isLast)
    }
  }

  /// Adds the pending difference to the counts of the path.
  private mutating func count() {
    guard added != 0 else { return }
    for level in 1..<tree.pointee.height {
      let node = steps[level].node
      let slot = steps[level].slot
      node.setChild(slot, node.childAddress(slot), entryCount: node.entryCount(slot) &+ added)
    }
    added = 0
  }

  /// Merges the leaf of the path, and then nodes above it, if removals have made them sparse. The
  /// counts of the path must be up to date.
  private mutating func mergeIfSparse() {
    guard hasRemoved else { return }
    hasRemoved = false
    let removal = Removal(arena: arena, file: tree.pointee.file)
    for level in 1..<tree.pointee.height {
      guard removal.mergeIfSparse(steps[level].slot, in: steps[level].node) else { break }
      leaf = nil
    }
    if leaf == nil { tree.pointee.lowerRoot(in: arena) }
  }

  /// Closes the path after a split of the leaf: adds the right half to the nodes above.
  private mutating func close(_ split: Insertion.Result) {
    var result = split
    for level in 1..<tree.pointee.height {
      let step = steps[level]
      let count = step.node.entryCount(step.slot) &+ added
      guard let right = result.right else {
        step.node.setChild(step.slot, result.node, entryCount: count)
        result = Insertion.Result(node: step.node.base)
        continue
      }
      let entry = right.entry(in: arena)
      step.node.setChild(step.slot, result.node, entryCount: count &- entry.below.count)
      result = Insertion.place(
        entry, at: step.slot &+ 1, in: step.node, isLast: step.isLast, arena: arena)
    }
    added = 0
    hasRemoved = false
    leaf = nil
    tree.pointee.root = result.node
    if let right = result.right { tree.pointee.growRoot(left: result.node, right: right, in: arena) }
  }
}
