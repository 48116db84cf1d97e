import PerdureFileIO
import PerdureTestSupport
import Testing

@Suite("Locks and conditions between threads")
struct LockAndThreadTests {
  /// A counter, and the number of finished threads.
  // Unchecked: all state is accessed under `lock`. After `waitForThreads`, only the test's thread
  // remains.
  private final class Shared: @unchecked Sendable {
    let lock = Lock()
    let changed = Condition()
    var count = 0
    var doneCount = 0
    var threadIDs: Set<UInt64> = []

    func finish() {
      lock.withLock {
        doneCount += 1
        threadIDs.insert(currentThreadID())
        changed.broadcast()
      }
    }

    func waitForThreads(_ number: Int) {
      lock.withLock { while doneCount < number { changed.wait(lock) } }
    }
  }

  @Test("Increments under a lock are not lost, and threads have different ids")
  func counting() {
    let shared = Shared()
    for index in 0..<4 {
      let started = PlatformThread.start(name: "perdure-test-\(index)") {
        for _ in 0..<1000 { shared.lock.withLock { shared.count += 1 } }
        shared.waitForThreads(index == 0 ? 0 : 1)
        shared.finish()
      }
      #expect(started)
    }
    shared.waitForThreads(4)
    #expect(shared.count == 4000)
    #expect(shared.threadIDs.isDisjoint(with: [currentThreadID()]))
  }

  #if os(Linux)
    @Test("A thread has the first 15 characters of the name that it was started with")
    func name() {
      let shared = Shared()
      let found = Guarded<[UInt8]>([])
      PlatformThread.start(name: "perdure-test-name") {
        let comm = try? POSIXFileSystem().open("/proc/thread-self/comm", .read).read(64, at: 0)
        found.withLock { $0 = comm ?? [] }
        shared.finish()
      }
      shared.waitForThreads(1)
      #expect(String(decoding: found.withLock { $0 }, as: UTF8.self) == "perdure-test-na\n")
    }
  #endif

  @Test("A lock is released if its body throws")
  func throwing() {
    let lock = Lock()
    expectError(.other) {
      try lock.withLock { () throws(FileIOError) in throw FileIOError(.other, operation: .read, path: "") }
    }
    lock.withLock {}
  }

  @Test("A wait with a deadline ends, with or without a signal")
  func deadline() {
    let lock = Lock()
    let condition = Condition()
    let start = Clock.nowNanoseconds()
    lock.withLock {
      #expect(!condition.wait(lock, untilNanoseconds: 0))
      while condition.wait(lock, untilNanoseconds: start + 2_000_000) {}
    }
    #expect(Clock.nowNanoseconds() >= start + 2_000_000)
    let shared = Shared()
    PlatformThread.start(name: "signal") { shared.finish() }
    shared.lock.withLock {
      while shared.doneCount == 0 {
        _ = shared.changed.wait(shared.lock, untilNanoseconds: Clock.nowNanoseconds() + 1_000_000_000_000)
      }
    }
    #expect(shared.doneCount == 1)
  }

  @Test("A guarded value keeps all concurrent changes")
  func guarded() async {
    let value = Guarded<[Int]>([])
    await withTaskGroup(of: Void.self) { group in
      for index in 0..<8 {
        group.addTask { for _ in 0..<100 { value.withLock { $0.append(index) } } }
      }
    }
    #expect(value.withLock { $0.count } == 800)
  }
}
