import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// Several threads use one store. These tests also run under the thread sanitizer.
@Suite("Many threads that use one store")
struct ConcurrencyTests {
  /// Runs `body` on `count` new threads, and waits for all of them. Throws the first error.
  private func threads(_ count: Int, _ body: @escaping @Sendable (UInt64) throws -> Void) throws {
    let lock = Lock()
    let condition = Condition()
    let state = Guarded<(left: Int, error: (any Error)?)>((count, nil))
    for number in 0..<UInt64(count) {
      PlatformThread.start(name: "test") {
        let result = Result { try body(number) }
        state.withLock { state in
          state.left -= 1
          if case .failure(let error) = result { state.error = state.error ?? error }
        }
        lock.withLock { condition.broadcast() }
      }
    }
    lock.withLock { while state.withLock({ $0.left > 0 }) { condition.wait(lock) } }
    if let error = state.withLock({ $0.error }) { throw error }
  }

  @Test("A snapshot shows one complete commit, even if the snapshot is held during many commits")
  func snapshotsAreWhole() throws {
    let memory = try MemoryStore(segmentCapacityBytes: 16 << 10)
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    let names = try store.keyspace("names", .bytes)
    let index = try store.defineIndex(.slices("by value", rows, .value(offset: 0, length: 1)))
    @Sendable func fill(_ round: UInt8) throws {
      try store.write(durability: round % 16 == 0 ? .powerLoss : .relaxed) { transaction in
        for id in 0..<20 as Range<UInt64> { try transaction.put([round], id: id, in: rows) }
        for i in 0..<20 as Range<UInt8> { try transaction.put([round], key: [i, i], in: names) }
      }
    }
    @Sendable func check(_ snapshot: Snapshot) throws {
      var values: Set<[UInt8]> = []
      for id in 0..<20 as Range<UInt64> { values.insert(try snapshot.value(id: id, in: rows) ?? []) }
      try snapshot.forEach(in: names) { (_: RawSpan, value: RawSpan) in
        values.insert(value.withUnsafeBytes { Array($0) })
        return true
      }
      guard values.count == 1, snapshot.count(in: names) == 20, try snapshot.count(in: index) == 20 else {
        throw Violation("a snapshot has values of several commits: \(values)")
      }
    }
    try fill(0)
    let isDone = Guarded(false)
    try threads(4) { thread in
      if thread == 0 {
        for round in 1...250 as ClosedRange<UInt8> { try fill(round) }
        isDone.withLock { $0 = true }
        return
      }
      var held: [Snapshot] = []
      while !isDone.withLock({ $0 }) {
        let snapshot = store.snapshot()
        try check(snapshot)
        held.append(snapshot)
        if held.count > Int(thread) * 3 { try check(held.removeFirst()) }
      }
      for snapshot in held { try check(snapshot) }
    }
    #expect(try store.verify().isClean)
  }

