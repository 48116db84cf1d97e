import PerdureFormat

// Nodes on their way into the index file.
//
// What is published is never written again, so a node that has a slot is in the file as it is, and so is
// everything below it: a checkpoint visits only what was made since the last one, and writes children
// before parents. The file's copy differs from the node in memory in four things: the stamp is bit 63
// and a checksum, distances lead to the places of children in the file, their tags are said beside them, and
// unused bytes are zero.
//
// The checksum of an ordered node goes on over those of the blocks that its long keys stand in. A block that is whole
// but older than it should be, because a write was lost, is then as wrong as a bit that changed in the node.
//
// Invariants
//  W1  A node gets its slot when its bytes were handed to the sink without an error, and after everything
//      below it. So a walk that was cut short can be begun again, and writes nothing twice.
//  W2  The slot of a node in memory is written by the one who writes checkpoints, while a pin keeps the
//      node alive.
//  W3  Where another file is begun, nodes that lie in the mapped file are copied too. Nothing writes
//      them, so their new places stand in a table (`NodeRelocation`).

/// Where the bytes of nodes go.
protocol NodeSink {
  /// A run of free units.
  mutating func allocate(unitCount: Int) throws -> NodeSlot

  /// Takes back a run of which nothing was written, or nothing that anybody will ask for.
  mutating func free(_ slot: NodeSlot, unitCount: Int)

  /// Takes the bytes of a run; they are a whole number of units.
  mutating func write(_ bytes: UnsafeRawBufferPointer, at slot: NodeSlot) throws

  /// The checksum of a node or block that was written through this sink.
  func checksum(of slot: NodeSlot) -> UInt32
}

/// A tree in the index file.
struct TreeImage: Equatable {
  /// The root's place; none for an empty tree.
  var slot = NodeSlot.none
  var height = 0
  var count = 0
  /// Of the root. CountWord.swift
  var tag: UInt32 = 0

  var isEmpty: Bool { self == TreeImage() }
}

/// Writes the nodes of trees that are not in the file yet. One at a time; on any thread, while the version of
/// the trees is pinned.
struct NodeWriter<Sink: NodeSink>: ~Copyable {
  private(set) var sink: Sink
  /// W3; nil while nodes of the mapped file are in the file that is written.
  private let relocation: NodeRelocation?
  private let buffer: UnsafeMutableRawBufferPointer

  /// Room for the longest block.
  private static var bufferByteCount: Int {
    let longest = BlockView.bytesOffset + OrderedTree.keyByteCountLimit
    return NodeSlot.unitCount(longest) * NodeSlot.unitByteCount
  }

  init(to sink: Sink, _ relocation: NodeRelocation? = nil) {
    self.sink = sink
    self.relocation = relocation
    buffer = .allocate(byteCount: Self.bufferByteCount, alignment: NodeSlot.unitByteCount)
  }

  deinit { buffer.deallocate() }

  mutating func write(_ tree: OrderedTree) throws -> TreeImage {
    guard let root = tree.root else { return TreeImage() }
    if !isWritten(root, tree.file) { try write(OrderedNode(root), tree.file) }
    return image(root, tree.height, tree.count, tree.file)
  }

  mutating func write(_ table: DenseTable) throws -> TreeImage {
    guard let root = table.root else { return TreeImage() }
    if !isWritten(root, table.file) { try write(DenseNode(root), table.file) }
    return image(root, table.height, table.count, table.file)
  }

  private func image(
    _ root: UnsafeMutableRawPointer, _ height: Int, _ count: Int, _ file: FileNodes
  ) -> TreeImage {
    let tag = tag(of: root, CountWord(count: count), file)
    return TreeImage(slot: slot(of: root, file), height: height, count: count, tag: tag)
  }

  /// Where a node that was written, now or earlier, is in the file.
  private func slot(of node: UnsafeMutableRawPointer, _ file: FileNodes) -> NodeSlot {
    let slot = slotIfAny(of: node, file)
    precondition(slot != .none, "W1: children are written before their parents")
    return slot
  }

  private func slotIfAny(of node: UnsafeMutableRawPointer, _ file: FileNodes) -> NodeSlot {
    guard file.contains(node) else { return NodeHeader(node).slot }
    let slot = file.slot(of: node)
    return relocation.map { $0[slot] } ?? slot
  }

