import Dispatch
import PerdureFileIO
import PerdureLog
import PerdureTestSupport
import Synchronization
import Testing

/// A file system that counts the syncs of segments. On request, it blocks the next sync until the
/// test releases it.
private final class HeldSyncs: ForwardingFileSystem, Sendable {
  struct State {
    var syncs = 0
    var holds = false
    var isHeld = false
  }

  /// Signalled once when the blocked sync may continue.
  let goOn = DispatchSemaphore(value: 0)

  let behind: any FileSystem = InMemoryFileSystem()
  let state = Mutex(State())

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    let file = try behind.open(path, mode)
    return path.hasSuffix(".segment") ? HeldFile(behind: file, fileSystem: self) : file
  }

  func willSync() {
    let waits = state.withLock { state in
      state.syncs += 1
      let waits = state.holds && !state.isHeld
      state.isHeld = state.isHeld || waits
      return waits
    }
    // The timeout prevents a hang. It is longer than all waits of the test.
    if waits { _ = goOn.wait(timeout: .now() + 3600) }
  }
}

private final class HeldFile: ForwardingFile {
  let behind: any File
  private let fileSystem: HeldSyncs

  init(behind: any File, fileSystem: HeldSyncs) {
    self.behind = behind
    self.fileSystem = fileSystem
  }

  func sync(_ mode: SyncMode) throws(FileIOError) {
    fileSystem.willSync()
    try behind.sync(mode)
  }
}

@Suite("Commits that share a sync")
struct SharedSyncTests {
  /// Waits until other threads make a condition true, for at most ten minutes. The caller checks
  /// the condition afterwards.
  private static func wait(_ holds: () throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(600)
    while try !holds(), ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(1)) }
  }

  @Test("Commits that arrive during a sync share one further sync")
  func shared() async throws {
    let fileSystem = HeldSyncs()
    var options = StoreOptions()
    options.fileSystem = fileSystem
    let store = try Store(at: "/s.perdure", options: options)
    let rows = try store.keyspace("rows", .dense)
    try await store.write { try $0.put([0], id: 0, in: rows) }
    let before = fileSystem.state.withLock { state in
      state.holds = true
      return state.syncs
    }
    let commits = try store.statistics.commitsSinceOpen
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 1...20 as ClosedRange<UInt64> {
        group.addTask { try await store.write { try $0.put([1], id: writer, in: rows) } }
        // The first sync is running before the other commits arrive.
        if writer == 1 { try await Self.wait { fileSystem.state.withLock { $0.isHeld } } }
      }
      try await Self.wait { try store.statistics.commitsSinceOpen == commits + 20 }
      #expect(try store.statistics.commitsSinceOpen == commits + 20)
      fileSystem.goOn.signal()
      try await group.waitForAll()
    }
    #expect(fileSystem.state.withLock { $0.isHeld })
    #expect(fileSystem.state.withLock { $0.syncs } - before == 2)
    #expect(store.snapshot().count(in: rows) == 21)
    try store.close()
  }
}
