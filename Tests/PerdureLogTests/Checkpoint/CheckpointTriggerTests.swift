import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Triggers of checkpoints")
struct CheckpointTriggerTests {
  private let rowsOptions: StoreOptions

  init() {
    var options = StoreOptions()
    options.fileSystem = InMemoryFileSystem()
    options.segmentCapacityBytes = 64 << 10
    options.checkpoints = .manual
    rowsOptions = options
  }

  private func put(_ count: Int, from first: UInt64, into store: Store, _ rows: Keyspace) throws {
    for id in first..<(first + UInt64(count)) {
      try store.write(durability: .relaxed) {
        try $0.put([UInt8](repeating: 1, count: 200), id: id, in: rows)
      }
    }
  }

  /// Waits, without a timeout, until the condition is true.
  private func wait(until isThere: () throws -> Bool) async throws {
    while try !isThere() { try await Task.sleep(nanoseconds: 2_000_000) }
  }

  @Test("A long tail triggers a background checkpoint while commits continue")
  func long() async throws {
    var options = rowsOptions
    options.checkpoints.tailBytes = 16 << 10
    let store = try Store(at: "/s.perdure", options: options)
    let rows = try store.keyspace("rows", .dense)
    var id: UInt64 = 0
    try await wait {
      try put(50, from: id, into: store, rows)
      id += 50
      return try store.statistics.checkpointsSinceOpen >= 3
    }
    #expect(try store.statistics.indexBytesWrittenSinceOpen > 0)
    store.engine.abandon()
    let again = try Store(at: "/s.perdure", options: rowsOptions)
    #expect(again.recoveryReport.checkpointSequence > 0 && again.snapshot().count(in: rows) == Int(id))
    #expect(try again.verify().isClean)
  }

  @Test("If the system refuses a thread, the checkpoint is retried when the tail has grown further")
  func refusedThread() async throws {
    var options = rowsOptions
    options.checkpoints.tailBytes = 16 << 10
    let store = try Store(at: "/s.perdure", options: options)
    let rows = try store.keyspace("rows", .dense)
    try PlatformThread.$isRefused.withValue(true) { try put(200, from: 0, into: store, rows) }
    #expect(try store.statistics.checkpointsSinceOpen == 0)
    var id: UInt64 = 200
    try await wait {
      try put(50, from: id, into: store, rows)
      id += 50
      return try store.statistics.checkpointsSinceOpen > 0
    }
  }

  @Test("An idle store with a long tail gets a background checkpoint")
  func idle() async throws {
    var options = rowsOptions
    options.checkpoints.idleTailBytes = 16 << 10
    options.checkpoints.idleSeconds = 0.01
    let store = try Store(at: "/s.perdure", options: options)
    let rows = try store.keyspace("rows", .dense)
    try put(10, from: 0, into: store, rows)
    #expect(try store.statistics.checkpointsSinceOpen == 0)
    try put(200, from: 10, into: store, rows)
    // On a slow machine the store is also idle between commits.
    try await wait {
      try store.statistics.checkpointsSinceOpen > 0 && store.statistics.checkpointTailBytes < 16 << 10
    }
    store.engine.abandon()
    let again = try Store(at: "/s.perdure", options: rowsOptions)
    #expect(again.recoveryReport.checkpointSequence > 0 && again.recoveryReport.logBytes < 16 << 10)
  }

  @Test("A long tail at opening triggers a checkpoint soon afterwards")
  func afterOpening() async throws {
    var options = rowsOptions
    var store = try Store(at: "/s.perdure", options: options)
    try put(300, from: 0, into: store, try store.keyspace("rows", .dense))
    store.engine.abandon()
    options.checkpoints.idleTailBytes = 16 << 10
    options.checkpoints.idleSeconds = 0.01
    store = try Store(at: "/s.perdure", options: options)
    try await wait { try store.statistics.checkpointsSinceOpen == 1 }
    #expect(try store.statistics.checkpointTailBytes == 0)
  }

  @Test("Closing writes a checkpoint for a long tail, and no checkpoint for a short tail")
  func atClose() throws {
    var options = rowsOptions
    options.checkpoints.closeTailBytes = 20_000
    var store = try Store(at: "/s.perdure", options: options)
    let rows = try store.keyspace("rows", .dense)
    try put(10, from: 0, into: store, rows)
    try store.close()
    store = try Store(at: "/s.perdure", options: options)
    #expect(store.recoveryReport.checkpointSequence == 0 && store.recoveryReport.indexRebuild == nil)
    try put(100, from: 0, into: store, rows)
    try store.close()
    store = try Store(at: "/s.perdure", options: options)
    #expect(store.recoveryReport.checkpointSequence == store.snapshot().sequence)
    #expect(try store.statistics.checkpointTailBytes == 0)
  }