  private func isWritten(_ node: UnsafeMutableRawPointer, _ file: FileNodes) -> Bool {
    slotIfAny(of: node, file) != .none
  }

  /// A node that was written to the file, now or earlier, has it in the mapped file as it is. W3
  private func isInFile(_ node: UnsafeMutableRawPointer, _ file: FileNodes) -> Bool {
    relocation == nil && file.contains(node)
  }

  /// What a parent says of a node that was written. A node in the file that nobody came to in this opening
  /// still has the tag beside it (T6).
  private func tag(of node: UnsafeMutableRawPointer, _ below: CountWord, _ file: FileNodes) -> UInt32 {
    guard isInFile(node, file) else { return CountWord.tag(of: sink.checksum(of: slot(of: node, file))) }
    return below.tag != 0 ? below.tag : file.tag(of: node)
  }

  private mutating func write(_ node: OrderedNode, _ file: FileNodes) throws {
    if isWritten(node.base, file) { return }
    if !node.isLeaf {
      for index in 0..<node.count {
        let child = node.childAddress(index)
        if isWritten(child, file) { continue }
        try write(OrderedNode(try checked(file.checked(child, at: index, of: node), file)), file)
      }
    }
    if node.hasBlocks {
      for index in 0..<node.count {
        if let block = node.block(index), !isWritten(block, file) { try writeBlock(block, file) }
      }
    }
    let copy = OrderedNode(copyToBuffer(node.base, byteCount: OrderedNode.byteCount))
    let slot = try sink.allocate(unitCount: NodeSlot.unitCount(OrderedNode.byteCount))
    copy.forEachReference { place in
      let target = node.base + place.loadUnaligned(as: Int.self)
      let distance = self.slot(of: target, file).offset - slot.offset
      place.storeBytes(of: distance, as: Int.self)
    }
    if !node.isLeaf {
      for index in 0..<node.count {
        let below = node.countWord(index)
        let tag = tag(of: node.childAddress(index), below, file)
        copy.setCountWord(index, CountWord(count: below.count, tag: tag))
      }
    }
    copy.clearUnusedBytes()
    try finish(node.base, file, at: slot, byteCount: OrderedNode.byteCount) { writer, checksum in
      node.hasBlocks ? writer.naming(blocksOf: node, file, continuing: checksum) : checksum
    }
  }

  /// A node of the mapped file that is about to be copied. W3
  ///
  /// - Throws: `DamagedNode` when it is not what it should be.
  private func checked(
    _ node: UnsafeMutableRawPointer, _ file: FileNodes
  ) throws(DamagedNode) -> UnsafeMutableRawPointer {
    if file.isDamaged { throw DamagedNode() }
    return node
  }

  /// Continues the checksum of a node over those of its blocks, which were written, now or earlier.
  private borrowing func naming(
    blocksOf node: OrderedNode, _ file: FileNodes, continuing checksum: UInt32
  ) -> UInt32 {
    (0..<node.count).reduce(checksum) { checksum, index in
      guard let block = node.block(index) else { return checksum }
      let named =
        isInFile(block, file) ? NodeHeader(block).fileChecksum : sink.checksum(of: slot(of: block, file))
      return NodeChecksum.naming(named, continuing: checksum)
    }
  }

  private mutating func write(_ node: DenseNode, _ file: FileNodes) throws {
    if isWritten(node.base, file) { return }
    let isLeaf = node.level == 0
    if !isLeaf {
      for way in 0..<DenseNode.slotCount {
        guard let child = node.childAddress(way), !isWritten(child, file) else { continue }
        try write(DenseNode(try checked(file.checked(child, at: way, of: node), file)), file)
      }
    }
    let byteCount = isLeaf ? DenseNode.leafByteCount : DenseNode.innerByteCount
    let copy = DenseNode(copyToBuffer(node.base, byteCount: byteCount))
    let slot = try sink.allocate(unitCount: NodeSlot.unitCount(byteCount))
    if !isLeaf {
      for way in 0..<DenseNode.slotCount {
        guard let child = node.childAddress(way) else { continue }
        let distance = self.slot(of: child, file).offset - slot.offset
        copy.slotAddress(way).storeBytes(of: distance, as: Int.self)
        let below = node.countWord(way)
        copy.setCountWord(way, CountWord(count: below.count, tag: tag(of: child, below, file)))
      }
    }
    try finish(node.base, file, at: slot, byteCount: byteCount)
  }

