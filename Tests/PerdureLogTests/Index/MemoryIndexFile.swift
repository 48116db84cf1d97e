import PerdureFormat

@testable import PerdureLog

/// An index file in memory with a fixed length. Units are allocated from its start or from its end.
final class MemoryIndexFile {
  private(set) var bytes: UnsafeMutableRawBufferPointer
  private(set) var usedUnitCount = 1
  private let growsDown: Bool
  private(set) var writeCount = 0
  /// The number of freed units.
  private(set) var freedUnitCount = 0
  private var checksums: [NodeSlot: UInt32] = [:]
  /// All mappings of the file. Trees may use any of them.
  private var mapped: [MappedNodes] = []
  /// The number of writes after which all writes fail.
  var failsAtWrite = Int.max

  /// - Parameter growsDown: Whether the first written nodes have the highest offsets. Children then
  ///   have higher offsets than their parents, which also occurs when units are reused.
  init(unitCount: Int = 60_000, growsDown: Bool = false) {
    self.growsDown = growsDown
    bytes = .allocate(byteCount: unitCount * NodeSlot.unitByteCount, alignment: 4096)
    bytes.initializeMemory(as: UInt8.self, repeating: 0)
  }

  deinit { bytes.deallocate() }

  struct Full: Error {}

  var used: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      rebasing: growsDown ? bytes[...] : bytes[..<(usedUnitCount * NodeSlot.unitByteCount)])
  }

  struct Sink: NodeSink {
    let file: MemoryIndexFile

    func allocate(unitCount: Int) throws -> NodeSlot {
      defer { file.usedUnitCount += unitCount }
      let first =
        file.growsDown
        ? file.bytes.count / NodeSlot.unitByteCount - file.usedUnitCount - unitCount : file.usedUnitCount
      return NodeSlot(number: UInt32(first))
    }

    func free(_ slot: NodeSlot, unitCount: Int) { file.freedUnitCount += unitCount }

    func write(_ units: UnsafeRawBufferPointer, at slot: NodeSlot) throws {
      guard file.writeCount < file.failsAtWrite else { throw Full() }
      file.writeCount += 1
      file.bytes[slot.offset...].copyBytes(from: units)
      file.checksums[slot] = units.integer(at: 0)
    }

    func checksum(of slot: NodeSlot) -> UInt32 { file.checksums[slot] ?? 0 }
  }

  func write(_ tree: OrderedTree) throws -> TreeImage {
    var writer = NodeWriter(to: Sink(file: self))
    return try writer.write(tree)
  }

  func write(_ table: DenseTable) throws -> TreeImage {
    var writer = NodeWriter(to: Sink(file: self))
    return try writer.write(table)
  }

  func reached(ordered image: TreeImage, lastSegment: UInt64? = nil) throws -> SlotMap {
    var verification = NodeVerification(of: used, lastSegment: lastSegment ?? 0)
    try verification.verify(ordered: image, leadsToRecords: lastSegment != nil)
    return verification.reached
  }

  func reached(dense image: TreeImage, lastSegment: UInt64? = nil) throws -> SlotMap {
    var verification = NodeVerification(of: used, lastSegment: lastSegment ?? 0)
    try verification.verify(dense: image, leadsToRecords: lastSegment != nil)
    return verification.reached
  }

  /// Maps the nodes as an opening does, without checking them.
  func map(lastSegment: UInt64 = 0) throws -> MappedNodes {
    mapped.append(try MappedNodes(used, lastSegment: lastSegment))
    return mapped[mapped.count - 1]
  }

  /// The correct checksum of an ordered node in the file, even if the content of the node is
  /// invalid. Nil if the node's blocks cannot be read.
  func sealed(at offset: Int) -> UInt32? {
    let units = UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + OrderedNode.byteCount)])
    let node = OrderedNode(UnsafeMutableRawPointer(mutating: units.baseAddress.unsafelyUnwrapped))
    let checksum = NodeChecksum.of(units)
    guard node.hasBlocks else { return checksum }
    return try? NodeCheck(file: used, lastSegment: nil).checksumIncludingBlocks(
      of: node, at: offset, continuing: checksum)
  }

  func ordered(_ image: TreeImage) throws -> OrderedTree {
    _ = try reached(ordered: image)
    return try OrderedTree(image, in: map().entries)
  }

  func dense(_ image: TreeImage) throws -> DenseTable {
    _ = try reached(dense: image)
    return try DenseTable(image, in: map().entries)
  }
}
