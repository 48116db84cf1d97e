import PerdureFormat

// Writes nodes into the index file.
//
// A published node never changes. So if a node has a slot, the file contains its current content.
// The same is true for all nodes below it. A checkpoint visits only nodes made since the last
// checkpoint, and writes children before parents. The file's copy of a node differs in four ways.
// The stamp is bit 63 and a checksum. Distances refer to the children's offsets in the file. The
// count words of the children contain their tags. Unused bytes are zero.
//
// The checksum of an ordered node also covers the checksums of the blocks with its long keys. So it
// also detects a stale block that remained after a lost write.
//
// Invariants
//  NW1  A node gets its slot after the sink has accepted its bytes without an error, and after all
//       nodes below it have slots. So an interrupted walk can be repeated, and writes no node
//       twice.
//  NW2  Only the checkpoint writer sets the slot of a node in memory, while a pin keeps the node
//       alive.
//  NW3  If a new file is begun, the nodes of the mapped file are copied too. They are read-only, so
//       their new slots are in a table (`NodeRelocation`).

/// The destination of the nodes' bytes.
protocol NodeSink {
  /// Allocates a run of free units.
  mutating func allocate(unitCount: Int) throws -> NodeSlot

  /// Frees a run that was not written, or whose content is no longer needed.
  mutating func free(_ slot: NodeSlot, unitCount: Int)

  /// Writes the bytes of a run; they are a whole number of units.
  mutating func write(_ bytes: UnsafeRawBufferPointer, at slot: NodeSlot) throws

  /// The checksum of a node or block that was written through this sink.
  func checksum(of slot: NodeSlot) -> UInt32
}

/// A tree in the index file.
struct TreeImage: Equatable {
  /// The root's slot; `.none` for an empty tree.
  var slot = NodeSlot.none
  var height = 0
  var count = 0
  /// The tag of the root: CountWord.swift.
  var tag: UInt32 = 0

  var isEmpty: Bool { self == TreeImage() }
}

/// Writes the nodes of trees that are not in the file yet. Only one writer may run at a time. It
/// may run on any thread while the version of the trees is pinned.
struct NodeWriter<Sink: NodeSink>: ~Copyable {
  private(set) var sink: Sink
  /// The new slots of the mapped file's nodes; nil if the mapped file is the one being written. NW3
  private let relocation: NodeRelocation?
  private let buffer: UnsafeMutableRawBufferPointer

  /// A buffer for the longest block.
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

  /// The slot of a node that was written in this walk or earlier.
  private func slot(of node: UnsafeMutableRawPointer, _ file: FileNodes) -> NodeSlot {
    let slot = slotIfAny(of: node, file)
    precondition(slot != .none, "NW1: children are written before their parents")
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

  /// Whether a node is in the mapped file, and that file is the one being written. NW3
  private func isInFile(_ node: UnsafeMutableRawPointer, _ file: FileNodes) -> Bool {
    relocation == nil && file.contains(node)
  }

  /// The tag that a parent stores for a written node. If the node is in the file and this opening
  /// has not reached it, the parent still has its tag (OT6).
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
      node.hasBlocks ? writer.checksumIncludingBlocks(of: node, file, continuing: checksum) : checksum
    }
  }

  /// Returns `node`, which is about to be copied, if no damage of the mapped file is known. NW3
  ///
  /// - Throws: `DamagedNode` if a node of the mapped file was found to be damaged.
  private func checked(
    _ node: UnsafeMutableRawPointer, _ file: FileNodes
  ) throws(DamagedNode) -> UnsafeMutableRawPointer {
    if file.isDamaged { throw DamagedNode() }
    return node
  }

  /// Continues the checksum of a node over the checksums of its blocks, which are all written.
  private borrowing func checksumIncludingBlocks(
    of node: OrderedNode, _ file: FileNodes, continuing checksum: UInt32
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

  /// Seals the copy in the buffer, passes it to the sink, and then sets the slot of the node. NW1
  ///
  /// - Parameter continuing: Continues the checksum over the node's blocks.
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

/// A node of the mapped index file is damaged; `MappedNodes.damage` has the details.
struct DamagedNode: Error {}

/// Maps slots of the mapped index file to slots of another file. NW3
final class NodeRelocation {
  private var slots: [UInt32]

  /// - Parameter unitCount: The number of units in the mapped file.
  init(unitCount: Int) { slots = [UInt32](repeating: 0, count: unitCount) }

  /// The slot in the other file; `.none` if the node was not copied.
  subscript(slot: NodeSlot) -> NodeSlot {
    get { NodeSlot(number: Int(slot.number) < slots.count ? slots[Int(slot.number)] : 0) }
    set { slots[Int(slot.number)] = newValue.number }
  }
}

/// The checksum of a node in the index file: it covers all bytes after the stamp. These begin with
/// the slot, so that a misplaced node is also detected.
enum NodeChecksum {
  static func of(_ units: UnsafeRawBufferPointer) -> UInt32 {
    Checksum.crc32c(UnsafeRawBufferPointer(rebasing: units[8...]))
  }

  /// Continues a node's checksum over the checksum of a block that the node references.
  static func naming(_ block: UInt32, continuing checksum: UInt32) -> UInt32 {
    Checksum.crc32c(word: block, continuing: checksum)
  }
}

extension OrderedNode {
  /// Zeroes the unused bytes: the gap, and the padding of the heads. Call it only for a copy of a
  /// node.
  fileprivate func clearUnusedBytes() {
    let headsEnd = Self.headsOffset + count * Self.headByteCount
    let bodiesStart = Self.bodiesOffset(count)
    (base + headsEnd).initializeMemory(as: UInt8.self, repeating: 0, count: bodiesStart - headsEnd)
    let bodiesEnd = Self.bodiesEnd(count, bodyByteCount: bodyByteCount)
    (base + bodiesEnd).initializeMemory(as: UInt8.self, repeating: 0, count: heapStart - bodiesEnd)
  }
}
