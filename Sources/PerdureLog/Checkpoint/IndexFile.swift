import PerdureFileIO
import PerdureFormat

/// The file to which checkpoints are written. It allocates slots for nodes, and writes the nodes'
/// bytes.
///
/// Only the checkpoint writer uses it, from one thread at a time. Adjacent nodes are written with
/// one call.
final class IndexFile: NodeSink {
  /// The maximum number of gathered bytes.
  private static let bufferLength = 256 << 10

  let number: UInt64
  private let file: any File
  var slots: SlotAllocator
  private var checksums = NodeChecksums()
  /// The number of bytes written since the file was opened.
  private(set) var writtenByteCount: UInt64 = 0
  /// Whether the file's name may be missing after a power cut.
  private(set) var needsDirectorySync = false
  /// Called before each allocation of units. If it returns true, `allocate` throws `Cancelled`.
  var isCancelled: () -> Bool = { false }

  // The bytes that are not written yet. They stay here when a write fails, and the next attempt
  // writes them first. The nodes in these bytes already count as written.
  private var buffer: [UInt8] = []
  private var bufferOffset = 0

  /// The store is being closed, so writing was cancelled.
  struct Cancelled: Error {}

  /// Uses an existing file.
  init(_ file: any File, number: UInt64, slots: SlotAllocator) {
    self.file = file
    self.number = number
    self.slots = slots
  }

  /// Creates a new file. Its header is written with the first nodes.
  static func create(
    _ number: UInt64, in directory: any Directory, store: StoreID
  ) throws(FileIOError) -> IndexFile {
    let file = try directory.open(StoreFileName.index(number).string, .create)
    let index = IndexFile(file, number: number, slots: SlotAllocator())
    index.buffer = [UInt8](repeating: 0, count: IndexFileHeader.length)
    index.buffer.withUnsafeMutableBytes { IndexFileHeader(store: store, number: number).write(to: $0) }
    index.needsDirectorySync = true
    return index
  }

  /// The number of bytes of the file that are in use.
  var byteCountInUse: Int { slots.unitsInUse * IndexFileHeader.unitLength }

  func allocate(unitCount: Int) throws -> NodeSlot {
    if isCancelled() { throw Cancelled() }
    return NodeSlot(number: try slots.allocate(unitCount))
  }

  /// Frees a run that no checkpoint reaches. The next checkpoint can reuse it.
  func free(_ slot: NodeSlot, unitCount: Int) {
    slots.free(SlotAllocator.Run(slot: slot.number, unitCount: unitCount), notReachedFrom: 0)
  }

  func write(_ bytes: UnsafeRawBufferPointer, at slot: NodeSlot) throws {
    let follows = slot.offset == bufferOffset + buffer.count
    if !follows || buffer.count + bytes.count > Self.bufferLength { try flush() }
    if buffer.isEmpty { bufferOffset = slot.offset }
    buffer.append(contentsOf: bytes)
    checksums[slot] = bytes.integer(at: 0)
  }

  func checksum(of slot: NodeSlot) -> UInt32 { checksums[slot] }

  /// Writes the gathered bytes.
  func flush() throws(FileIOError) {
    guard !buffer.isEmpty else { return }
    try file.write(buffer, at: UInt64(bufferOffset))
    writtenByteCount += UInt64(buffer.count)
    buffer.removeAll(keepingCapacity: true)
  }

  /// Overwrites an obsolete root block before its units are reused. If newer superblocks are lost,
  /// a later opening then rejects this root, and does not use a tree with overwritten nodes.
  func invalidate(rootAt slot: UInt32) throws(FileIOError) {
    let zeros = [UInt8](repeating: 0, count: IndexFileHeader.unitLength)
    try file.write(zeros, at: UInt64(slot) * UInt64(IndexFileHeader.unitLength))
    writtenByteCount += UInt64(zeros.count)
  }

  /// Removes the file. No superblock may reference it.
  func remove(from directory: any Directory) throws(FileIOError) {
    try directory.remove(StoreFileName.index(number).string)
  }

  /// Makes all written bytes and the file's name durable.
  func sync(in directory: any Directory) throws(FileIOError) {
    try flush()
    try file.sync(.full)
    guard needsDirectorySync else { return }
    try directory.sync()
    needsDirectorySync = false
  }
}

/// The checksums of the nodes written since the file was opened, by the first unit of each node.
/// They are stored in pages, because often only a few parts of a large file are written.
private struct NodeChecksums {
  private static let pageBits: UInt32 = 10
  private var pages: [[UInt32]] = []

  subscript(slot: NodeSlot) -> UInt32 {
    get { pages[Int(slot.number >> Self.pageBits)][Int(slot.number & (1 << Self.pageBits - 1))] }
    set {
      let page = Int(slot.number >> Self.pageBits)
      while pages.count <= page { pages.append([]) }
      if pages[page].isEmpty { pages[page] = [UInt32](repeating: 0, count: 1 << Self.pageBits) }
      pages[page][Int(slot.number & (1 << Self.pageBits - 1))] = newValue
    }
  }
}
