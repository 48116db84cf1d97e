import PerdureFileIO
import PerdureFormat

/// The file that holds the four superblock slots.
///
/// The committer reads its content. Opening, checkpoints, compaction and closing write it.
// Unchecked: `known` and `written` are guarded by `lock`.
final class SuperblockFile: @unchecked Sendable {
  private let file: any File
  /// Serializes writing the file. Readers of `current` and `former` never acquire it.
  private let writing = Lock()
  private let lock = Lock()
  /// The valid superblocks, oldest first.
  private var known: [Superblock]
  private var written: UInt64 = 0

  private init(_ file: any File, _ known: [Superblock]) {
    self.file = file
    self.known = known
  }

  /// The newest superblock.
  var current: Superblock { lock.withLock { known[known.count - 1] } }

  /// The total length of the superblocks written since the file was opened, in bytes.
  var writtenByteCount: UInt64 { lock.withLock { written } }

  /// The earlier superblocks that can still be read, oldest first.
  var former: [Superblock] { lock.withLock { known.dropLast() } }

  /// Creates the file. After a crash it is complete or absent.
  static func create(
    in directory: any Directory, _ superblock: Superblock
  ) throws(FileIOError) -> SuperblockFile {
    let name = StoreFileName.superblock.string
    let temporary = StoreFileName.temporary("SUPERBLOCK").string
    if try directory.kind(of: temporary) != nil { try directory.remove(temporary) }
    let file = try directory.open(temporary, .create)
    try file.write([UInt8](repeating: 0, count: Superblock.fileLength), at: 0)
    try write(superblock, to: file)
    try directory.rename(temporary, to: name)
    try directory.sync()
    try file.close()
    return SuperblockFile(try directory.open(name, .readWrite), [superblock])
  }

  static func open(in directory: any Directory, _ mode: FileMode) throws -> SuperblockFile {
    let file = try directory.open(StoreFileName.superblock.string, mode)
    let bytes = try file.read(Superblock.fileLength, at: 0)
    return try bytes.withUnsafeBytes { bytes in
      let newest = try Self.newest(in: bytes)
      let older = Superblock.all(in: bytes).filter { $0.generation < newest.generation }
      return SuperblockFile(file, older + [newest])
    }
  }

  private static func newest(in bytes: UnsafeRawBufferPointer) throws(StoreError) -> Superblock {
    do {
      return try Superblock.newest(in: bytes)
    } catch {
      let isUnknown = error.reason == .unsupported
      throw StoreError(
        isUnknown ? .unsupportedFormat : .corruption,
        isUnknown
          ? "The store needs a newer version of Perdure: \(error)"
          : "No copy of the superblock is valid: \(error); \(StoreError.beyondRepair)",
        at: "\(StoreFileName.superblock.string), byte \(error.offset)")
    }
  }

  /// Writes the next generation into the oldest slot, and syncs it.
  func replace(_ change: (inout Superblock) -> Void) throws(FileIOError) {
    try writing.withLock { () throws(FileIOError) in
      let current = current
      var next = current
      change(&next)
      next.generation = current.generation + 1
      try Self.write(next, to: file)
      lock.withLock {
        known = Array((known + [next]).suffix(Superblock.slotCount))
        written += UInt64(Superblock.slotLength)
      }
    }
  }

  /// Whether, after a failed write, the newest superblock in the file is still `current`. If so,
  /// the failed write has left no valid superblock, and the next write overwrites the same slot.
  var isUntouched: Bool {
    writing.withLock {
      guard let bytes = try? file.read(Superblock.fileLength, at: 0) else { return false }
      return (try? bytes.withUnsafeBytes { try Superblock.newest(in: $0) }) == current
    }
  }

  /// Runs `body` with the newest superblock. No superblock is written meanwhile.
  func whileStill<R>(_ body: (Superblock) throws -> R) throws -> R {
    writing.lock()
    defer { writing.unlock() }
    return try body(current)
  }

  private static func write(_ superblock: Superblock, to file: any File) throws(FileIOError) {
    var bytes = [UInt8](repeating: 0, count: Superblock.slotLength)
    bytes.withUnsafeMutableBytes { superblock.write(to: $0) }
    try file.write(bytes, at: UInt64(superblock.slot * Superblock.slotLength))
    try file.sync(.full)
  }
}
