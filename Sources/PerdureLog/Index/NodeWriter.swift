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
  private let buffer: UnsafeMutableRawBufferPointer

  /// Room for the longest block.
  private static var bufferByteCount: Int {
    let longest = BlockView.bytesOffset + OrderedTree.keyByteCountLimit
    return NodeSlot.unitCount(longest) * NodeSlot.unitByteCount
  }

  init(to sink: Sink) {
    self.sink = sink
    buffer = .allocate(byteCount: Self.bufferByteCount, alignment: NodeSlot.unitByteCount)
  }

  deinit { buffer.deallocate() }

  mutating func write(_ tree: OrderedTree) throws -> TreeImage {
    guard let root = tree.root else { return TreeImage() }
    if !tree.file.contains(root) { try write(OrderedNode(root), tree.file) }
    return image(root, tree.height, tree.count, tree.file)
  }

  mutating func write(_ table: DenseTable) throws -> TreeImage {
    guard let root = table.root else { return TreeImage() }
    if !table.file.contains(root) { try write(DenseNode(root), table.file) }
    return image(root, table.height, table.count, table.file)
  }

  private func image(
    _ root: UnsafeMutableRawPointer, _ height: Int, _ count: Int, _ file: FileNodes
  ) -> TreeImage {
    let tag = tag(of: root, CountWord(count: count), file)
    return TreeImage(slot: Self.slot(of: root, file), height: height, count: count, tag: tag)
  }

  /// Where a node that was written, now or earlier, is in the file.
  private static func slot(of node: UnsafeMutableRawPointer, _ file: FileNodes) -> NodeSlot {
    let slot = file.contains(node) ? file.slot(of: node) : NodeHeader(node).slot
    precondition(slot != .none, "W1: children are written before their parents")
    return slot
  }

  /// What a parent says of a node that was written. A node in the file that nobody came to in this opening
  /// still has the tag beside it (T6).
  private func tag(of node: UnsafeMutableRawPointer, _ below: CountWord, _ file: FileNodes) -> UInt32 {
    guard file.contains(node) else { return CountWord.tag(of: sink.checksum(of: NodeHeader(node).slot)) }
    return below.tag != 0 ? below.tag : file.tag(of: node)
  }

  private mutating func write(_ node: OrderedNode, _ file: FileNodes) throws {
    let header = NodeHeader(node.base)
    if header.slot != .none { return }
    if !node.isLeaf {
      for index in 0..<node.count {
        let child = node.childAddress(index)
        if !file.contains(child) { try write(OrderedNode(child), file) }
      }
    }
    if node.hasBlocks {
      for index in 0..<node.count {
        if let block = node.block(index), !file.contains(block) { try writeBlock(block) }
      }
    }
    let copy = OrderedNode(copyToBuffer(node.base, byteCount: OrderedNode.byteCount))
    let slot = try sink.allocate(unitCount: NodeSlot.unitCount(OrderedNode.byteCount))
    copy.forEachReference { place in
      let target = node.base + place.loadUnaligned(as: Int.self)
      let distance = Self.slot(of: target, file).offset - slot.offset
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
    try finish(header, at: slot, byteCount: OrderedNode.byteCount) { sink, checksum in
      node.hasBlocks ? Self.naming(blocksOf: node, file, sink, continuing: checksum) : checksum
    }
  }

  /// Continues the checksum of a node over those of its blocks, which were written, now or earlier.
  private static func naming(
    blocksOf node: OrderedNode, _ file: FileNodes, _ sink: Sink, continuing checksum: UInt32
  ) -> UInt32 {
    (0..<node.count).reduce(checksum) { checksum, index in
      guard let block = node.block(index) else { return checksum }
      let header = NodeHeader(block)
      let named = file.contains(block) ? header.fileChecksum : sink.checksum(of: header.slot)
      return NodeChecksum.naming(named, continuing: checksum)
    }
  }

  private mutating func write(_ node: DenseNode, _ file: FileNodes) throws {
    let header = NodeHeader(node.base)
    if header.slot != .none { return }
    let isLeaf = node.level == 0
    if !isLeaf {
      for slot in 0..<DenseNode.slotCount {
        if let child = node.childAddress(slot), !file.contains(child) { try write(DenseNode(child), file) }
      }
    }
    let byteCount = isLeaf ? DenseNode.leafByteCount : DenseNode.innerByteCount
    let copy = DenseNode(copyToBuffer(node.base, byteCount: byteCount))
    let slot = try sink.allocate(unitCount: NodeSlot.unitCount(byteCount))
    if !isLeaf {
      for way in 0..<DenseNode.slotCount {
        guard let child = node.childAddress(way) else { continue }
        let distance = Self.slot(of: child, file).offset - slot.offset
        copy.slotAddress(way).storeBytes(of: distance, as: Int.self)
        let below = node.countWord(way)
        copy.setCountWord(way, CountWord(count: below.count, tag: tag(of: child, below, file)))
      }
    }
    try finish(header, at: slot, byteCount: byteCount)
  }

  private mutating func writeBlock(_ block: UnsafeMutableRawPointer) throws {
    let header = NodeHeader(block)
    guard header.slot == .none else { return }
    let byteCount = header.fileByteCount
    _ = copyToBuffer(block, byteCount: byteCount)
    let slot = try sink.allocate(unitCount: NodeSlot.unitCount(byteCount))
    try finish(header, at: slot, byteCount: byteCount)
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
    _ header: NodeHeader, at slot: NodeSlot, byteCount: Int,
    continuing: (Sink, UInt32) -> UInt32 = { $1 }
  ) throws {
    let bytes = UnsafeMutableRawBufferPointer(
      rebasing: buffer[..<(NodeSlot.unitCount(byteCount) * NodeSlot.unitByteCount)])
    let copy = NodeHeader(bytes.baseAddress.unsafelyUnwrapped)
    copy.slot = slot
    let checksum = continuing(sink, NodeChecksum.of(UnsafeRawBufferPointer(bytes)))
    copy.stamp = NodeSlot.fileStampBit | UInt64(checksum)
    do { try sink.write(UnsafeRawBufferPointer(bytes), at: slot) } catch {
      sink.free(slot, unitCount: NodeSlot.unitCount(byteCount))
      throw error
    }
    header.slot = slot
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
