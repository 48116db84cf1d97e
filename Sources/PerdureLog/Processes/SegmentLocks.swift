import PerdureFileIO
import PerdureFormat

// The lock on the last segment.
//
// LOCK can be removed by hand while the store is open, and then another writer can lock a new file.
// So a writer also holds a lock on a byte of the newest segment. An opening acquires that lock
// before it reads the end of the log. FORMAT.md, W11.
//
// Invariants
//  SL1  The newest segment with a header is locked. The lock is acquired before the header is
//       written, and released after the header of the next segment is written.
//  SL2  The segment in which a commit began stays locked until the commit is complete, because
//       after a rollback the log ends there again.
//  SL3  An opening that has locked the newest known segment reads the directory again. The previous
//       holder of the lock may have created another segment in between.
//  SL4  A lock has its own open file. A lock on the file with which the segment is mapped remains
//       after that file is closed, because the mapping keeps it. A forked child must not unlock, so
//       it can never release such a lock.
//  SL5  The process that acquired a lock unlocks it explicitly instead of only closing the file. A
//       forked child, or a child before its `exec`, may share the open file. Then closing the file
//       does not release the lock.
//
// On a file system without such locks, segments are not locked.

/// A lock on a segment, held until the object is freed. SL5
// Unchecked: the file is only unlocked and closed, in `deinit`.
final class SegmentLock: @unchecked Sendable {
  private let file: any File
  /// Nil if there was no memory for the mark. Then the lock is treated as this process's own.
  private let mark = ProcessMark.currentIfAny()

  init(_ file: any File) { self.file = file }

  deinit {
    // A forked child only closes its own descriptor. Unlocking fails on a system without such
    // locks. If unlocking fails, closing ends the lock. Nothing was written through the file.
    if mark?.isOwn != false { try? file.unlock(SegmentLocks.range) }
    try? file.close()
  }
}

/// The locks that a writer holds on segments.
struct SegmentLocks {
  /// The byte that is locked. On some systems, a lock forbids reading the locked bytes. So the byte
  /// is after the end of every segment.
  static let range: Range<UInt64> = 0x7FFF_FFFE..<0x7FFF_FFFF

  private var held: [(number: UInt64, lock: SegmentLock)] = []

  /// Locks a segment; returns nil if another opening holds the lock. SL4
  static func take(_ number: UInt64, in directory: any Directory) throws(FileIOError) -> SegmentLock? {
    let file = try directory.open(StoreFileName.segment(number).string, .readWrite)
    do throws(FileIOError) {
      if try file.tryLock(range) { return SegmentLock(file) }
      // Errors are ignored, because nothing was written through the file.
      try? file.close()
      return nil
    } catch {
      if error.code == .notSupported { return SegmentLock(file) }
      try? file.close()
      throw error
    }
  }

  /// Adds a lock to the held locks.
  mutating func hold(_ number: UInt64, _ lock: SegmentLock) { held.append((number, lock)) }

  /// Releases the locks on segments with numbers lower than `number`. SL2
  mutating func release(before number: UInt64) { held.removeAll { $0.number < number } }

  /// Releases the lock on a segment that is replaced or removed.
  mutating func release(_ number: UInt64) { held.removeAll { $0.number == number } }

  /// Releases all locks. A forked child only closes its own descriptors.
  mutating func releaseAll() { held = [] }
}

extension SegmentLocks {
  /// Locks the newest segment that an opening has found, before the opening reads the end of the
  /// log. SL3
  ///
  /// - Parameter newest: Nil for a log without a segment.
  /// - Throws: `StoreError` with code `.locked` if another writer holds the lock, or has created
  ///   another segment meanwhile.
  init(opening newest: Segment?, in directory: any Directory) throws {
    if let newest {
      guard let lock = try Self.take(newest.number, in: directory) else {
        throw Self.isWritten(newest.number, directory)
      }
      hold(newest.number, lock)
    }
    try checkIsNewest(newest?.number ?? 0, in: directory) { number throws(FileIOError) in
      try Self.isBorn(number, in: directory)
    }
  }

  /// Locks the newest segment of a store that is copied or removed. It locks nothing if the store
  /// is damaged and no segment can be read.
  ///
  /// - Throws: `StoreError` with code `.locked` if a writer holds the lock, or has created another
  ///   segment meanwhile; `FileIOError` if memory or descriptors are exhausted, or if the newest
  ///   segment cannot be locked.
  init(closedStoreIn directory: any Directory) throws {
    // A file that is not a readable segment has no writer. This holds even if a second attempt to
    // read the file succeeds. Otherwise the file looks like a segment that was created meanwhile.
    var unreadable: Set<UInt64> = []
    func isBorn(_ number: UInt64) throws(FileIOError) -> Bool {
      if unreadable.contains(number) { return false }
      do { return try Self.isBorn(number, in: directory) } catch {
        if error.code.isShortage { throw error }
        unreadable.insert(number)
        return false
      }
    }
    guard let newest = try StoreFiles(in: directory).segments.sorted(by: >).first(where: isBorn) else {
      return
    }
    guard let lock = try Self.take(newest, in: directory) else { throw Self.isWritten(newest, directory) }
    hold(newest, lock)
    try checkIsNewest(newest, in: directory) { number throws(FileIOError) in try isBorn(number) }
  }

  /// Checks that no newer segment exists, or releases the lock and throws. SL3
  private mutating func checkIsNewest(
    _ newest: UInt64, in directory: any Directory, _ isBorn: (UInt64) throws(FileIOError) -> Bool
  ) throws {
    for number in try StoreFiles(in: directory).segments where number > newest {
      guard try isBorn(number) else { continue }
      releaseAll()
      throw Self.isWritten(number, directory)
    }
  }

  private static func isBorn(_ number: UInt64, in directory: any Directory) throws(FileIOError) -> Bool {
    let file: any File
    do { file = try directory.open(StoreFileName.segment(number).string, .read) } catch {
      if error.code == .notFound { return false }
      throw error
    }
    // An error of `close` is harmless, because the file was only read.
    defer { try? file.close() }
    let bytes = try file.read(SegmentHeader.length, at: 0)
    // A file with the header of an older segment is not a segment yet (FORMAT.md, B6).
    return (try? bytes.withUnsafeBytes { try SegmentHeader(reading: $0) })?.number == number
  }

  private static func isWritten(_ number: UInt64, _ directory: any Directory) -> StoreError {
    StoreError(
      .locked,
      "\(StoreFileName.segment(number).string) is being written by another opening of the store, though LOCK "
        + "was free: its file LOCK was removed or replaced; close that store first",
      at: directory.path,
      cause: FileIOError(
        .locked, operation: .lock, path: directory.path + "/" + StoreFileName.segment(number).string))
  }
}
