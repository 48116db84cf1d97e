// Which nodes a checkpoint is made of, in one number.
//
// A node's checksum says that its bytes belong together and to its slot. It cannot say that they are the newest
// that were written there: a write that the medium lost leaves an older node, whole in itself, and a tree
// with an older leaf in it looks like any other. So the root block has a sum over the places and checksums of all
// nodes it reaches. What is older in one place makes another sum.

/// A sum over nodes; their order does not matter.
struct NodeSum: Equatable {
  private(set) var value: UInt64 = 0

  /// FORMAT.md, K9.
  mutating func add(_ slot: NodeSlot, checksum: UInt32) { value &+= Self.mixed(slot, checksum) }

  /// Takes away what was added.
  mutating func remove(_ slot: NodeSlot, checksum: UInt32) { value &-= Self.mixed(slot, checksum) }

  private static func mixed(_ slot: NodeSlot, _ checksum: UInt32) -> UInt64 {
    var mixed = UInt64(slot.number) << 32 | UInt64(checksum)
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}

extension OrderedTree {
  /// The slots of all nodes and blocks of a tree; none for what is not in the file.
  func forEachSlot(_ body: (NodeSlot) -> Void) {
    if let root { Self.visit(OrderedNode(root), body) }
  }

  private static func visit(_ node: OrderedNode, _ body: (NodeSlot) -> Void) {
    body(NodeHeader(node.base).slot)
    if node.hasBlocks {
      for index in 0..<node.count {
        if let block = node.block(index) { body(NodeHeader(block).slot) }
      }
    }
    if node.isLeaf { return }
    for index in 0..<node.count { visit(OrderedNode(node.child(index)), body) }
  }
}

extension DenseTable {
  /// The slots of all nodes of a table; none for what is not in the file.
  func forEachSlot(_ body: (NodeSlot) -> Void) {
    if let root { Self.visit(DenseNode(root), body) }
  }

  private static func visit(_ node: DenseNode, _ body: (NodeSlot) -> Void) {
    body(NodeHeader(node.base).slot)
    if node.level == 0 { return }
    var bits = node.presence
    while bits != 0 {
      if let child = node.child(bits.lowestBit) { visit(DenseNode(child), body) }
      bits &= bits &- 1
    }
  }
}
