import PerdureFileIO

/// Runs something before one of the calls that go through it: what somebody else does at that moment.
///
/// Used by an opener whose every call is a place where a writer can come in between.
final class SteppingFileSystem: FileSystem {
  private struct State {
    var callCount = 0
    var action: (at: Int, body: () throws -> Void)?
    var failure: (any Error)?
  }

  private let base: any FileSystem
  private let state = Guarded(State())

  init(_ base: any FileSystem) { self.base = base }

  /// How many calls there were.
  var callCount: Int { state.withLock { $0.callCount } }

  /// What went wrong in what was run.
  var failure: (any Error)? { state.withLock { $0.failure } }

  /// Whether something waits to be run.
  var isWaiting: Bool { state.withLock { $0.action != nil } }

  /// Counts calls from 0 again, and runs `body` before that one.
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

  func createDirectory(_ path: String) throws(FileIOError) { try base.createDirectory(path) }
  func contents(of directory: String) throws(FileIOError) -> [String] {
    step()
    return try base.contents(of: directory)
  }
  func kind(of path: String) throws(FileIOError) -> FileKind? {
    step()
    return try base.kind(of: path)
  }
  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    step()
    return SteppingFile(try base.open(path, mode), self)
  }
  func rename(_ source: String, to destination: String) throws(FileIOError) {
    try base.rename(source, to: destination)
  }
  func remove(_ path: String) throws(FileIOError) { try base.remove(path) }
  func syncDirectory(_ path: String) throws(FileIOError) { try base.syncDirectory(path) }
  func lock(_ path: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    try base.lock(path, kind, holder: holder)
  }
  func availableBytes(at path: String) throws(FileIOError) -> UInt64 { try base.availableBytes(at: path) }
}

private final class SteppingFile: File {
  private let base: any File
  private let steps: SteppingFileSystem

  init(_ base: any File, _ steps: SteppingFileSystem) {
    self.base = base
    self.steps = steps
  }

  var path: String { base.path }

  func size() throws(FileIOError) -> UInt64 {
    steps.step()
    return try base.size()
  }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileIOError) -> Int {
    steps.step()
    return try base.read(into: buffer, at: offset)
  }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileIOError) {
    steps.step()
    try base.write(bytes, at: offset)
  }
  func sync(_ mode: SyncMode) throws(FileIOError) { try base.sync(mode) }
  func map(_ length: Int) throws(FileIOError) -> FileMapping {
    steps.step()
    return try base.map(length)
  }
  func close() throws(FileIOError) { try base.close() }
  func tryLock(_ range: Range<UInt64>) throws(FileIOError) -> Bool {
    steps.step()
    return try base.tryLock(range)
  }
  func unlock(_ range: Range<UInt64>) throws(FileIOError) { try base.unlock(range) }
  func isLocked(_ range: Range<UInt64>) throws(FileIOError) -> Bool { try base.isLocked(range) }
}
