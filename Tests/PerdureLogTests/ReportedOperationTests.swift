import PerdureFileIO
import PerdureLog
import PerdureTestSupport
import Testing

/// A call of a program's file system that fails, and the error that it throws.
struct FailedCall: Sendable {
  /// The end of the name of the file.
  var file: String
  /// The method that fails: `.write` or `.sync`.
  var method: FileIOError.Operation
  /// The operation and the code of the error.
  var reported: FileIOError.Operation
  var code: FileIOError.Code
}

/// A program's file system in which the next call of one kind can fail. The call does nothing.
private final class RefusingFileSystem: ForwardingFileSystem {
  let behind: any FileSystem = InMemoryFileSystem()
  let next = Guarded<FailedCall?>(nil)

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    RefusingFile(try behind.open(path, mode), self)
  }

  fileprivate func check(_ method: FileIOError.Operation, _ path: String) throws(FileIOError) {
    let failed = next.withLock { next -> FailedCall? in
      guard let call = next, call.method == method, path.hasSuffix(call.file) else { return nil }
      return next.take()
    }
    if let failed { throw FileIOError(failed.code, operation: failed.reported, path: path) }
  }
}

private final class RefusingFile: ForwardingFile {
  let behind: any File
  private let owner: RefusingFileSystem

  init(_ behind: any File, _ owner: RefusingFileSystem) {
    self.behind = behind
    self.owner = owner
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileIOError) {
    try owner.check(.write, path)
    try behind.write(bytes, at: offset)
  }

  func sync(_ mode: SyncMode) throws(FileIOError) {
    try owner.check(.sync, path)
    try behind.sync(mode)
  }
}

@Suite("The operation that a program's file system reports")
struct ReportedOperationTests {
  private let fileSystem = RefusingFileSystem()

  private func open() throws -> (Store, Keyspace) {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.checkpoints = .manual
    options.compactsAutomatically = false
    options.blobThresholdBytes = 1024
    let store = try Store(at: "/s.perdure", options: options)
    let rows = try store.keyspace("rows", .dense)
    try store.write(durability: .powerLoss) { try $0.put([1], id: 1, in: rows) }
    return (store, rows)
  }

  /// Makes a commit in which the call fails. The value of the commit has its own file if the call
  /// is for a blob file.
  private func fail(_ call: FailedCall, _ store: Store, _ rows: Keyspace) -> StoreError? {
    let value = [UInt8](repeating: 7, count: call.file == ".blob" ? 2000 : 10)
    fileSystem.next.withLock { $0 = call }
    let error = #expect(throws: StoreError.self) {
      try store.write(durability: .powerLoss) { try $0.put(value, id: 2, in: rows) }
    }
    #expect(fileSystem.next.withLock { $0 == nil }, "the call was not made")
    #expect(error?.cause?.operation == call.reported)
    return error
  }

  @Test(
    "A failed write that is reported as `.write` does not poison the store",
    arguments: [
      FailedCall(file: ".segment", method: .write, reported: .write, code: .noSpace),
      FailedCall(file: ".segment", method: .write, reported: .write, code: .quotaExceeded),
      FailedCall(file: ".segment", method: .write, reported: .write, code: .fileTooLarge),
      FailedCall(file: ".blob", method: .write, reported: .write, code: .noSpace),
      FailedCall(file: ".blob", method: .write, reported: .write, code: .mediaError),
    ])
  func write(_ call: FailedCall) throws {
    let (store, rows) = try open()
    let error = fail(call, store, rows)
    #expect(error?.code == (call.code.isLackOfSpace ? .diskFull : .io))
    #expect(store.snapshot().count(in: rows) == 1)
    try store.write(durability: .powerLoss) { try $0.put([3], id: 3, in: rows) }
    #expect(store.snapshot().count(in: rows) == 2)
    try store.close()
  }

  @Test(
    "A call that is reported as `.sync` poisons the store, whichever method and code it has",
    arguments: [
      FailedCall(file: ".segment", method: .sync, reported: .sync, code: .mediaError),
      FailedCall(file: ".segment", method: .sync, reported: .sync, code: .noSpace),
      FailedCall(file: ".segment", method: .write, reported: .sync, code: .noSpace),
      FailedCall(file: ".blob", method: .sync, reported: .sync, code: .mediaError),
      FailedCall(file: ".blob", method: .sync, reported: .sync, code: .noSpace),
      FailedCall(file: ".blob", method: .write, reported: .sync, code: .noSpace),
    ])
  func sync(_ call: FailedCall) throws {
    let (store, rows) = try open()
    let error = fail(call, store, rows)
    #expect(error?.code == .io || error?.code == .poisoned)
    let poison = #expect(throws: StoreError.self) {
      try store.write { try $0.put([3], id: 3, in: rows) }
    }
    #expect(poison?.code == .poisoned)
    #expect(poison?.cause?.operation == .sync && poison?.cause?.code == call.code)
  }
}
