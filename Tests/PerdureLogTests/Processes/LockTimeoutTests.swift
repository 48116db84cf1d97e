import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// Calls a closure after each refusal of a lock, with the number of refusals.
private final class RefusalCounter: ForwardingFileSystem {
  let behind: any FileSystem
  private let refusals = Guarded(0)
  private let action: @Sendable (Int) -> Void

  init(_ behind: any FileSystem, _ action: @escaping @Sendable (Int) -> Void) {
    (self.behind, self.action) = (behind, action)
  }

  var count: Int { refusals.withLock { $0 } }

  func lock(_ path: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    do throws(FileIOError) { return try behind.lock(path, kind, holder: holder) } catch {
      let count = refusals.withLock { count in
        count += 1
        return count
      }
      action(count)
      throw error
    }
  }
}

/// Calls a closure after each refusal of a lock on a range of a file, with the number of refusals.
private final class RangeRefusalCounter: ForwardingFileSystem {
  let behind: any FileSystem
  private let refusals = Guarded(0)
  private let action: @Sendable (Int) -> Void

  init(_ behind: any FileSystem, _ action: @escaping @Sendable (Int) -> Void) {
    (self.behind, self.action) = (behind, action)
  }

  var count: Int { refusals.withLock { $0 } }

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    CountedFile(behind: try behind.open(path, mode), self)
  }

  private func noteRefusal() {
    let count = refusals.withLock { count in
      count += 1
      return count
    }
    action(count)
  }

  private final class CountedFile: ForwardingFile {
    let behind: any File
    private let counter: RangeRefusalCounter

    init(behind: any File, _ counter: RangeRefusalCounter) {
      (self.behind, self.counter) = (behind, counter)
    }

    func tryLock(_ range: Range<UInt64>) throws(FileIOError) -> Bool {
      if try behind.tryLock(range) { return true }
      counter.noteRefusal()
      return false
    }
  }
}

/// Renames a prepared store to the draft of a replacement when an opening creates the store's
/// directory.
private final class LateReplacement: ForwardingFileSystem {
  let behind: any FileSystem
  private let isDone = Guarded(false)

  init(_ behind: any FileSystem) { self.behind = behind }

  func createDirectory(_ path: String) throws(FileIOError) {
    let isFirst = isDone.withLock { isDone in
      defer { isDone = true }
      return !isDone
    }
    if isFirst { try behind.rename("/prepared", to: path + CopyDraft.suffix) }
    try behind.createDirectory(path)
  }
}

