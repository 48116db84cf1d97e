/// Substitutes for damaged nodes until the damage is reported: one for each class and level.
///
/// They can be walked in any direction, searched, copied and changed like nodes of a file, and
/// every path through them ends. The leaf of an ordered tree has one key of 32 bytes. So code that
/// separates the index key from the reference at its end can read it. In the leaf of a dense table,
/// all slots are used and all words are 0. The count beside the first child is greater than any
/// position, so no search continues with a later child.
final class SubstituteNodes {
  private static let keyByteCount = 32
  private static let countBeyondAll = 1 << 39

  private let memory: UnsafeMutableRawPointer
  private var ordered: [UnsafeMutableRawPointer] = []
  private var dense: [UnsafeMutableRawPointer] = []

  init() {
    let orderedByteCount = OrderedTree.heightLimit * OrderedNode.byteCount
    let denseByteCount = DenseTable.heightLimit * Self.denseStride
    memory = .allocate(byteCount: orderedByteCount + denseByteCount, alignment: 64)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: orderedByteCount + denseByteCount)
    for level in 0..<OrderedTree.heightLimit {
      ordered.append(makeOrdered(memory + level * OrderedNode.byteCount, level: level))
    }
    for level in 0..<DenseTable.heightLimit {
      dense.append(makeDense(memory + (orderedByteCount + level * Self.denseStride), level: level))
    }
  }

  deinit { memory.deallocate() }

  private static var denseStride: Int { (DenseNode.innerByteCount + 63) & ~63 }

  func node(_ nodeClass: NodeClass, level: Int) -> UnsafeMutableRawPointer {
    nodeClass == .orderedNode ? ordered[level] : dense[level]
  }

  /// Writes a header with the stamp of a node in a file. So the node is copied before it is
  /// changed, and the arena never frees it.
  private func makeHeader(_ base: UnsafeMutableRawPointer, _ nodeClass: NodeClass, level: Int) {
    let header = NodeHeader(base)
    header.stamp = NodeSlot.fileStampBit
    header.slot = .none
    header.level = level
    header.nodeClass = nodeClass
  }

  private func makeOrdered(_ base: UnsafeMutableRawPointer, level: Int) -> UnsafeMutableRawPointer {
    makeHeader(base, .orderedNode, level: level)
    let node = OrderedNode(base)
    node.reset(prefixLength: 0)
    if level == 0 {
      let key = [UInt8](repeating: 0, count: Self.keyByteCount)
      key.withUnsafeBytes { node.append(OrderedEntry(key: $0, word: 0)) }
    } else {
      let child = UInt64(UInt(bitPattern: ordered[level - 1]))
      let noKey = UnsafeRawBufferPointer(start: nil, count: 0)
      node.append(
        OrderedEntry(key: noKey, word: child, below: CountWord(count: Self.countBeyondAll)))
    }
    return base
  }

  private func makeDense(_ base: UnsafeMutableRawPointer, level: Int) -> UnsafeMutableRawPointer {
    makeHeader(base, level == 0 ? .denseLeaf : .denseInner, level: level)
    let node = DenseNode(base)
    if level > 0 {
      for slot in 0..<DenseNode.slotCount {
        node.setChild(slot, dense[level - 1], count: Self.countBeyondAll)
      }
    }
    node.presence = ~0
    return base
  }
}
