import PerdureFileIO
import PerdureFormat

// Creates the file of the next segment while the last one is still being filled. A commit waits for
// the creation of a segment. With a prepared file, the creation only writes a header into allocated
// space (FORMAT.md, "Birth of a segment").
//
// Invariants
//  SP1  A prepared file has only zeros in place of its header, or is empty. So it is not part of
//       the log.
//  SP2  At most one thread prepares files at a time, and none after `stop`. The thread with the
//       committer's turn may still create a file.
//  SP3  A failed sync is reported to every later caller (S5). After it, no file is created or used.
//  SP4  `take` waits, in the committer's turn, for a thread that acquires the gate's lock. So a
//       thread that holds the gate's lock must not call this type.

/// Creates the files of segments before they are needed.
// Unchecked: its state is guarded by `lock`.
final class SegmentPreparation: @unchecked Sendable {
  /// A file for a segment, under its final name.
  struct Prepared {
    let number: UInt64
    let file: any File
    /// Whether the file's name survives a power cut. If not, the user of the file syncs the
    /// directory.
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

  /// Whether no file is being created.
  var isIdle: Bool { lock.withLock { !isRunning } }

  /// Starts to create a segment's file on a separate thread. Does nothing if a prepared file exists
  /// or is being created, if a sync has failed, or after `stop`.
  ///
  /// - Parameter didFail: Called with the error of a failed sync.
  func begin(_ number: UInt64, didFail: @escaping @Sendable (FileIOError) -> Void) {
    lock.withLock {
      guard prepared == nil, failure == nil, !isRunning, !isStopped else { return }
      isRunning = PlatformThread.start(name: "perdure-segment") { [self] in
        let result = Result { () throws(FileIOError) in try prepare(number) }
        if case .failure(let error) = result, error.operation.isSync { didFail(error) }
        lock.withLock {
          switch result {
          case .success(let made): prepared = made
          case .failure(let error) where error.operation.isSync: failure = error
          case .failure: break
          }
          isRunning = false
          condition.broadcast()
        }
      }
    }
  }

  /// Removes and returns the prepared file for a segment; nil if there is none. Waits for a file
  /// that is being created.
  ///
  /// - Throws: The error of a failed sync. SP3
  func take(_ number: UInt64) throws(FileIOError) -> Prepared? {
    lock.lock()
    defer { lock.unlock() }
    while isRunning { condition.wait(lock) }
    if let failure { throw failure }
    guard prepared?.number == number else { return nil }
    defer { prepared = nil }
    return prepared
  }

  /// Returns the file for a segment. If none is prepared, creates an empty file, and syncs nothing.
  func takeOrMake(_ number: UInt64) throws(FileIOError) -> Prepared {
    if let prepared = try take(number) {
      // SharedFiles, SF4. The file never contained a frame, so its number may be used again. If the
      // name cannot be removed, `create` fails, and the next segment has another number. If the
      // names cannot be counted, the file counts as this store's own.
      guard (try? prepared.file.isShared()) == true else { return prepared }
      try? directory.remove(StoreFileName.segment(number).string)
    }
    return Prepared(number: number, file: try create(number), isNameDurable: false)
  }

  /// Stops the creation of files. A prepared file stays in the directory: the next opening handles
  /// it.
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
      if error.operation.isSync { throw error }
      return Prepared(number: number, file: file, isNameDurable: false)
    }
    return Prepared(number: number, file: file, isNameDurable: true)
  }

  private func create(_ number: UInt64) throws(FileIOError) -> any File {
    try directory.open(StoreFileName.segment(number).string, .create)
  }
}