@Suite("Waiting for the writer's lock")
struct LockTimeoutTests {
  private static func options(_ fileSystem: any FileSystem, _ timeout: Duration) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.lockTimeout = timeout
    return options
  }

  @Test("An opening succeeds if the lock is released within the timeout", arguments: [1, 3, 6])
  func waits(refusals: Int) throws {
    let memory = InMemoryFileSystem()
    let first = try Store(at: "/s", options: Self.options(memory, .zero))
    let counter = RefusalCounter(memory) { if $0 == refusals { try? first.close() } }
    try Store(at: "/s", options: Self.options(counter, .seconds(600))).close()
    #expect(counter.count == refusals)
  }

  @Test("An opening also waits for the lock of an interrupted replacement")
  func replacement() throws {
    let memory = InMemoryFileSystem()
    let options = Self.options(memory, .zero)
    try Store(at: "/s.copy", options: options).close()
    try memory.markAsReplacement("/s.copy")
    let holder = try memory.writerLock(ofStore: "/s.copy")
    let error = #expect(throws: StoreError.self) { try Store(at: "/s", options: options) }
    #expect(error?.code == .locked)
    let counter = RefusalCounter(memory) { if $0 == 2 { holder.release() } }
    try Store(at: "/s", options: Self.options(counter, .seconds(600))).close()
    #expect(counter.count == 2)
  }

  @Test(
    "An opening creates no store at a path while another process is replacing the store there",
    arguments: [true, false])
  func lateReplacement(waits: Bool) throws {
    let memory = InMemoryFileSystem()
    let options = Self.options(memory, .zero)
    let prepared = try Store(at: "/prepared", options: options)
    let rows = try prepared.keyspace("rows", .dense)
    try prepared.write { try $0.put([7], id: 7, in: rows) }
    try prepared.close()
    try memory.markAsReplacement("/prepared")
    let late = Self.options(LateReplacement(memory), waits ? .seconds(600) : .zero)
    if !waits {
      let error = #expect(throws: StoreError.self) { try Store(at: "/s", options: late) }
      #expect(error?.code == .locked)
    }
    let store = try Store(at: "/s", options: late)
    #expect(try store.snapshot().value(id: 7, in: store.keyspace("rows", .dense)) == [7])
    try store.close()
    #expect(try memory.kind(of: "/s" + CopyDraft.suffix) == nil)
  }

  @Test("An opening succeeds when the process that has the lock ends")
  func killed() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let path = directory.file("s.perdure")
    async let child = #expect(processExitsWith: .success) { [path = path as String] in
      let first = try Store(at: path)
      // Releases the lock when the test has created the `.sign` file.
      while try POSIXFileSystem().kind(of: path + ".sign") == nil {}
      withExtendedLifetime(first) {}
    }
    let files = POSIXFileSystem()
    while try files.kind(of: path + "/SUPERBLOCK") == nil { await Task.yield() }
    let counter = RefusalCounter(files) { if $0 == 2 { _ = try? files.open(path + ".sign", .create) } }
    try Store(at: path, options: Self.options(counter, .seconds(600))).close()
    #expect(counter.count >= 2)
    _ = await child
  }

  @Test("An opening fails with .locked after the timeout, or immediately without a timeout")
  func timeIsOver() throws {
    for (timeout, refusals) in [(Duration.zero, 1...1), (.milliseconds(5), 2...100)] {
      let memory = InMemoryFileSystem()
      let first = try Store(at: "/s", options: Self.options(memory, .zero))
      let counter = RefusalCounter(memory) { _ in }
      let error = #expect(throws: StoreError.self) {
        try Store(at: "/s", options: Self.options(counter, timeout))
      }
      #expect(error?.code == .locked)
      #expect(error?.message.contains("held by process") == true)
      #expect(refusals.contains(counter.count))
      withExtendedLifetime(first) {}
    }
  }

  @Test("A waiting opening ends when its task is cancelled")
  func cancelled() async throws {
    let memory = InMemoryFileSystem()
    let first = try Store(at: "/s", options: Self.options(memory, .zero))
    let task = Guarded<Task<Void, any Error>?>(nil)
    let counter = RefusalCounter(memory) { if $0 == 3 { task.withLock { $0?.cancel() } } }
    let started = task.withLock { task in
      let opening = Task { _ = try Store(at: "/s", options: Self.options(counter, .seconds(600))) }
      task = opening
      return opening
    }
    await #expect(throws: CancellationError.self) { try await started.value }
    #expect(counter.count == 3)
    withExtendedLifetime(first) {}
  }

  @Test("If LOCK was removed, an opening waits until the first store releases the lock on its segment")
  func segment() throws {
    let memory = InMemoryFileSystem()
    let first = try FilledStore(Store(at: "/s", options: Self.options(memory, .zero)))
    try first.put(0..<3, round: 1)
    try memory.remove("/s/LOCK")
    let refusing = RangeRefusalCounter(memory) { _ in }
    let error = #expect(throws: StoreError.self) {
      try Store(at: "/s", options: Self.options(refusing, .zero))
    }
    #expect(error?.code == .locked && refusing.count == 1)
    let closing = Guarded<(any Error)?>(nil)
    let store = first.store
    let counter = RangeRefusalCounter(memory) {
      guard $0 == 3 else { return }
      do { try store.close() } catch { closing.withLock { $0 = error } }
    }
    let second = try FilledStore(Store(at: "/s", options: Self.options(counter, .seconds(600))))
    #expect(counter.count == 3)
    #expect(try second.holds(0..<3, round: 1))
    // The first store has lost its LOCK, so its close throws.
    #expect(closing.withLock { $0 is StoreError })
  }

  @Test(
    "A timeout of any length gives a deadline without overflow",
    arguments: [.seconds(18_446_744_073) + .milliseconds(999), .seconds(Int64.max), .zero] as [Duration])
  func anyTimeout(_ timeout: Duration) throws {
    var wait = LockWait(timeout)
    #expect(try wait.next() == (timeout > .zero))
  }

  @Test("A negative timeout is refused", arguments: [Duration.seconds(-1), .nanoseconds(-1)])
  func negative(_ timeout: Duration) {
    let error = #expect(throws: StoreError.self) {
      try Store(at: "/s", options: Self.options(InMemoryFileSystem(), timeout))
    }
    #expect(error?.code == .invalidArgument)
  }
}
