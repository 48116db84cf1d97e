import PerdureFileIO
import PerdureFormat

/// An earlier backup in a folder. A new backup of the same branch may share its files.
///
/// A file is shared only if it is never written again: a segment that is closed in both backups, or
/// a blob file. Within one branch, number, generation and length identify a segment. The header and
/// the end of a segment are compared as well, because a folder may be a copy made by other means.
final class EarlierBackup {
  /// How many bytes at the end of a segment are compared.
  private static let comparedLength = 4096

  private let path: String
  private let fileSystem: any FileSystem
  private let superblock: Superblock
  private let files: StoreFiles
  /// Keeps writers from opening the earlier backup until `release()`.
  private let lock: any FileLock

  /// - Throws: `StoreError`: `.invalidArgument` if it is a backup of another store or branch, was
  ///   opened for writing, or is newer than `source`; `.notAStore`, `.corruption`. `FileIOError`,
  ///   with code `.locked` while a writer has it open.
  init(at path: String, for source: Superblock, _ fileSystem: any FileSystem) throws {
    guard try fileSystem.kind(of: path) == .directory else { throw Self.absent(path) }
    let directory = try fileSystem.openDirectory(path)
    files = try StoreFiles(in: directory)
    guard files.hasSuperblock else { throw Self.absent(path) }
    (self.path, self.fileSystem) = (path, fileSystem)
    lock = try fileSystem.writerLock(ofStore: path)
    do {
      superblock = try SuperblockFile.open(in: directory, .read).current
      try Self.check(superblock, against: source, path)
    } catch {
      lock.release()
      throw error
    }
  }

  func release() { lock.release() }

  private static func check(
    _ earlier: Superblock, against source: Superblock, _ path: String
  ) throws(StoreError) {
    func refused(_ why: String) -> StoreError {
      StoreError(.invalidArgument, "\(why); make a backup that needs no earlier one", at: path)
    }
    guard earlier.store == source.store else { throw refused("The earlier backup is of another store") }
    guard earlier.branch.isUnopenedCopy else {
      throw refused("The earlier backup is no backup any more: it was opened for writing")
    }
    guard earlier.branch.isSameBranch(as: source.branch) else {
      throw refused("The earlier backup is of another copy of the store")
    }
    guard earlier.durableEnd <= source.durableEnd, earlier.durableSequence <= source.durableSequence else {
      throw refused("The earlier backup is newer than the store")
    }
  }

  private static func absent(_ path: String) -> StoreError {
    StoreError(.notAStore, "There is no earlier backup; check the path", at: path)
  }

  /// The path of the same segment in the earlier backup; nil if it is absent or differs.
  func path(of part: BackupSource.Part) throws -> String? {
    let number = part.segment.number
    guard number < superblock.durableEnd.segment, files.segments.contains(number) else { return nil }
    let path = self.path + "/" + StoreFileName.segment(number).string
    let file = try fileSystem.open(path, .read)
    defer { try? file.close() }
    guard try file.size() == UInt64(part.length) else { return nil }
    let tail = min(Self.comparedLength, part.length)
    for range in [0..<SegmentHeader.length, (part.length - tail)..<part.length] {
      let ours = UnsafeRawBufferPointer(
        start: part.segment.mapping.base + range.lowerBound, count: range.count)
      guard try file.read(range.count, at: UInt64(range.lowerBound)).elementsEqual(ours) else { return nil }
    }
    return path
  }

  /// The path of a blob file in the earlier backup; nil if it is absent, or not `length` bytes long.
  func path(ofBlob number: UInt64, length: UInt64) throws -> String? {
    guard number < superblock.nextBlob, files.blobs.contains(number) else { return nil }
    let path = path + "/" + StoreFileName.blob(number).string
    let file = try fileSystem.open(path, .read)
    defer { try? file.close() }
    return try file.size() == length ? path : nil
  }
}
