import PerdureFileIO
import PerdureFormat

// Creates the file of the next segment while the last one is still being filled. The creation of
// the segment, which delays a commit, then only writes a header into allocated space (FORMAT.md,
// "Birth of a segment").
//
// Invariants
//  SP1  A prepared file has zeros in place of its header, and nothing else: it is not part of the
//       log.
//  SP2  It has one thread at a time, and after `stop` none. The thread with the committer's turn
//       may still create a file.
//  SP3  A failed sync is reported to every later caller (S5); no file is created or used any more.
//  SP4  `take` waits, under the turn, for a thread that acquires the gate's lock. So a thread that
//       holds the gate's lock must not call this type.

/// Makes the files of segments that are to be born.
// Unchecked: its state is guarded by `lock`.
final class SegmentPreparation: @unchecked Sendable {
  /// A file for a segment, under its final name.
  struct Prepared {
    let number: UInt64
    let file: any File
    /// Whether the name survives a power cut. If not, the system refused an operation; the user of
    /// the file may retry it.
    let isNameDurable: Bool
  }

  private let lock = Lock()
  private let condition = Condition()
  private let directory: any Directory
  private var prepared: Prepared?
  private var failure: FileIOError?
  private var isRunning = false
  private var isStopped = false

  init(in directory: any Directory) {
    self.directory = directory
  }

  /// Starts to create the file on a separate thread, unless it exists, is being created, or a sync
  /// has failed.
  ///
  /// - Parameter didFail: Called with the error of a failed sync.
  func begin(_ number: UInt64, didFail: @escaping @Sendable (FileIOError) -> Void) {
    lock.withLock {
      guard prepared == nil, failure == nil, !isRunning, !isStopped else { return }
      isRunning = PlatformThread.start(name: "perdure-segment") { [self] in
        let result = Result { () throws(FileIOError) in try prepare(number) }
        if case .failure(let error) = result, error.isSync { didFail(error) }
        lock.withLock {
          switch result {
          case .success(let made): prepared = made
          case .failure(let error) where error.isSync: failure = error
          case .failure: break
          }
          isRunning = false
          condition.broadcast()
        }
      }
    }
  }

  /// Takes the file for a segment out, if there is one; waits for one that is being made.
  ///
  /// - Throws: why a sync failed. SP3
  func take(_ number: UInt64) throws(FileIOError) -> Prepared? {
    lock.lock()
    defer { lock.unlock() }
    while isRunning { condition.wait(lock) }
    if let failure { throw failure }
    guard prepared?.number == number else { return nil }
    defer { prepared = nil }
    return prepared
  }

  /// Takes the file for a segment; makes it, without what takes time, if there is none.
  func takeOrMake(_ number: UInt64) throws(FileIOError) -> Prepared {
    if let prepared = try take(number) { return prepared }
    return Prepared(number: number, file: try create(number), isNameDurable: false)
  }

  /// Stops creating files. An existing file stays: the next opening handles it.
  func stop() {
    lock.lock()
    defer { lock.unlock() }
    isStopped = true
    while isRunning { condition.wait(lock) }
  }

  private func prepare(_ number: UInt64) throws(FileIOError) -> Prepared {
    let file = try create(number)
    do {
      try file.write([UInt8](repeating: 0, count: SegmentHeader.length), at: 0)
      try file.sync(.full)
      try directory.sync()
    } catch {
      if error.isSync { throw error }
      return Prepared(number: number, file: file, isNameDurable: false)
    }
    return Prepared(number: number, file: file, isNameDurable: true)
  }

  private func create(_ number: UInt64) throws(FileIOError) -> any File {
    try directory.open(StoreFileName.segment(number).string, .create)
  }
}
