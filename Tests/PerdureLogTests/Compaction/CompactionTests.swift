import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

extension MemoryStore {
  /// The bytes of all segments. A segment that background compaction has just removed counts as 0.
  func segmentBytes() throws -> Int {
    try segmentNames().reduce(0) { sum, name in
      guard let file = try? fileSystem.open("/store.perdure/" + name, .read) else { return sum }
      return sum + Int(try file.size())
    }
  }

  func segmentNames() throws -> [String] {
    try fileSystem.contents(of: "/store.perdure").filter { $0.hasSuffix(".segment") }
  }
}

/// All values that a snapshot reads, by keyspace name and key.
private func content(_ snapshot: Snapshot, of store: Store) throws -> [CrashKey: [UInt8]] {
  var content: [CrashKey: [UInt8]] = [:]
  for keyspace in try store.keyspaces {
    switch keyspace.kind {
    case .dense:
      for id in 0..<200 as Range<UInt64> {
        content[CrashKey(keyspace: keyspace.name, key: .id(id))] = try snapshot.value(id: id, in: keyspace)
      }
    case .bytes:
      for id in 0..<200 as Range<UInt8> {
        content[CrashKey(keyspace: keyspace.name, key: .bytes([id]))] =
          try snapshot.value(key: [id], in: keyspace)
      }
    }
  }
  return content
}

private func numbered(_ id: UInt64, _ round: UInt64) -> [UInt8] {
  withUnsafeBytes(of: (id, round)) { Array($0) } + [UInt8](repeating: 7, count: 90)
}

