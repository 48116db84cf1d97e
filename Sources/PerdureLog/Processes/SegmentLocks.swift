import PerdureFileIO
import PerdureFormat

// The lock on the segment that is written.
//
// LOCK can be removed by hand while the store is open, and then another writer can take a new one. So a writer
// also holds a lock on a byte of the newest segment, and an opening takes that lock before it reads the log's
// end. FORMAT.md, W11.
//
// Invariants
//  S1  The newest segment with a header is locked from before its header is written until after the header of
//      the next one is there.
//  S2  A segment that a commit began in stays locked until the commit is whole: if the commit is taken back, the
//      log ends there again.
//  S3  An opening that has locked the newest segment that it knows looks at the directory again: the writer that
//      had the lock may have begun another one in between.
//  S4  A lock has an opening of its own. The mapping of a segment would keep the lock of the segment's file
//      after that is closed: a forked child, which must not unlock, could never give it up.
//  S5  The process that took a lock unlocks it, and does not only close its file: a forked child, or a child on its way
//      to another program, may have the same opening, which would keep the lock.
//
// A file system without such locks goes without.

/// The locks that a writer holds on segments.
struct SegmentLocks {
  /// The byte that is locked. It is behind every segment, so that a system whose locks forbid reading forbids none.
  static let range: Range<UInt64> = 0x7FFF_FFFE..<0x7FFF_FFFF

  private var held: [(number: UInt64, file: any File)] = []

  /// Locks a segment; nil if another opening has it.
  ///
  /// - Returns: What holds the lock, until it is closed. S4
  static func take(_ number: UInt64, in directory: any Directory) throws(FileIOError) -> (any File)? {
    let file = try directory.open(StoreFileName.segment(number).string, .readWrite)
    do throws(FileIOError) {
      if try file.tryLock(range) { return file }
      // Nothing was written through it.
      try? file.close()
      return nil
    } catch {
      if error.code == .notSupported { return file }
      try? file.close()
      throw error
    }
  }

  /// Keeps a lock that was taken.
  mutating func hold(_ number: UInt64, _ lock: any File) { held.append((number, lock)) }

  /// Gives up the locks on segments with lower numbers. S2
  mutating func release(before number: UInt64) { release { $0 < number } }

  /// Gives up the lock on a segment that is replaced or removed.
  mutating func release(_ number: UInt64) { release { $0 == number } }

  /// Gives up all locks.
  mutating func releaseAll() { release { _ in true } }

  /// Closes a forked child's own descriptors, and leaves the locks to its parent.
  mutating func forget() {
    // Nothing was written through them.
    for (_, lock) in held { try? lock.close() }
    held = []
  }

  private mutating func release(_ isOver: (UInt64) -> Bool) {
    held.removeAll { number, lock in
      guard isOver(number) else { return false }
      // S5. A system without such locks refuses, and closing ends them where this fails.
      try? lock.unlock(Self.range)
      try? lock.close()
      return true
    }
  }
}

extension SegmentLocks {
  /// Takes the lock of the newest segment that an opening has found, before its end is looked for. S3
  ///
  /// - Parameter newest: Nil for a log without a segment.
  /// - Throws: `StoreError` with code `.locked` if another writer has it, or has begun another segment meanwhile.
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

  /// Takes the lock of the newest segment of a store that is copied or removed. A damaged store may have none that can
  /// be read: then nothing is locked.
  ///
  /// - Throws: `StoreError` with code `.locked` if a writer has it, or has begun another segment meanwhile.
  init(closedStoreIn directory: any Directory) throws {
    // No writer writes a file that cannot be read as a segment.
    let isBorn = { number in (try? Self.isBorn(number, in: directory)) == true }
    guard let newest = try StoreFiles(in: directory).segments.sorted(by: >).first(where: isBorn) else {
      return
    }
    guard let lock = try Self.take(newest, in: directory) else { throw Self.isWritten(newest, directory) }
    hold(newest, lock)
    try checkIsNewest(newest, in: directory) { number throws(FileIOError) in isBorn(number) }
  }

  /// S3
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
    // It was read only: nothing is lost.
    defer { try? file.close() }
    let bytes = try file.read(SegmentHeader.length, at: 0)
    // An older segment's header is no birth of this one (B6).
    return (try? bytes.withUnsafeBytes { try SegmentHeader(reading: $0) })?.number == number
  }

  private static func isWritten(_ number: UInt64, _ directory: any Directory) -> StoreError {
    StoreError(
      .locked,
      "\(StoreFileName.segment(number).string) is being written by another opening of the store, though LOCK "
        + "was free: its file LOCK was removed or replaced; close that store first",
      at: directory.path,
      cause: FileIOError(
        .locked, operation: "lock", path: directory.path + "/" + StoreFileName.segment(number).string))
  }
}
