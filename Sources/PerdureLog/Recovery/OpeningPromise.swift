import PerdureFileIO
import PerdureFormat
import Synchronization

// Makes durable the state that an opening found (FORMAT.md, R11), at the opening or before the
// first change.
//
// A program that only reads needs no sync after a clean close. If all data is durable and no file
// has to be removed, the opening does not change the log, the index and the superblock. The first
// change does R11 before anything else.
//
// Invariants
//  OP1  An opening may leave R11 to the first change only if the superblock is that of a clean
//       close (`isKept`). That superblock was written after the log up to its end was synced. So no
//       byte that the opening read, and that a commit may depend on, is in memory only.
//  OP2  The superblock itself may be in memory only, because its process may have ended before the
//       sync of the superblock. After a power cut, an older superblock is then valid. Recovery
//       finds the same commits with that superblock, because the log is durable and OP3 keeps the
//       older checkpoint and its files.
//  OP3  Before R11 no frame is appended, no unit of an index file is written, no blob file and no
//       segment is created, and no file is removed. So a crash before R11 leaves exactly the files
//       that the opening found. Exceptions are LOCK, READERS, the reserve and an index file that a
//       read found damaged, on which no data depends.
//  OP4  R11 is done once, and no change begins until it has succeeded. If the system refuses a
//       write of R11, the change is refused, and the next change tries again. After any other error
//       the store is poisoned. After the store was closed, every change is refused: another process
//       can have it open.

/// The state that an opening promises to make durable.
struct OpeningPromise: Sendable {
  private let segment: Segment?
  private let confirmed: LogPosition
  private let end: LogPosition
  private let sequence: UInt64
  private let nextBlob: UInt64
  private let checkpoint: CheckpointReference?
  private let superblock: SuperblockFile?
  private let directory: any Directory
  private let options: StoreOptions

  init(
    _ state: borrowing CommitterState, _ opening: LogOpening, in directory: any Directory,
    _ options: StoreOptions
  ) {
    segment = state.segments.segments[state.end.segment]
    confirmed = opening.confirmed
    end = state.end
    sequence = state.root.pointee.sequence
    nextBlob = state.nextBlob
    checkpoint = opening.checkpoint?.reference
    superblock = state.superblock
    self.directory = directory
    self.options = options
  }

  /// Whether the superblock already states the promise, and is that of a clean close. OP1
  func isKept(_ report: RecoveryReport) -> Bool {
    guard let superblock = superblock?.current, superblock.isClosed, !superblock.branch.isUnopenedCopy,
      end > .start, options.draft == nil, report.tornTailBytes == 0
    else { return false }
    return changed(superblock) == superblock
  }

  /// Makes the state durable.
  func keep() throws(FileIOError) {
    if let segment {
      try rewrite(segment)
      try segment.file.sync(.full)
    } else {
      // No commit was ever written, so the creation of the store may have been interrupted.
      try options.fileSystem.syncDirectory(StorePath.parent(of: directory.path))
    }
    try directory.sync()
    try superblock?.replace { superblock in
      superblock = changed(superblock)
      superblock.isClosed = false
      if superblock.branch.isUnopenedCopy { superblock.branch = .random() }
    }
  }

  /// Whether a failed `keep` has left the newest superblock in the file unchanged.
  var isSuperblockUntouched: Bool { superblock?.isUntouched ?? true }

  private func changed(_ old: Superblock) -> Superblock {
    var superblock = old
    superblock.durableEnd = end
    superblock.durableSequence = sequence
    superblock.nextBlob = nextBlob
    if options.bindsRecords { superblock.incompatibleFeatures |= FormatVersion.boundRecords }
    if options.compression.isUsed { superblock.incompatibleFeatures |= FormatVersion.packedValues }
    superblock.checkpoint = checkpoint
    return superblock
  }

  /// Rewrites the bytes of the log that are not known to be on the medium. After a failed sync, the
  /// system may return bytes that it will not write to the medium, even if the next sync succeeds.
  private func rewrite(_ segment: Segment) throws(FileIOError) {
    var offset = confirmed.segment == segment.number ? Int(confirmed.offset) : 0
    while offset < Int(end.offset) {
      let length = min(1 << 20, Int(end.offset) - offset)
      try segment.file.write(try segment.file.read(length, at: UInt64(offset)), at: UInt64(offset))
      offset += length
    }
  }
}

/// A promise that the first change of the store has to keep.
// Unchecked: `promise` and `isEnded` are guarded by `lock`.
final class PendingPromise: @unchecked Sendable {
  private let lock = Lock()
  private var promise: OpeningPromise?
  private var isEnded = false
  private let pending: Atomic<Bool>

  /// - Parameter promise: Nil if it was kept at the opening.
  init(_ promise: OpeningPromise?) {
    self.promise = promise
    pending = Atomic(promise != nil)
  }

  /// Whether the promise must still be kept by the first change. Stays true if the store is closed
  /// before a change.
  @inline(__always)
  var isPending: Bool { pending.load(ordering: .acquiring) }

  /// Calls `body` with the promise, unless it was kept. Throws `.closed` after `end()`. OP4
  func keep(_ body: (OpeningPromise) throws(StoreError) -> Void) throws(StoreError) {
    try lock.withLock { () throws(StoreError) in
      if isEnded { throw .closed }
      guard let promise else { return }
      try body(promise)
      self.promise = nil
      pending.store(false, ordering: .releasing)
    }
  }
}

extension PendingPromise {
  /// Called when the store is closed. Waits for a call that keeps the promise. If it was not kept,
  /// later changes are refused. OP4
  func end() {
    lock.withLock {
      isEnded = true
      promise = nil
    }
  }
}

extension Engine {
  /// Called before every change of the store's files. OP3
  ///
  /// - Throws: `StoreError`: `.diskFull` or `.io` if the system refused a write (the change can be
  ///   tried again); `.poisoned`; `.closed`.
  @inline(__always)
  func beginChange() throws(StoreError) {
    if promise.isPending { try keepPromise() }
  }

  @inline(never)
  private func keepPromise() throws(StoreError) {
    try promise.keep { promise throws(StoreError) in
      if let poison = gate.poison { throw poison }
      do throws(FileIOError) {
        try directory.checkIsWriters()
        do throws(FileIOError) { try promise.keep() } catch {
          // Some file systems need free space even to rewrite bytes.
          guard error.isRefusedWrite, promise.isSuperblockUntouched, reserve.free(.removals, for: error)
          else { throw error }
          try promise.keep()
        }
      } catch {
        let action = "Preparing the store for its first change"
        if !error.operation.isSync, promise.isSuperblockUntouched { throw .io(error, action) }
        let poison = StoreError(
          .poisoned, "\(action) failed. Close the store and open it again", cause: error)
        gate.poison(poison)
        throw poison
      }
    }
  }
}
