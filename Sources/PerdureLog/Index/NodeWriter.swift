import PerdureFormat

// Nodes on their way into the index file.
//
// What is published is never written again, so a node that has a slot is in the file as it is, and so is
// everything below it: a checkpoint visits only what was made since the last one, and writes children
// before parents. The file's copy differs from the node in memory in three things: the stamp is bit 63
// and a checksum, distances lead to the places of children in the file, and unused bytes are zero.
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
}

/// A tree in the index file.
struct TreeImage: Equatable {
  /// The root's place; none for an empty tree.
  var slot = NodeSlot.none
  var height = 0
  var count = 0
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
    return TreeImage(slot: try write(OrderedNode(root)), height: tree.height, count: tree.count)
  }

  mutating func write(_ table: DenseTable) throws -> TreeImage {
    guard let root = table.root else { return TreeImage() }
    return TreeImage(slot: try write(DenseNode(root)), height: table.height, count: table.count)
  }

  private mutating func write(_ node: OrderedNode) throws -> NodeSlot {
    let header = NodeHeader(node.base)
    if header.slot != .none { return header.slot }
    if !node.isLeaf {
      for index in 0..<node.count { _ = try write(OrderedNode(node.child(index))) }
    }
    if node.hasBlocks {
      for index in 0..<node.count {
        if let block = node.block(index) { try writeBlock(block) }
      }
    }
    let copy = OrderedNode(copyToBuffer(node.base, byteCount: OrderedNode.byteCount))
    let slot = try sink.allocate(unitCount: NodeSlot.unitCount(OrderedNode.byteCount))
    copy.forEachReference { place in
      let target = node.base + place.loadUnaligned(as: Int.self)
      place.storeBytes(of: Self.distance(to: target, from: slot), as: Int.self)
    }
    copy.clearUnusedBytes()
    try finish(header, at: slot, byteCount: OrderedNode.byteCount)
    return slot
  }

  private mutating func write(_ node: DenseNode) throws -> NodeSlot {
    let header = NodeHeader(node.base)
    if header.slot != .none { return header.slot }
    let isLeaf = node.level == 0
    if !isLeaf {
      for slot in 0..<DenseNode.slotCount {
        if let child = node.child(slot) { _ = try write(DenseNode(child)) }
      }
    }
    let byteCount = isLeaf ? DenseNode.leafByteCount : DenseNode.innerByteCount
    let copy = DenseNode(copyToBuffer(node.base, byteCount: byteCount))
    let slot = try sink.allocate(unitCount: NodeSlot.unitCount(byteCount))
    if !isLeaf {
      for way in 0..<DenseNode.slotCount {
        guard let child = node.child(way) else { continue }
        copy.slotAddress(way).storeBytes(of: Self.distance(to: child, from: slot), as: Int.self)
      }
    }
    try finish(header, at: slot, byteCount: byteCount)
    return slot
  }

  private mutating func writeBlock(_ block: UnsafeMutableRawPointer) throws {
    let header = NodeHeader(block)
    guard header.slot == .none else { return }
    let byteCount = header.fileByteCount
    _ = copyToBuffer(block, byteCount: byteCount)
    let slot = try sink.allocate(unitCount: NodeSlot.unitCount(byteCount))
    try finish(header, at: slot, byteCount: byteCount)
  }

  private static func distance(to target: UnsafeMutableRawPointer, from slot: NodeSlot) -> Int {
    let targetSlot = NodeHeader(target).slot
    precondition(targetSlot != .none, "W1: children are written before their parents")
    return targetSlot.offset - slot.offset
  }

  private func copyToBuffer(_ node: UnsafeMutableRawPointer, byteCount: Int) -> UnsafeMutableRawPointer {
    let copy = buffer.baseAddress.unsafelyUnwrapped
    let padded = NodeSlot.unitCount(byteCount) * NodeSlot.unitByteCount
    copy.copyMemory(from: node, byteCount: byteCount)
    (copy + byteCount).initializeMemory(as: UInt8.self, repeating: 0, count: padded - byteCount)
    return copy
  }

  /// Seals the copy in the buffer and hands it over; then the node has its slot. W1
  private mutating func finish(_ header: NodeHeader, at slot: NodeSlot, byteCount: Int) throws {
    let bytes = UnsafeMutableRawBufferPointer(
      rebasing: buffer[..<(NodeSlot.unitCount(byteCount) * NodeSlot.unitByteCount)])
    let copy = NodeHeader(bytes.baseAddress.unsafelyUnwrapped)
    copy.slot = slot
    copy.stamp = NodeSlot.fileStampBit | UInt64(NodeChecksum.of(UnsafeRawBufferPointer(bytes)))
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
