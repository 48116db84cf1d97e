extension DenseTable {
  /// Checks DT1 to DT4 and NA1 for all nodes, from the root down. Traps at the first violation.
  func checkInvariants(in arena: NodeArena) {
    guard let root else {
      precondition(height == 0 && count == 0, "DT1: an empty table has no height and no entries")
      return
    }
    precondition(height > 0 && height <= Self.heightLimit, "DT1: height")
    precondition(height == 1 || DenseNode(root).presence != 1, "DT1: the root has only its first child")
    let total = checkNode(DenseNode(root), level: height - 1, arena: arena)
    precondition(total == count, "DT3: count of the table")
  }

  private func checkNode(_ node: DenseNode, level: Int, arena: NodeArena) -> Int {
    let header = NodeHeader(node.base)
    precondition(arena.isStampValid(of: header), "NA1: stamp")
    precondition(header.level == level, "DT4: level")
    precondition(header.nodeClass == (level == 0 ? .denseLeaf : .denseInner), "DT4: class")
    precondition(node.presence != 0, "DT2: an empty node")
    var sum = 0
    for slot in 0..<DenseNode.slotCount {
      let isPresent = node.presence >> UInt64(slot) & 1 == 1
      precondition(isPresent == (node.word(slot) != 0), "DT2: presence")
      if level == 0 {
        sum += isPresent ? 1 : 0
      } else {
        let below =
          node.child(slot, in: file).map { checkNode(DenseNode($0), level: level - 1, arena: arena) } ?? 0
        precondition(node.count(slot) == below, "DT3: count of a child")
        sum += below
      }
    }
    return sum
  }
}
