import PerdureFileIO
import PerdureTestSupport
import Testing

@Suite("Injected failures")
struct InjectedFailureTests {
  /// Makes at least one call of every kind.
  private func callEverything(_ fileSystem: SimulatedFileSystem) throws {
    try fileSystem.createDirectory("/d")
    _ = try fileSystem.contents(of: "/d")
    _ = try fileSystem.kind(of: "/d")
    let file = try fileSystem.open("/d/a", .create)
    try file.write(utf8: "x", at: 0)
    _ = try file.size()
    _ = try file.read(1, at: 0)
    _ = try file.map(1)
    try file.sync(.full)
    try file.close()
    try fileSystem.open("/d/a", .read).close()
    try fileSystem.syncDirectory("/d")
    try fileSystem.rename("/d/a", to: "/d/b")
    try fileSystem.link("/d/b", to: "/d/c")
    try fileSystem.remove("/d/b")
    _ = try fileSystem.availableBytes(at: "/d")
    _ = try fileSystem.openDirectory("/d")
    try fileSystem.lock("/d/l", .exclusive, holder: "me").release()
  }

  @Test("If each nth call fails in a separate run, every kind of call fails at least once")
  func walk() throws {
    var failed: Set<FileIOError.Operation> = []
    var nth = 1
    while true {
      let fileSystem = SimulatedFileSystem()
      fileSystem.inject(InjectedFailure(of: nil, nth: nth, code: .quotaExceeded))
      do {
        try callEverything(fileSystem)
        #expect(fileSystem.injectedFailureCount == 0)
        break
      } catch let error as FileIOError {
        #expect(error.code == .quotaExceeded)
        #expect(fileSystem.injectedFailureCount == 1)
        failed.insert(error.operation)
      }
      nth += 1
    }
    #expect(failed == Set(FileOperation.allCases.map(\.reported)))
  }

  @Test("The error of an injected failure names the operation of the call", arguments: FileOperation.allCases)
  func names(_ call: FileOperation) {
    #expect(call.reported.description == call.rawValue)
  }

  @Test("An injected failure of a call without a kind of its own names that call")
  func ownNames() throws {
    let fileSystem = SimulatedFileSystem()
    let file = try fileSystem.open("/a", .create)
    func failed(_ call: FileOperation, _ body: () throws -> Void) -> FileIOError.Operation? {
      fileSystem.inject(InjectedFailure(of: call, nth: 1, code: .mediaError))
      return #expect(throws: FileIOError.self) { try body() }?.operation
    }
    #expect(failed(.size) { _ = try file.linkCount() } == .linkCount)
    #expect(failed(.lock) { _ = try file.tryLock(0..<1) } == .tryLock)
    #expect(failed(.lock) { try file.unlock(0..<1) } == .unlock)
    #expect(failed(.lock) { _ = try file.isLocked(0..<1) } == .isLocked)
  }

  @Test("A short read returns only a prefix of the requested bytes")
  func shortRead() throws {
    let fileSystem = SimulatedFileSystem()
    let file = try fileSystem.open("/a", .create)
    try file.write(utf8: "abcdef", at: 0)
    func read(_ count: Int, at offset: UInt64) throws -> [UInt8] {
      var bytes = [UInt8](repeating: 0, count: count)
      let done = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
      return Array(bytes.prefix(done))
    }
    for (asked, given, expected) in [(6, 2, "ab"), (3, 100, "ab"), (100, 100, "abcde"), (4, 0, "")] {
      fileSystem.inject(InjectedFailure(of: .read, effect: .partialRead(byteCount: given)))
      #expect(try read(asked, at: 0) == Array(expected.utf8))
    }
    #expect(fileSystem.injectedFailureCount == 4)
    fileSystem.inject(InjectedFailure(of: .read, effect: .partialRead(byteCount: 1)))
    #expect(try read(4, at: 6) == [])
    // The read at the end of the file had no byte to shorten, so the next read is short.
    #expect(try read(4, at: 4) == Array("e".utf8))
    #expect(fileSystem.callCounts == [.create: 1, .write: 1, .read: 6])
  }

  @Test("An injected errno causes the same error as an errno of the operating system")
  func numbers() throws {
    let fileSystem = SimulatedFileSystem()
    let file = try fileSystem.open("/a", .create)
    for (kind, code) in [
      (FailureKind.mediaError, FileIOError.Code.mediaError), (.noSpace, .noSpace), (.interrupted, .other),
      (.quotaExceeded, .quotaExceeded), (.again, .busy), (.tooManyFiles, .tooManyOpenFiles),
      (.readOnly, .readOnly), (.accessDenied, .permissionDenied),
    ] {
      fileSystem.inject(kind.failure(nth: 1, repeats: false))
      let error = #expect(throws: FileIOError.self) { try file.sync(.full) }
      #expect(error?.code == code && error?.errno != 0)
      #expect(fileSystem.lastInjectedFailure?.code == code)
    }
    // For a lock, the same errno means that the lock is held.
    fileSystem.inject(FailureKind.again.failure(nth: 1, repeats: true))
    expectError(.locked) { _ = try fileSystem.lock("/l", .exclusive, holder: "me") }
    #expect(try !file.tryLock(0..<1))
  }

