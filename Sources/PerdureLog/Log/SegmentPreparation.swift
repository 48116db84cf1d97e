import PerdureFileIO
import PerdureFormat

// The file of the next segment, made while the last one is still being filled: a birth, which is in the way of a
// commit, then has only a header to write where room is already (FORMAT.md, "Birth of a segment").
//
// Invariants
//  A1  A prepared file holds zeros where its header will stand, and nothing else: it is not born, and means nothing.
//  A2  It has one thread at a time, and after `stop` none. Whoever has the committer's turn may still make a
//      file.
//  A3  A sync that failed is handed on (S5) to everyone who asks from then on; no file is made or used any
//      more.
//  A4  `take` waits, under the turn, for a thread that asks for the gate's lock: who holds that one must ask
//      for nothing here.

/// Makes the files of segments that are to be born.
// Unchecked: what varies is guarded by `lock`.
final class SegmentPreparation: @unchecked Sendable {
  /// A file for a segment, under its name.
  struct Prepared {
    let number: UInt64
    let file: any File
    /// Whether a power cut leaves the name. If not, the system refused something; whoever uses the file may
    /// have more luck.
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

  /// Begins to make the file on a thread of its own, unless there is one, or one is being made, or a sync has
  /// failed.
  ///
  /// - Parameter didFail: Told of a sync that failed.
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
  /// - Throws: why a sync failed. A3
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

  /// Makes nothing any more. A file that is there stays: whoever opens the store next knows what to do with it.
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
