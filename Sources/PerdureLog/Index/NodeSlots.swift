/// Clears the index-file slots of a tree's nodes in memory, because a new index file is begun.
/// Nodes in the mapped file, and the nodes below them, are not changed.
///
/// Called by the checkpoint writer while the tree's version is pinned (NodeWriter, NW2).
enum NodeSlots {
  static func forget(_ tree: OrderedTree) {
    if let root = tree.root, !tree.file.contains(root) { forget(OrderedNode(root), tree.file) }
  }

  static func forget(_ table: DenseTable) {
    if let root = table.root, !table.file.contains(root) { forget(DenseNode(root), table.file) }
  }

  private static func forget(_ node: OrderedNode, _ file: FileNodes) {
    NodeHeader(node.base).slot = .none
    for index in 0..<node.count {
      if node.hasBlocks, let block = node.block(index), !file.contains(block) {
        NodeHeader(block).slot = .none
      }
      if node.isLeaf { continue }
      let child = node.childAddress(index)
      if !file.contains(child) { forget(OrderedNode(child), file) }
    }
  }

  private static func forget(_ node: DenseNode, _ file: FileNodes) {
    NodeHeader(node.base).slot = .none
    if node.level == 0 { return }
    for way in 0..<DenseNode.slotCount {
      if let child = node.childAddress(way), !file.contains(child) { forget(DenseNode(child), file) }
    }
  }
}
