import PerdureFileIO
import PerdureFormat

/// An earlier backup in a folder. A new backup of the same branch may share its files.
///
/// Only files that are never written again are shared: segments that are closed in both backups,
/// and blob files. Names and lengths do not identify a file. If a store's folder was replaced by an
/// older copy, the store continues on the same branch with the same numbers. So segments are
/// compared byte by byte, and blob files by their headers and checksums.
final class EarlierBackup {
  private let path: String
  private let fileSystem: any FileSystem
  private let superblock: Superblock
  private let files: StoreFiles
  /// Keeps writers from opening the earlier backup until `release()`.
  private let lock: any FileLock

  /// - Throws: `StoreError`: `.invalidArgument` if it is a backup of another store or branch, was
  ///   opened for writing, or is newer than `source`; `.notAStore`, `.corruption`,
  ///   `.unsupportedFormat`. `FileIOError`, with code `.locked` while a writer has the backup open.
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
      StoreError(.invalidArgument, "\(why); make a complete backup, without `since`", at: path)
    }
    guard earlier.store == source.store else { throw refused("The earlier backup belongs to another store") }
    guard earlier.branch.isUnopenedCopy else {
      throw refused("The earlier backup is no longer a backup: it was opened for writing")
    }
    guard earlier.branch.isSameBranch(as: source.branch) else {
      throw refused("The earlier backup belongs to another copy of the store")
    }
    guard earlier.durableEnd <= source.durableEnd, earlier.durableSequence <= source.durableSequence else {
      throw refused("The earlier backup is newer than the store")
    }
  }

  private static func absent(_ path: String) -> StoreError {
    StoreError(.notAStore, "There is no earlier backup; check the path", at: path)
  }

  /// The path of the same segment in the earlier backup; nil if it is absent, differs or is not
  /// closed there.
  ///
  /// - Parameters:
  ///   - buffer: Memory for one piece of the earlier backup's file.
  ///   - didCompare: Called after each piece with its length.
  /// - Complexity: O(n) for n bytes of the segment.
  func path(
    of part: BackupSource.Part, _ buffer: UnsafeMutableRawBufferPointer, didCompare: (Int) throws -> Void
  ) throws -> String? {
    let number = part.segment.number
    guard number < superblock.durableEnd.segment, files.segments.contains(number) else { return nil }
    let path = self.path + "/" + StoreFileName.segment(number).string
    let file = try fileSystem.open(path, .read)
    defer { try? file.close() }
    guard try file.size() == UInt64(part.length) else { return nil }
    var offset = 0
    while offset < part.length {
      let theirs = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(part.length - offset))
      let ours = UnsafeRawBufferPointer(start: part.segment.mapping.base + offset, count: theirs.count)
      guard try file.readToEnd(into: theirs, at: UInt64(offset)) == theirs.count,
        KeyBytes.compare(ours, UnsafeRawBufferPointer(theirs)) == 0
      else { return nil }
      offset += theirs.count
      try didCompare(theirs.count)
    }
    return path
  }

  /// The path of the same blob file in the earlier backup; nil if it is absent or differs.
  ///
  /// - Complexity: O(n) for n bytes of the table of checksums, which is a 16,384th of the value.
  func path(ofBlob number: UInt64, _ ours: any File) throws -> String? {
    guard number < superblock.nextBlob, files.blobs.contains(number) else { return nil }
    let path = path + "/" + StoreFileName.blob(number).string
    let theirs = try fileSystem.open(path, .read)
    defer { try? theirs.close() }
    let length = try ours.size()
    guard try theirs.size() == length else { return nil }
    let head = try ours.read(BlobHeader.length, at: 0)
    // A damaged header is reported when the value is copied.
    guard try theirs.read(BlobHeader.length, at: 0) == head,
      let header = try? head.withUnsafeBytes({ try BlobHeader(reading: $0) }), header.fileLength == length
    else { return nil }
    let table = Int(length - header.checksumsOffset)
    guard try ours.read(table, at: header.checksumsOffset) == theirs.read(table, at: header.checksumsOffset)
    else { return nil }
    return path
  }
}