  @Test("Concurrent synchronous and awaited writes with any durability are all in the store")
  func mixedWriters() async throws {
    let memory = try MemoryStore(segmentCapacityBytes: 8192)
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<6 as Range<UInt64> {
        group.addTask {
          @Sendable func durability(_ i: UInt64) -> Durability {
            [.powerLoss, .ordered, .relaxed][Int(i % 3)]
          }
          let value = [UInt8](repeating: UInt8(writer), count: 50)
          if writer % 2 == 0 {
            for i in 0..<60 as Range<UInt64> {
              try await store.write(durability: durability(i)) {
                try $0.put(value, id: writer * 100 + i, in: rows)
              }
            }
            return
          }
          try await onThread {
            for i in 0..<60 as Range<UInt64> {
              try store.write(durability: durability(i)) { try $0.put(value, id: writer * 100 + i, in: rows) }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(store.snapshot().count(in: rows) == 360)
    #expect(try store.verify().isClean)
    try store.close()
    #expect(try memory.open().snapshot().count(in: rows) == 360)
  }

  @Test("During closing, each write is in the store after reopening, or throws that the store is closed")
  func closeWhileWriting() async throws {
    for round in 0..<12 as Range<UInt64> {
      let memory = try MemoryStore(segmentCapacityBytes: 8192)
      let store = try memory.open()
      let rows = try store.keyspace("rows", .dense)
      let acknowledged = try await withThrowingTaskGroup(of: Int.self) { group in
        for writer in 0..<2 as Range<UInt64> {
          group.addTask {
            var count = 0
            do {
              while true {
                let id = writer * 1_000_000 + UInt64(count)
                try await store.write { try $0.put([1], id: id, in: rows) }
                count += 1
              }
            } catch let error as StoreError where error.code == .closed {}
            return count
          }
          group.addTask {
            try await onThread {
              var count = 0
              do {
                while true {
                  let id = (writer + 2) * 1_000_000 + UInt64(count)
                  try store.write { try $0.put([1], id: id, in: rows) }
                  count += 1
                }
              } catch let error as StoreError where error.code == .closed {}
              return count
            }
          }
        }
        group.addTask {
          try await onThread {
            let start = Clock.nowNanoseconds()
            while Clock.nowNanoseconds() < start + round * 1_000_000 {}
            try store.close()
            return 0
          }
        }
        return try await group.reduce(0, +)
      }
      #expect(throws: Never.self) { try store.close() }
      let again = try memory.open()
      #expect(again.recoveryReport.wasClosed)
      #expect(again.snapshot().count(in: rows) == acknowledged)
    }
  }

  @Test("After a failed sync, a commit that a power cut could lose is not acknowledged")
  func failedSync() async throws {
    for nth in 3..<9 {
      let fileSystem = SimulatedFileSystem()
      var options = StoreOptions()
      options.fileSystem = fileSystem
      options.segmentCapacityBytes = 4096
      let store = try Store(at: "/s.perdure", options: options)
      let rows = try store.keyspace("rows", .dense)
      fileSystem.inject(
        InjectedFailure(of: .sync, nth: nth, effect: .forgetsWrites, pathContains: ".segment"))
      let promised = try await withThrowingTaskGroup(of: [UInt64].self) { group in
        for writer in 0..<4 as Range<UInt64> {
          group.addTask {
            var promised: [UInt64] = []
            do {
              for i in 0..<100 as Range<UInt64> {
                let id = writer * 100 + i
                try await store.write { try $0.put([UInt8](repeating: 3, count: 300), id: id, in: rows) }
                promised.append(id)
              }
            } catch let error as StoreError where error.code == .poisoned || error.code == .io {}
            return promised
          }
        }
        return try await group.reduce([], +)
      }
      #expect(throws: StoreError.self) { try store.close() }
      let journal = fileSystem.journal
      for image in CrashExplorer(seed: 1).images(of: journal, after: journal.operationCount) {
        options.fileSystem = image.fileSystem()
        let snapshot = try Store(at: "/s.perdure", options: options).snapshot()
        for id in promised where try !snapshot.contains(.id(id), in: rows) {
          Issue.record("\(id) was acknowledged but is missing (failure \(nth))")
        }
      }
    }
  }

  @Test("Many threads can take and release snapshots while roots are allocated and freed")
  func pins() throws {
    let store = try MemoryStore().open()
    let rows = try store.keyspace("rows", .dense)
    let isDone = Guarded(false)
    try threads(6) { thread in
      if thread == 0 {
        for i in 0..<2_000 as Range<UInt64> {
          try store.write(durability: .relaxed) { try $0.put([UInt8(i & 0xFF)], id: i % 7, in: rows) }
        }
        isDone.withLock { $0 = true }
        return
      }
      var last: UInt64 = 0
      while !isDone.withLock({ $0 }) {
        // Takes more pins than one chunk has.
        let many = (0..<20).map { _ in store.snapshot() }
        for snapshot in many {
          guard snapshot.sequence >= last else { throw Violation("a snapshot is older than an earlier one") }
          last = snapshot.sequence
          for id in 0..<7 as Range<UInt64> { _ = try snapshot.value(id: id, in: rows) }
        }
      }
    }
    #expect(try store.statistics.snapshots == 0)
  }

  @Test("A snapshot stays readable after its store is released and opened again")
  func snapshotOutlivesStore() throws {
    let memory = try MemoryStore()
    var store: Store? = try memory.open()
    let rows = try #require(store).keyspace("rows", .dense)
    try store?.write { try $0.put([1, 2], id: 1, in: rows) }
    let snapshot = try #require(store).snapshot()
    store = nil
    let again = try memory.open()
    try again.write { try $0.put([3], id: 1, in: rows) }
    #expect(try snapshot.value(id: 1, in: rows) == [1, 2])
    #expect(try again.snapshot().value(id: 1, in: rows) == [3])
  }

  @Test("A store that is open for writing can also be opened read-only")
  func readOnlyBesideWriter() throws {
    let memory = try MemoryStore(segmentCapacityBytes: 8192)
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    var options = memory.options
    options.isReadOnly = true
    let readers = options
    let isDone = Guarded(false)
    try threads(3) { thread in
      if thread == 0 {
        defer { isDone.withLock { $0 = true } }
        for i in 0..<300 as Range<UInt64> {
          try store.write { try $0.put([UInt8](repeating: 1, count: 200), id: i, in: rows) }
        }
        return
      }
      var last = 0
      while !isDone.withLock({ $0 }) {
        let reader = try Store(at: "/store.perdure", options: readers)
        let count = reader.snapshot().count(in: rows)
        guard count >= last else { throw Violation("\(count) rows after \(last)") }
        last = count
        do {
          try reader.write { try $0.put([1], id: 1, in: rows) }
          throw Violation("a reader has written")
        } catch let error as StoreError where error.code == .readOnly {}
        try reader.close()
      }
    }
  }
}

/// Runs `body` on a new thread, because `body` blocks and the thread pool has few threads.
@discardableResult
private func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
  try await withCheckedThrowingContinuation { continuation in
    PlatformThread.start(name: "test") { continuation.resume(with: Result { try body() }) }
  }
}
