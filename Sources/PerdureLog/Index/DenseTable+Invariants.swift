extension DenseTable {
  /// Checks D1 to D4 and N1 for every node below the root; traps on the first that does not hold.
  func checkInvariants(in arena: NodeArena) {
    guard let root else {
      precondition(height == 0 && count == 0, "D1: an empty table has no height and no entries")
      return
    }
    precondition(height > 0 && height <= Self.heightLimit, "D1: height")
    precondition(height == 1 || DenseNode(root).presence != 1, "D1: the root is needed")
    let total = checkNode(DenseNode(root), level: height - 1, arena: arena)
    precondition(total == count, "D3: count of the table")
  }

  private func checkNode(_ node: DenseNode, level: Int, arena: NodeArena) -> Int {
    let header = NodeHeader(node.base)
    precondition(arena.isStampValid(of: header), "N1: stamp")
    precondition(header.level == level, "D4: level")
    precondition(header.nodeClass == (level == 0 ? .denseLeaf : .denseInner), "D4: class")
    precondition(node.presence != 0, "D2: an empty node")
    var sum = 0
    for slot in 0..<DenseNode.slotCount {
      let isPresent = node.presence >> UInt64(slot) & 1 == 1
      precondition(isPresent == (node.word(slot) != 0), "D2: presence")
      if level == 0 {
        sum += isPresent ? 1 : 0
      } else {
        let below =
          node.child(slot, in: file).map { checkNode(DenseNode($0), level: level - 1, arena: arena) } ?? 0
        precondition(node.count(slot) == below, "D3: count of a child")
        sum += below
      }
    }
    return sum
  }
}