  @Test("A failure occurs once or repeatedly, and only on the chosen path")
  func once() throws {
    let fileSystem = SimulatedFileSystem()
    let a = try fileSystem.open("/a", .create)
    let b = try fileSystem.open("/b", .create)
    fileSystem.inject(InjectedFailure(of: .write, nth: 2, code: .mediaError, pathContains: "/a"))
    try a.write(utf8: "x", at: 0)
    try b.write(utf8: "x", at: 0)
    expectError(.mediaError) { try a.write(utf8: "y", at: 0) }
    try a.write(utf8: "z", at: 1)
    #expect(try a.read(9, at: 0) == Array("xz".utf8))
    fileSystem.inject(InjectedFailure(of: .write, nth: 1, repeats: true, code: .noSpace))
    expectError(.noSpace) { try a.write(utf8: "y", at: 0) }
    expectError(.noSpace) { try b.write(utf8: "y", at: 0) }
    fileSystem.removeInjectedFailures()
    try b.write(utf8: "y", at: 0)
  }

  @Test("A write may fail after a part of its bytes")
  func partialWrite() throws {
    let fileSystem = SimulatedFileSystem()
    let file = try fileSystem.open("/a", .create)
    fileSystem.inject(InjectedFailure(of: .write, code: .mediaError, effect: .partialWrite(byteCount: 2)))
    expectError(.mediaError) { try file.write(utf8: "abc", at: 0) }
    #expect(try file.read(9, at: 0) == Array("ab".utf8))
  }

  @Test("A failed sync makes nothing durable")
  func failedSync() throws {
    let fileSystem = SimulatedFileSystem()
    let file = try fileSystem.open("/a", .create)
    try fileSystem.syncDirectory("/")
    try file.write(utf8: "x", at: 0)
    fileSystem.inject(InjectedFailure(of: .sync, code: .mediaError))
    expectError(.mediaError) { try file.sync(.full) }
    let disks = CrashExplorer().images(of: fileSystem.journal, after: fileSystem.operationCount)
    #expect(disks.contains { $0.bytes(at: "/a") == [] })
    try file.sync(.full)
    let later = CrashExplorer().images(of: fileSystem.journal, after: fileSystem.operationCount)
    #expect(later.map { $0.bytes(at: "/a") } == [[0x78]])
  }

  @Test("Names that a failed sync drops become durable only if they are created again and synced")
  func droppedNames() throws {
    let fileSystem = SimulatedFileSystem()
    _ = try fileSystem.open("/a", .create)
    var failure = InjectedFailure(of: .sync, code: .mediaError, effect: .forgetsWrites)
    failure.dropsNames = true
    fileSystem.inject(failure)
    expectError(.mediaError) { try fileSystem.syncDirectory("/") }
    func isThere() -> Set<Bool> {
      let disks = CrashExplorer().images(of: fileSystem.journal, after: fileSystem.operationCount)
      return Set(disks.map { $0.bytes(at: "/a") != nil })
    }
    try fileSystem.syncDirectory("/")
    #expect(try isThere() == [true, false] && fileSystem.contents(of: "/") == ["a"])
    fileSystem.rewriteForgottenNames()
    #expect(isThere() == [true, false])
    try fileSystem.syncDirectory("/")
    #expect(isThere() == [true])
  }

  @Test("A failed sync of a directory keeps its names for the next sync by default")
  func keptNames() throws {
    let fileSystem = SimulatedFileSystem()
    _ = try fileSystem.open("/a", .create)
    fileSystem.inject(InjectedFailure(of: .syncDirectory, code: .mediaError, effect: .forgetsWrites))
    expectError(.mediaError) { try fileSystem.syncDirectory("/") }
    try fileSystem.syncDirectory("/")
    let disks = CrashExplorer().images(of: fileSystem.journal, after: fileSystem.operationCount)
    #expect(Set(disks.map { $0.bytes(at: "/a") != nil }) == [true])
  }

  @Test("A full volume accepts the bytes that fit, and accepts more after a file is removed")
  func capacity() throws {
    let fileSystem = SimulatedFileSystem(capacityBytes: 10)
    let file = try fileSystem.open("/a", .create)
    try file.write(utf8: "12345678", at: 0)
    #expect(try fileSystem.availableBytes(at: "/") == 2)
    expectError(.noSpace) { try file.write(utf8: "abcd", at: 8) }
    #expect(try file.read(99, at: 0) == Array("12345678ab".utf8))
    try file.write(utf8: "xx", at: 0)
    let other = try fileSystem.open("/b", .create)
    expectError(.noSpace) { try other.write(utf8: "y", at: 0) }
    try fileSystem.remove("/a")
    try other.write(utf8: "0123456789", at: 0)
    #expect(try fileSystem.availableBytes(at: "/") == 0)
  }
}