  @Test("An unchanged store writes no second checkpoint, and read-only and closed stores refuse checkpoints")
  func refused() throws {
    let store = try Store(at: "/s.perdure", options: rowsOptions)
    try store.checkpoint()
    #expect(try store.statistics.checkpointsSinceOpen == 0)
    try put(1, from: 0, into: store, try store.keyspace("rows", .dense))
    try store.checkpoint()
    let written = try store.statistics.indexBytesWrittenSinceOpen
    try store.checkpoint()
    #expect(try store.statistics.indexBytesWrittenSinceOpen == written)
    try store.close()
    #expect(throws: StoreError.self) { try store.checkpoint() }
    var options = rowsOptions
    options.isReadOnly = true
    let reader = try Store(at: "/s.perdure", options: options)
    let error = #expect(throws: StoreError.self) { try reader.checkpoint() }
    #expect(error?.code == .readOnly)
  }

  @Test("Checkpoint options out of range are rejected")
  func range() throws {
    for change in [
      { $0.tailBytes = 0 }, { $0.idleTailBytes = 100 }, { $0.closeTailBytes = -1 }, { $0.idleSeconds = 0 },
      { $0.idleSeconds = .infinity }, { $0.idleSeconds = .nan },
    ] as [(inout CheckpointOptions) -> Void] {
      var options = rowsOptions
      change(&options.checkpoints)
      let error = #expect(throws: StoreError.self) { try Store(at: "/s.perdure", options: options) }
      #expect(error?.code == .invalidArgument)
    }
  }

  @Test("A longer index allows a longer tail during commits, but not at closing")
  func policy() {
    let options = CheckpointOptions()
    #expect(options.dueTailBytes(indexBytes: 0) == 16 << 20)
    #expect(options.dueTailBytes(indexBytes: 1 << 30) == 512 << 20)
    #expect(options.nextLookBytes(indexBytes: 1 << 30) == 4 << 20)
    #expect(options.isDueAtClose(tail: 32 << 10) && !options.isDueAtClose(tail: 16 << 10))
    #expect(!CheckpointOptions.manual.isDueAtClose(tail: 1 << 40))
  }

  @Test("Checkpoints during writes and reads are valid, even if the store is abandoned during a checkpoint")
  func concurrency() async throws {
    var options = rowsOptions
    options.checkpoints.tailBytes = 4096
    for round in 0..<4 {
      let store = try Store(at: "/s.perdure", options: options)
      let rows = try store.keyspace("rows", .dense)
      let names = try store.keyspace("names", .bytes)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for writer in 0..<3 as Range<UInt64> {
          group.addTask {
            for step in 0..<150 as Range<UInt64> {
              // Each commit puts both values, so a reader must see both or neither.
              let (id, value) = (writer * 64 + step % 50, [UInt8](repeating: UInt8(step), count: 120))
              try store.write(durability: .relaxed) { transaction in
                try transaction.put(value, id: id, in: rows)
                try transaction.put(value, key: [UInt8(id)], in: names)
              }
            }
          }
        }
        group.addTask {
          for _ in 0..<60 {
            let snapshot = store.snapshot()
            try snapshot.forEach(in: rows) { (id: UInt64, value: RawSpan) in
              let other = try snapshot.value(key: [UInt8(id)], in: names)
              if value.withUnsafeBytes({ Array($0) }) != other { throw Violation("half a commit") }
              return true
            }
          }
        }
        group.addTask { for _ in 0..<10 { try store.checkpoint() } }
        try await group.waitForAll()
      }
      #expect(try store.statistics.checkpointsSinceOpen >= 1)
      // A checkpoint may be running now.
      if round % 2 == 0 { try store.close() } else { store.engine.abandon() }
      let again = try Store(at: "/s.perdure", options: rowsOptions)
      #expect(again.snapshot().count(in: rows) == 150)
      #expect(again.recoveryReport.indexRebuild == nil)
      #expect(try again.verify().isClean)
      again.engine.abandon()
    }
  }
}