  private mutating func writeBlock(_ block: UnsafeMutableRawPointer, _ file: FileNodes) throws {
    let byteCount = NodeHeader(block).fileByteCount
    _ = copyToBuffer(block, byteCount: byteCount)
    let slot = try sink.allocate(unitCount: NodeSlot.unitCount(byteCount))
    try finish(block, file, at: slot, byteCount: byteCount)
  }

  private func copyToBuffer(_ node: UnsafeMutableRawPointer, byteCount: Int) -> UnsafeMutableRawPointer {
    let copy = buffer.baseAddress.unsafelyUnwrapped
    let padded = NodeSlot.unitCount(byteCount) * NodeSlot.unitByteCount
    copy.copyMemory(from: node, byteCount: byteCount)
    (copy + byteCount).initializeMemory(as: UInt8.self, repeating: 0, count: padded - byteCount)
    return copy
  }

  /// Seals the copy in the buffer and hands it over; then the node has its slot. W1
  ///
  /// - Parameter continuing: Continues the checksum over what it is about besides.
  @inline(__always)
  private mutating func finish(
    _ node: UnsafeMutableRawPointer, _ file: FileNodes, at slot: NodeSlot, byteCount: Int,
    continuing: (borrowing NodeWriter, UInt32) -> UInt32 = { $1 }
  ) throws {
    let bytes = UnsafeMutableRawBufferPointer(
      rebasing: buffer[..<(NodeSlot.unitCount(byteCount) * NodeSlot.unitByteCount)])
    let copy = NodeHeader(bytes.baseAddress.unsafelyUnwrapped)
    copy.slot = slot
    let checksum = continuing(self, NodeChecksum.of(UnsafeRawBufferPointer(bytes)))
    copy.stamp = NodeSlot.fileStampBit | UInt64(checksum)
    do { try sink.write(UnsafeRawBufferPointer(bytes), at: slot) } catch {
      sink.free(slot, unitCount: NodeSlot.unitCount(byteCount))
      throw error
    }
    if let relocation, file.contains(node) {
      relocation[file.slot(of: node)] = slot
    } else {
      NodeHeader(node).slot = slot
    }
  }
}

/// A node of the mapped index file is not what it should be; `MappedNodes.check` says what.
struct DamagedNode: Error {}

/// Where nodes of the mapped index file stand in another one. W3
final class NodeRelocation {
  private var slots: [UInt32]

  /// - Parameter unitCount: Of the mapped file.
  init(unitCount: Int) { slots = [UInt32](repeating: 0, count: unitCount) }

  /// None: it was not copied.
  subscript(slot: NodeSlot) -> NodeSlot {
    get { NodeSlot(number: Int(slot.number) < slots.count ? slots[Int(slot.number)] : 0) }
    set { slots[Int(slot.number)] = newValue.number }
  }
}

/// The checksum of a node in the index file: everything behind the stamp, of which the first field is the
/// slot, so that a node in the wrong place is noticed as well.
enum NodeChecksum {
  static func of(_ units: UnsafeRawBufferPointer) -> UInt32 {
    Checksum.crc32c(UnsafeRawBufferPointer(rebasing: units[8...]))
  }

  /// Continues a node's checksum over that of a block which it names.
  static func naming(_ block: UInt32, continuing checksum: UInt32) -> UInt32 {
    Checksum.crc32c(word: block, continuing: checksum)
  }
}

extension OrderedNode {
  /// Zeroes what no entry uses: the gap, and the room heads are rounded up to. In a copy only.
  fileprivate func clearUnusedBytes() {
    let headsEnd = Self.headsOffset + count * Self.headByteCount
    let bodiesStart = Self.bodiesOffset(count)
    (base + headsEnd).initializeMemory(as: UInt8.self, repeating: 0, count: bodiesStart - headsEnd)
    let bodiesEnd = Self.bodiesEnd(count, bodyByteCount: bodyByteCount)
    (base + bodiesEnd).initializeMemory(as: UInt8.self, repeating: 0, count: heapStart - bodiesEnd)
  }
}