@Suite("Compaction")
struct CompactionTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  @Test("Opening reports the number of bytes read, based on the current lengths of rewritten segments")
  func bytesRead() throws {
    var memory = CheckpointedStore()
    memory.options.checkpoints = .manual
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    for round in 0..<400 as Range<UInt64> {
      try store.write(durability: .relaxed) {
        try $0.put(numbered(round % 10, round), id: round % 10, in: rows)
      }
    }
    try store.compact()
    let bytes = try store.statistics.logBytes
    try store.close()
    let again = try memory.open()
    #expect(try again.statistics.logBytes == bytes)
    #expect(again.recoveryReport.logBytes == bytes)
    #expect(try again.statistics.checkpointTailBytes == again.recoveryReport.logBytes)
  }

  @Test(
    "Opening reports the number of bytes read from a log that ends with zeros",
    arguments: [1, 7, 8, 100, 700])
  func zerosRead(_ count: Int) throws {
    var memory = CheckpointedStore()
    memory.options.checkpoints = .manual
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put([UInt8](repeating: 0, count: count), id: 1, in: rows) }
    let bytes = try store.statistics.logBytes
    try store.close()
    let again = try memory.open()
    #expect(again.recoveryReport.logBytes == bytes)
    #expect(again.recoveryReport.tornTailBytes == 0)
  }

  @Test("Compaction removes overwritten records, and live records stay readable, even after reopening")
  func overwrites() throws {
    let memory = try MemoryStore(segmentCapacityBytes: 16 << 10)
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    for round in 0..<10 as Range<UInt8> {
      for id in 0..<100 as Range<UInt64> {
        try store.write(durability: .relaxed) {
          try $0.put([UInt8](repeating: round, count: 100), id: id, in: rows)
        }
      }
    }
    let before = try memory.segmentBytes()
    let report = try store.compact()
    let after = try memory.segmentBytes()
    #expect(report.segmentsRewritten > 5)
    #expect(report.recordsDropped == 900)
    #expect(after < before / 5, "\(before) bytes became \(after)")
    #expect(report.bytesBefore - report.bytesAfter <= UInt64(before))
    for id in 0..<100 as Range<UInt64> {
      #expect(try store.snapshot().value(id: id, in: rows) == [UInt8](repeating: 9, count: 100))
    }
    #expect(try store.verify().isClean)
    let usage = try store.usage
    #expect(try store.usage == store.countedUsage())
    try store.close()
    let again = try memory.open()
    #expect(try again.verify().isClean)
    #expect(try again.usage == usage)
    for id in 0..<100 as Range<UInt64> {
      #expect(try again.snapshot().value(id: id, in: rows) == [UInt8](repeating: 9, count: 100))
    }
    #expect(try again.compact().recordsDropped == 0)
  }

  @Test("In random histories, compactions and openings change neither snapshots nor the newest state")
  func model() throws {
    for round in 0..<UInt64(LongRun.count(12)) {
      let seed = SeededGenerator(seed: seed).derived(round).seed
      try CompactionRun(seed: seed).run()
    }
    print("PERDURE_SEED=\(seed)")
  }

  @Test(
    "During ten overwrites, segments use at most a snapshot's bytes plus 1.5 times the live bytes"
  )
  func heldSnapshot() throws {
    let memory = try MemoryStore(segmentCapacityBytes: 64 << 10)
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    func overwrite(_ round: UInt8) throws {
      for start in stride(from: 0, to: 2000, by: 50) as StrideTo<UInt64> {
        try store.write(durability: .relaxed) { transaction in
          for id in start..<(start + 50) {
            try transaction.put([UInt8](repeating: round, count: 200), id: id, in: rows)
          }
        }
      }
    }
    try overwrite(0)
    let live = try Int(store.liveBytes())
    let held = store.snapshot()
    for round in 1...10 as ClosedRange<UInt8> {
      try overwrite(round)
      try store.compact()
      let bytes = try memory.segmentBytes()
      #expect(Double(bytes) < Double(live) + 1.5 * Double(try store.liveBytes()), "round \(round)")
      #expect(try store.usage == store.countedUsage())
    }
    for id in stride(from: 0, to: 2000, by: 7) as StrideTo<UInt64> {
      #expect(try held.value(id: id, in: rows) == [UInt8](repeating: 0, count: 200))
      #expect(try store.snapshot().value(id: id, in: rows) == [UInt8](repeating: 10, count: 200))
    }
    #expect(try store.verify().isClean)
    // The snapshot retains only one generation of each segment.
    #expect(try store.statistics.replacedSegmentBytes < 2 * live)
  }

  @Test("The statistics list the oldest snapshots with their distance to the newest state")
  func statistics() throws {
    let store = try MemoryStore().open()
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put([1], id: 1, in: rows) }
    var held: [Snapshot] = [store.snapshot()]
    for round in 0..<10 as Range<UInt8> {
      try store.write { try $0.put([round], id: 1, in: rows) }
      held.append(store.snapshot())
    }
    let newest = store.snapshot().sequence
    let found = try store.statistics.oldestSnapshots
    #expect(found.map(\.sequence) == held.prefix(8).map(\.sequence))
    #expect(found.map(\.commitsBehind) == held.prefix(8).map { newest - $0.sequence })
    #expect(found.allSatisfy { $0.secondsBehind > 0 })
    held = [held[10]]
    #expect(
      try store.statistics.oldestSnapshots == [
        HeldSnapshot(sequence: newest, commitsBehind: 0, secondsBehind: 0)
      ])
    #expect(try store.statistics.deadRecordBytes == 10 * 32)
  }

  @Test("The next compaction removes the garbage of a released snapshot")
  func releasedSnapshot() throws {
    let memory = try MemoryStore(segmentCapacityBytes: 16 << 10)
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    func overwrite(_ round: UInt8) throws {
      try store.write { transaction in
        for id in 0..<300 as Range<UInt64> {
          try transaction.put([UInt8](repeating: round, count: 100), id: id, in: rows)
        }
      }
    }
    try overwrite(0)
    var held: Snapshot? = store.snapshot()
    try overwrite(1)
    #expect(try store.compact().recordsDropped == 0)
    let before = try memory.segmentBytes()
    #expect(try held?.value(id: 7, in: rows)?.first == 0)
    held = nil
    #expect(try store.compact().recordsDropped == 300)
    #expect(try memory.segmentBytes() < before * 2 / 3)
    #expect(try store.statistics.replacedSegmentBytes == 0)
  }

  @Test("Segments without live records are removed, and the log stays complete")
  func emptySegments() throws {
    let memory = try MemoryStore(segmentCapacityBytes: 4096)
    var store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    for round in 0..<60 as Range<UInt8> {
      try store.write { try $0.put([UInt8](repeating: round, count: 3000), id: 1, in: rows) }
      if round % 20 == 19 {
        try store.compact()
        #expect(try memory.segmentNames().count < 8)
        try store.close()
        store = try memory.open()
        #expect(try store.snapshot().value(id: 1, in: rows)?.first == round)
      }
    }
    #expect(try store.verify().isClean)
    #expect(try store.statistics.segments == memory.segmentNames().count)
  }

  @Test("After a compaction, opening still uses the checkpoint, and reads no rewritten segment")
  func checkpoints() throws {
    var memory = try MemoryStore(segmentCapacityBytes: 16 << 10)
    memory.options.checkpoints = .manual
    var store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    for round in 0..<20 as Range<UInt8> {
      try store.write { transaction in
        for id in 0..<50 as Range<UInt64> {
          try transaction.put([UInt8](repeating: round, count: 100), id: id, in: rows)
        }
      }
      if round == 10 { try store.checkpoint() }
    }
    #expect(try store.compact().segmentsRewritten > 3)
    try store.write { try $0.put([77], id: 5, in: rows) }
    let usage = try store.usage
    try store.close()
    store = try memory.open()
    #expect(store.recoveryReport.indexRebuild == nil)
    #expect(store.recoveryReport.checkpointSequence > 15)
    #expect(store.recoveryReport.segments == 1)
    #expect(try store.snapshot().value(id: 5, in: rows) == [77])
    #expect(try store.snapshot().value(id: 6, in: rows) == [UInt8](repeating: 19, count: 100))
    #expect(try store.usage == usage)
    #expect(try store.usage == store.countedUsage())
    #expect(try store.verify().isClean)
  }

  @Test("A cancelled compaction reports only work that is complete")
  func cancelled() throws {
    let memory = try MemoryStore(segmentCapacityBytes: 4096)
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    for round in 0..<40 as Range<UInt8> {
      try store.write { try $0.put([UInt8](repeating: round, count: 1000), id: 1, in: rows) }
    }
    let report = try store.compact { $0.segmentsDone < 3 }
    #expect(report.wasCancelled)
    #expect(report.segmentsRewritten == 3)
    #expect(try store.verify().isClean)
    #expect(!(try store.compact().wasCancelled))
  }

  @Test("A read-only or closed store refuses compaction")
  func refused() throws {
    let memory = try MemoryStore()
    let store = try memory.open()
    try store.close()
    #expect(throws: StoreError.self) { try store.compact() }
    var options = memory.options
    options.isReadOnly = true
    let reader = try Store(at: "/store.perdure", options: options)
    #expect(throws: StoreError.self) { try reader.compact() }
  }

  @Test("Compaction during writes and reads leaves an intact store")
  func threads() async throws {
    let memory = try MemoryStore(segmentCapacityBytes: 32 << 10)
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<3 as Range<UInt64> {
        group.addTask {
          for round in 0..<300 as Range<UInt64> {
            _ = try store.write(durability: .relaxed) { transaction in
              for id in (writer * 100)..<(writer * 100 + 20) {
                if (id + round) % 7 == 0 {
                  try transaction.remove(id: id, in: rows)
                } else {
                  try transaction.put(numbered(id, round), id: id, in: rows)
                }
              }
            }
          }
        }
      }
      for _ in 0..<2 {
        group.addTask {
          for _ in 0..<300 {
            let snapshot = store.snapshot()
            for id in 0..<120 as Range<UInt64> {
              guard let bytes = try snapshot.value(id: id, in: rows) else { continue }
              let found = bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
              #expect(found == id)
            }
            await Task.yield()
          }
        }
      }
      group.addTask { for _ in 0..<20 { try store.compact() } }
      try await group.waitForAll()
    }
    try store.compact()
    #expect(try store.verify().isClean)
    #expect(try store.usage == store.countedUsage())
    try store.close()
    #expect(try memory.open().verify().isClean)
  }
}

