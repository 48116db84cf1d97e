import PerdureFileIO
import PerdureFormat

/// The file with the four superblock slots.
///
/// The committer reads the content. The opening or the first change (`OpeningPromise`),
/// checkpoints, compaction and closing write the file.
// Unchecked: `known` and `written` are guarded by `lock`, `file` and `isShared` by `writing`.
final class SuperblockFile: @unchecked Sendable {
  private let directory: any Directory
  private var file: any File
  /// Whether the file had a second name when it was opened for writing. SharedFiles, SF2
  private var isShared: Bool
  /// Serializes writing the file. Readers of `current` and `former` never acquire it.
  private let writing = Lock()
  private let lock = Lock()
  /// The valid superblocks, oldest first.
  private var known: [Superblock]
  private var written: UInt64 = 0

  private init(
    _ file: any File, in directory: any Directory, isShared: Bool = false, _ known: [Superblock]
  ) {
    self.file = file
    self.directory = directory
    self.isShared = isShared
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
    let zeros = [UInt8](repeating: 0, count: Superblock.fileLength)
    return SuperblockFile(try newFile(zeros, superblock, in: directory), in: directory, [superblock])
  }

  /// Creates a file with these bytes and one new superblock, and gives it the name. After a crash
  /// the name refers to the complete new file, or is unchanged.
  private static func newFile(
    _ bytes: [UInt8], _ superblock: Superblock, in directory: any Directory
  ) throws(FileIOError) -> any File {
    let name = StoreFileName.superblock.string
    let temporary = StoreFileName.temporary("SUPERBLOCK").string
    if try directory.kind(of: temporary) != nil { try directory.remove(temporary) }
    let file = try directory.open(temporary, .create)
    try file.write(bytes, at: 0)
    try write(superblock, to: file)
    try directory.rename(temporary, to: name)
    try directory.sync()
    try file.close()
    return try directory.open(name, .readWrite)
  }

  static func open(in directory: any Directory, _ mode: FileMode) throws -> SuperblockFile {
    let file = try directory.open(StoreFileName.superblock.string, mode)
    let isShared = try mode != .read && file.isShared()
    let bytes = try file.read(Superblock.fileLength, at: 0)
    return try bytes.withUnsafeBytes { bytes in
      let newest = try Self.newest(in: bytes)
      let older = Superblock.all(in: bytes).filter { $0.generation < newest.generation }
      return SuperblockFile(file, in: directory, isShared: isShared, older + [newest])
    }
  }

  private static func newest(in bytes: UnsafeRawBufferPointer) throws(StoreError) -> Superblock {
    do {
      return try Superblock.newest(in: bytes)
    } catch {
      let place = "\(StoreFileName.superblock.string), byte \(error.offset)"
      if error.reason == .unsupported { throw .unsupported(error, at: place) }
      throw StoreError(
        .corruption, "No copy of the superblock is valid: \(error); \(StoreError.beyondRepair)", at: place)
    }
  }

  /// Writes the next generation into the oldest slot, and syncs it. A file with a second name is
  /// replaced by a new file.
  func replace(_ change: (inout Superblock) -> Void) throws(FileIOError) {
    try writing.withLock { () throws(FileIOError) in
      let current = current
      var next = current
      change(&next)
      next.generation = current.generation + 1
      if isShared { try replaceFile(next) } else { try Self.write(next, to: file) }
      lock.withLock {
        known = Array((known + [next]).suffix(Superblock.slotCount))
        written += UInt64(Superblock.slotLength)
      }
    }
  }

  /// Writes a superblock, and unchanged copies of the other slots, into a new file. SharedFiles,
  /// SF2
  private func replaceFile(_ next: Superblock) throws(FileIOError) {
    var bytes = try file.read(Superblock.fileLength, at: 0)
    bytes += [UInt8](repeating: 0, count: Superblock.fileLength - bytes.count)
    let new = try Self.newFile(bytes, next, in: directory)
    // An error of `close` does not matter: the file was only read.
    try? file.close()
    (file, isShared) = (new, false)
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
