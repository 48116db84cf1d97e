import PerdureFileIO
import PerdureFormat

/// The file that checkpoints are written to: where nodes go, and how their bytes get there.
///
/// Belongs to whoever writes a checkpoint; there is one at a time. Nodes that are placed side by side are
/// written with one call.
final class IndexFile: NodeSink {
  /// How much is gathered before it is written, in bytes.
  private static let bufferLength = 256 << 10

  let number: UInt64
  private let file: any File
  var slots: SlotAllocator
  /// By the first unit of a node: the checksum that it was written with last.
  private var checksums: [UInt32]
  /// Over nodes in the file: which, the checkpoint writer knows.
  var sum = NodeSum()
  /// Bytes written since the file was opened.
  private(set) var writtenByteCount: UInt64 = 0
  /// Whether the file's name may be missing after a power cut.
  private(set) var needsDirectorySync = false
  /// Asked before each node: true makes writing stop with `Cancelled`.
  var isCancelled: () -> Bool = { false }

  // What is not written yet. It stays here when a write fails, and goes first the next time: nodes
  // that were taken once count as being in the file.
  private var buffer: [UInt8] = []
  private var bufferOffset = 0

  /// The store is being closed.
  struct Cancelled: Error {}

  /// A file that is there.
  init(_ file: any File, number: UInt64, slots: SlotAllocator, checksums: [UInt32]) {
    self.file = file
    self.number = number
    self.slots = slots
    self.checksums = checksums
  }

  /// A new file; its header is written with the first nodes.
  static func create(
    _ number: UInt64, in directory: String, store: StoreID, _ fileSystem: any FileSystem
  ) throws(FileIOError) -> IndexFile {
    let file = try fileSystem.open(directory + "/" + StoreFileName.index(number).string, .create)
    let index = IndexFile(file, number: number, slots: SlotAllocator(), checksums: [])
    index.buffer = [UInt8](repeating: 0, count: IndexFileHeader.length)
    index.buffer.withUnsafeMutableBytes { IndexFileHeader(store: store, number: number).write(to: $0) }
    index.needsDirectorySync = true
    return index
  }

  /// Bytes of the file that hold something that is needed.
  var byteCountInUse: Int { slots.unitsInUse * IndexFileHeader.unitLength }

  func allocate(unitCount: Int) throws -> NodeSlot {
    if isCancelled() { throw Cancelled() }
    return NodeSlot(number: try slots.allocate(unitCount))
  }

  /// No checkpoint reaches the run: it is free with what the next one finds free.
  func free(_ slot: NodeSlot, unitCount: Int) {
    slots.free(SlotAllocator.Run(slot: slot.number, unitCount: unitCount), notReachedFrom: 0)
  }

  func write(_ bytes: UnsafeRawBufferPointer, at slot: NodeSlot) throws {
    try writeBlock(bytes, at: slot)
    let unit = Int(slot.number)
    if unit >= checksums.count {
      checksums.append(
        contentsOf: repeatElement(0, count: max(unit + 1, 2 * checksums.count) - checksums.count))
    }
    checksums[unit] = bytes.integer(at: 0)
    add(slot, to: &sum)
  }

  /// Writes what is no node.
  func writeBlock(_ bytes: UnsafeRawBufferPointer, at slot: NodeSlot) throws(FileIOError) {
    let follows = slot.offset == bufferOffset + buffer.count
    if !follows || buffer.count + bytes.count > Self.bufferLength { try flush() }
    if buffer.isEmpty { bufferOffset = slot.offset }
    buffer.append(contentsOf: bytes)
  }

  /// Adds a node to a sum if it is in the file.
  func add(_ slot: NodeSlot, to sum: inout NodeSum) {
    if slot != .none { sum.add(slot, checksum: checksums[Int(slot.number)]) }
  }

  /// Takes it away again.
  func remove(_ slot: NodeSlot, from sum: inout NodeSum) {
    if slot != .none { sum.remove(slot, checksum: checksums[Int(slot.number)]) }
  }

  /// Takes a node of the file out of its sum.
  func takeAway(_ slot: NodeSlot) { remove(slot, from: &sum) }

  /// Writes what was gathered.
  func flush() throws(FileIOError) {
    guard !buffer.isEmpty else { return }
    try file.write(buffer, at: UInt64(bufferOffset))
    writtenByteCount += UInt64(buffer.count)
    buffer.removeAll(keepingCapacity: true)
  }

  /// Makes a root block that may be opened no more unreadable, before its units are used again: whatever
  /// happens to newer superblocks, nobody takes a tree for whole of which parts were replaced.
  func invalidate(rootAt slot: UInt32) throws(FileIOError) {
    let zeros = [UInt8](repeating: 0, count: IndexFileHeader.unitLength)
    try file.write(zeros, at: UInt64(slot) * UInt64(IndexFileHeader.unitLength))
  }

  /// Makes everything durable, the name too.
  func sync(in directory: String, _ fileSystem: any FileSystem) throws(FileIOError) {
    try flush()
    try file.sync(.full)
    guard needsDirectorySync else { return }
    try fileSystem.syncDirectory(directory)
    needsDirectorySync = false
  }
}
