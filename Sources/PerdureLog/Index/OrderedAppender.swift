// Loading sorted input. While keys ascend they go straight into the last leaf; the counts on the right edge
// are brought up to date when that leaf is full and an ordinary insertion splits it. A key that does not
// ascend is put in the ordinary way, so any input gives the right tree and sorted input gives it fast, with
// full nodes.

/// Builds a tree, or adds to one, from entries that mostly ascend. The arena's working version must not end
/// before `finish`.
struct OrderedAppender: ~Copyable {
  private var tree: OrderedTree
  private let arena: NodeArena
  /// The last leaf, made or copied in the working version.
  private var leaf: OrderedNode?
  /// Entries in the last leaf that the counts above do not have yet.
  private var pendingCount = 0

  init(_ tree: OrderedTree = OrderedTree(), in arena: NodeArena) {
    self.tree = tree
    self.arena = arena
  }

  /// Gives `key` a payload.
  mutating func append(_ key: UnsafeRawBufferPointer, _ payload: UInt64) {
    if let leaf, key.count <= OrderedNode.inlineKeyLimit, leaf.isBehindLast(key),
      leaf.compareToPrefix(key) == 0
    {
      let entry = OrderedEntry(key: key, word: payload)
      if leaf.hasRoom(for: entry) {
        leaf.append(entry)
        pendingCount &+= 1
        return
      }
    }
    settle()
    tree.put(key, payload, in: arena)
    leaf = tree.writableLastLeaf(in: arena)
  }

  /// The tree with everything that was appended.
  consuming func finish() -> OrderedTree {
    settle()
    return tree
  }

  private mutating func settle() {
    guard pendingCount > 0 else { return }
    tree.addToLastLeaf(pendingCount)
    pendingCount = 0
  }
}

extension OrderedTree {
  /// The last leaf if the working version may write it and everything above it.
  fileprivate func writableLastLeaf(in arena: NodeArena) -> OrderedNode? {
    guard let root else { return nil }
    var node = OrderedNode(root)
    while NodeHeader(node.base).stamp == arena.workingVersion {
      if node.isLeaf { return node }
      node = OrderedNode(node.child(node.count &- 1))
    }
    return nil
  }

  /// Counts `added` entries that were put into the last leaf, whose path is writable. T4
  fileprivate mutating func addToLastLeaf(_ added: Int) {
    guard let root else { return }
    count &+= added
    var node = OrderedNode(root)
    while !node.isLeaf {
      let last = node.count &- 1
      let child = node.child(last)
      node.setChild(last, child, entryCount: node.entryCount(last) &+ added)
      node = OrderedNode(child)
    }
  }
}
