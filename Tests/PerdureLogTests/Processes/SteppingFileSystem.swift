import PerdureFileIO
import PerdureTestSupport

/// Runs a closure before a chosen call. The closure does the work of another process.
///
/// For example, a writer does its work before a call of an opening.
final class SteppingFileSystem: ForwardingFileSystem {
  private struct State {
    var callCount = 0
    var action: (at: Int, body: () throws -> Void)?
    var failure: (any Error)?
  }

  let behind: any FileSystem
  private let state = Guarded(State())

  init(_ behind: any FileSystem) { self.behind = behind }

  /// The number of calls since the last `run`.
  var callCount: Int { state.withLock { $0.callCount } }

  /// The error that the closure threw.
  var failure: (any Error)? { state.withLock { $0.failure } }

  /// Whether the closure has not run yet.
  var isWaiting: Bool { state.withLock { $0.action != nil } }

  /// Counts calls from 0, and runs `body` before the call with this number.
  func run(before call: Int, _ body: @escaping () throws -> Void) {
    state.withLock {
      $0.callCount = 0
      $0.action = (call, body)
    }
  }

  fileprivate func step() {
    let body = state.withLock { state -> (() throws -> Void)? in
      defer { state.callCount += 1 }
      guard let action = state.action, state.callCount >= action.at else { return nil }
      state.action = nil
      return action.body
    }
    do { try body?() } catch { state.withLock { $0.failure = error } }
  }

  func contents(of directory: String) throws(FileIOError) -> [String] {
    step()
    return try behind.contents(of: directory)
  }
  func kind(of path: String) throws(FileIOError) -> FileKind? {
    step()
    return try behind.kind(of: path)
  }
  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    step()
    return SteppingFile(try behind.open(path, mode), self)
  }
}

private final class SteppingFile: ForwardingFile {
  let behind: any File
  private let steps: SteppingFileSystem

  init(_ behind: any File, _ steps: SteppingFileSystem) {
    self.behind = behind
    self.steps = steps
  }

  func size() throws(FileIOError) -> UInt64 {
    steps.step()
    return try behind.size()
  }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileIOError) -> Int {
    steps.step()
    return try behind.read(into: buffer, at: offset)
  }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileIOError) {
    steps.step()
    try behind.write(bytes, at: offset)
  }
  func sync(_ mode: SyncMode) throws(FileIOError) {
    steps.step()
    try behind.sync(mode)
  }
  func map(_ length: Int) throws(FileIOError) -> FileMapping {
    steps.step()
    return try behind.map(length)
  }
  func tryLock(_ range: Range<UInt64>) throws(FileIOError) -> Bool {
    steps.step()
    return try behind.tryLock(range)
  }
}
