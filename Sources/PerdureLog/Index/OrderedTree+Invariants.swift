extension OrderedTree {
  /// Checks ON1 to ON3, OT1 to OT5 and NA1 for all nodes, from the root down. Traps at the first
  /// violation.
  func checkInvariants(in arena: NodeArena) {
    guard let root else {
      precondition(height == 0 && count == 0, "OT1: an empty tree has no height and no entries")
      return
    }
    precondition(height > 0 && height <= Self.heightLimit, "OT1: height")
    let node = OrderedNode(root)
    precondition(node.isLeaf || node.count >= 2, "OT5: a root with one child")
    var check = InvariantCheck(arena: arena, file: file)
    let total = check.run(node, level: height - 1, lower: [], upper: nil)
    precondition(total == count, "OT4: count of the tree")
  }

  /// The number of nodes and the number of bytes used in them, which show how full the tree is.
  func measure() -> (nodeCount: Int, usedByteCount: Int) {
    guard let root else { return (0, 0) }
    return measure(OrderedNode(root))
  }

  private func measure(_ node: OrderedNode) -> (nodeCount: Int, usedByteCount: Int) {
    var sum = (nodeCount: 1, usedByteCount: node.usedByteCount)
    if node.isLeaf { return sum }
    for index in 0..<node.count {
      let below = measure(OrderedNode(node.child(index, in: file)))
      sum.nodeCount += below.nodeCount
      sum.usedByteCount += below.usedByteCount
    }
    return sum
  }
}

/// One check of a tree. It copies keys to arrays, so it is only for tests.
private struct InvariantCheck {
  let arena: NodeArena
  let file: FileNodes
  /// The blocks found so far. No block may be found twice.
  var blocks: Set<UnsafeMutableRawPointer> = []

  init(arena: NodeArena, file: FileNodes) {
    self.arena = arena
    self.file = file
  }

  mutating func run(_ node: OrderedNode, level: Int, lower: [UInt8], upper: [UInt8]?) -> Int {
    let header = NodeHeader(node.base)
    precondition(arena.isStampValid(of: header), "NA1: stamp")
    precondition(header.level == level && header.nodeClass == .orderedNode, "OT1: level")
    precondition(node.count > 0, "OT5: an empty node")
    checkHeap(node)
    let keys = checkKeys(node, lower: lower, upper: upper)
    if level == 0 { return node.count }
    var sum = 0
    for index in 0..<node.count {
      let low = index == 0 ? lower : keys[index]
      let high = index + 1 < node.count ? keys[index + 1] : upper
      let child = OrderedNode(node.child(index, in: file))
      let below = run(child, level: level - 1, lower: low, upper: high)
      precondition(below == node.entryCount(index), "OT4: count of a child")
      sum += below
    }
    return sum
  }

  private func checkHeap(_ node: OrderedNode) {
    let bodiesEnd = OrderedNode.bodiesEnd(node.count, bodyByteCount: node.bodyByteCount)
    precondition(bodiesEnd <= node.heapStart, "ON3: bodies reach into the heap")
    var sum = node.deadByteCount
    for index in 0..<node.count { sum += node.heapByteCount(index) }
    precondition(
      node.heapStart + sum == OrderedNode.byteCount - node.prefixLength, "ON3: bytes of the heap")
  }

  private mutating func checkKeys(_ node: OrderedNode, lower: [UInt8], upper: [UInt8]?) -> [[UInt8]] {
    let buffer = UnsafeMutableRawPointer.allocate(
      byteCount: OrderedNode.keyBufferByteCount, alignment: 16)
    defer { buffer.deallocate() }
    var keys: [[UInt8]] = []
    for index in 0..<node.count {
      let bytes = node.key(index, in: buffer)
      let key = [UInt8](bytes)
      checkBlock(of: node, index, keyLength: key.count)
      if index >= node.firstKeyIndex {
        precondition(node.head(index) == KeyBytes.head(of: bytes, from: node.prefixLength), "ON1: head")
        precondition(!key.lexicographicallyPrecedes(lower), "OT2: a key below its separator")
        precondition(upper.map { key.lexicographicallyPrecedes($0) } ?? true, "OT2: a key above its node")
        if index > node.firstKeyIndex {
          precondition(keys[index - 1].lexicographicallyPrecedes(key), "ON1: order")
        }
        let found = node.search(bytes)
        precondition(found.isFound && found.index == index, "ON1: search")
      }
      keys.append(key)
    }
    return keys
  }

  private mutating func checkBlock(of node: OrderedNode, _ index: Int, keyLength: Int) {
    let block = node.block(index)
    precondition((block != nil) == (keyLength > OrderedNode.inlineKeyLimit), "ON2: block or inline")
    guard let block else { return }
    precondition(blocks.insert(block).inserted, "ON2: a block with two owners")
    precondition(arena.isStampValid(of: NodeHeader(block)), "NA1: stamp of a block")
  }
}