extension Store {
  fileprivate func liveBytes() throws -> UInt64 {
    try engine.readingState { state in
      state.segments.segments.keys.reduce(0) { $0 + state.usage[$1].liveBytes }
    }
  }
}

/// A random program. It compares every snapshot with a copy of the state at the time of the
/// snapshot.
private struct CompactionRun {
  let seed: UInt64

  func run() throws {
    var random = SeededGenerator(seed: seed)
    var memory = try MemoryStore(
      segmentCapacityBytes: [4096, 16 << 10].randomElement(using: &random) ?? 4096)
    memory.options.checkpoints = .manual
    if Bool.random(using: &random) {
      memory.options.compression.groupsColdRecords = true
      memory.options.compression.groupLengthTarget = [512, 4096].randomElement(using: &random) ?? 4096
      memory.options.compression.groupCacheBytes = [0, 2000, 1 << 20].randomElement(using: &random) ?? 0
    }
    if Bool.random(using: &random) { memory.options.checkpoints.closeTailBytes = 0 }
    var store: Store? = try memory.open()
    var snapshots: [(Snapshot, [CrashKey: [UInt8]])] = []
    var compactions = 0
    for _ in 0..<250 {
      let choice = Int.random(in: 0..<30, using: &random)
      if choice == 4 {
        snapshots = []
        try reopen(&store, memory, closing: Bool.random(using: &random))
      }
      guard let open = store else { return }
      switch choice {
      case 0:
        let snapshot = open.snapshot()
        snapshots.append((snapshot, try content(snapshot, of: open)))
      case 1 where !snapshots.isEmpty:
        snapshots.remove(at: Int.random(in: 0..<snapshots.count, using: &random))
      case 2, 3:
        let before = try content(open.snapshot(), of: open)
        try open.compact()
        compactions += 1
        #expect(try content(open.snapshot(), of: open) == before, "seed \(seed)")
        #expect(try open.usage == open.countedUsage(), "seed \(seed)")
      case 4: break
      case 5: try open.checkpoint()
      default: try write(open, &random)
      }
    }
    for (snapshot, expected) in snapshots {
      if let store { #expect(try content(snapshot, of: store) == expected, "seed \(seed)") }
    }
    let report = try store?.verify()
    #expect(report?.isClean == true, "seed \(seed): \(String(describing: report?.findings))")
    #expect(compactions > 0)
  }

  private func reopen(_ store: inout Store?, _ memory: MemoryStore, closing: Bool) throws {
    let before = try store.map { try content($0.snapshot(), of: $0) }
    if closing { try store?.close() }
    store = nil
    store = try memory.open()
    #expect(store?.recoveryReport.indexRebuild == nil, "seed \(seed)")
    #expect(try store?.usage == store?.countedUsage(), "seed \(seed)")
    #expect(try store.map { try content($0.snapshot(), of: $0) } == before, "seed \(seed)")
  }

  private func write(_ store: Store, _ random: inout SeededGenerator) throws {
    let rows = try store.keyspace("rows", .dense)
    let names = try store.keyspace("names", .bytes)
    var generator = random.derived(random.next())
    try store.write(durability: .relaxed) { transaction in
      for _ in 0..<Int.random(in: 1...30, using: &generator) {
        let id = UInt64.random(in: 0..<60, using: &generator)
        let length = [0, 10, 100, 700, 5000].randomElement(using: &generator) ?? 0
        let value = [UInt8](repeating: UInt8.random(in: 0...255, using: &generator), count: length)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: try transaction.remove(id: id, in: rows)
        case 1: try transaction.remove(key: [UInt8(id)], in: names)
        case 2: try transaction.put(value, id: id, in: rows)
        default: try transaction.put(value, key: [UInt8(id)], in: names)
        }
      }
    }
  }
}
