import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// These stores check the index file at opening. Therefore no damage of that file loses content.
/// FirstTouchTests has the cases without that check.
@Suite("A damaged index file")
struct IndexDamageTests {
  private let seed = SeededGenerator.seedFromEnvironment()
  private let store: DamagedStore
  private let file: String
  private let bytes: [UInt8]

  init() throws {
    store = try DamagedStore(closing: true, withCheckpoints: true)
    file = try #require(store.files.first { $0.hasSuffix(".index") })
    bytes = store.bytes(file)
  }

  /// Opens the store with these bytes as its index file, and returns whether the checkpoint was
  /// used.
  private func isUsed(_ damaged: [UInt8]) throws -> Bool {
    guard try store.outcome(store.withFile(file, damaged)) == store.last else {
      throw Violation("an error, or a loss")
    }
    return try DamagedStore.open(store.withFile(file, damaged)).recoveryReport.indexRebuild == nil
  }

  @Test("An undamaged index file is used")
  func undamaged() throws {
    #expect(try isUsed(bytes))
    let opened = try DamagedStore.open(store.image.fileSystem())
    #expect(opened.recoveryReport.checkpointSequence == store.last && opened.recoveryReport.logBytes == 0)
  }

  @Test("A changed bit in the index file changes no result of a read")
  func bits() throws {
    var random = SeededGenerator(seed: seed)
    print("PERDURE_SEED=\(seed)")
    var used = 0
    let step = LongRun.count(13, long: 5)
    let places =
      Array(0..<64)
      + stride(from: 64, to: bytes.count, by: step).map {
        min(bytes.count - 1, $0 + Int.random(in: 0..<step, using: &random))
      }
    for place in places {
      var damaged = bytes
      let bit = Int.random(in: 0..<8, using: &random)
      damaged[place] ^= 1 << bit
      do { if try isUsed(damaged) { used += 1 } } catch {
        Issue.record("byte \(place), bit \(bit): \(error)")
        return
      }
    }
    // Bytes that the newest checkpoint does not reach may have any value.
    print("bits of the index file: \(places.count), \(used) without effect")
    #expect(used < places.count * 3 / 4)
  }

  @Test("Truncation, zeros, misplaced units and another store's file change no result of a read")
  func larger() throws {
    var random = SeededGenerator(seed: seed)
    for length in stride(from: 0, to: bytes.count, by: 192) { _ = try isUsed(Array(bytes[..<length])) }
    let units = bytes.count / 64
    for _ in 0..<150 {
      var damaged = bytes
      let (from, to) = (Int.random(in: 0..<units, using: &random), Int.random(in: 0..<units, using: &random))
      let length = min(Int.random(in: 1...17, using: &random), units - max(from, to))
      switch Int.random(in: 0..<3, using: &random) {
      case 0:
        damaged.replaceSubrange(
          (64 * to)..<(64 * (to + length)), with: bytes[(64 * from)..<(64 * (from + length))])
      case 1: for place in (64 * to)..<(64 * (to + length)) { damaged[place] = 0 }
      default:
        for place in (64 * to)..<(64 * (to + length)) {
          damaged[place] = .random(in: 0...255, using: &random)
        }
      }
      _ = try isUsed(damaged)
    }
    // The index file of another store is intact, but must not be used.
    let stranger = try DamagedStore(closing: true, withCheckpoints: true)
    #expect(try !isUsed(stranger.bytes(file)))
  }

  @Test("Opening detects an older index file, and older units after a lost write")
  func earlier() throws {
    var random = SeededGenerator(seed: seed)
    let memory = CheckpointedStore()
    let name = "0000000000000001.index"
    var old: [[UInt8]] = []
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    for round in 0..<7 as Range<UInt64> {
      try store.write { transaction in
        for id in 0..<300 as Range<UInt64> { try transaction.put([UInt8(round)], id: id, in: rows) }
      }
      try store.checkpoint()
      old.append(try memory.bytes(name))
    }
    try store.write { transaction in
      for id in 0..<300 as Range<UInt64> { try transaction.put([99], id: id, in: rows) }
    }
    let content = try CrashOracle.content(of: store)
    try store.checkpoint()
    try store.close()
    let newest = try memory.bytes(name)
    let nodes = try memory.nodes(name)
    var refused = 0
    for bytes in old {
      try memory.change(name) { $0.replaceSubrange(0..<bytes.count, with: bytes) }
      let reader = try memory.open(readOnly: true, checking: true)
      #expect(try CrashOracle.content(of: reader) == content)
      for _ in 0..<25 {
        // The range is at least as long as one node of the table, which has 9 or 17 units.
        let start = 64 * Int.random(in: 1..<(bytes.count / 64), using: &random)
        let end = min(bytes.count, start + 64 * [9, 17, 40].randomElement(using: &random)!)
        try memory.change(name) { file in
          file.replaceSubrange(0..<newest.count, with: newest)
          file.replaceSubrange(start..<end, with: bytes[start..<end])
        }
        let reader = try memory.open(readOnly: true, checking: true)
        #expect(try CrashOracle.content(of: reader) == content, "seed \(seed)")
        if reader.recoveryReport.indexRebuild != nil { refused += 1 }
      }
      try memory.change(name) { $0.replaceSubrange(0..<newest.count, with: newest) }
      // In each step, restores the older bytes of one changed node. All other nodes keep their new
      // bytes.
      for range in nodes {
        guard range.upperBound <= bytes.count, bytes[range] != newest[range] else { continue }
        try memory.change(name) { file in
          file.replaceSubrange(0..<newest.count, with: newest)
          file.replaceSubrange(range, with: bytes[range])
        }
        let reader = try memory.open(readOnly: true, checking: true)
        #expect(try CrashOracle.content(of: reader) == content, "\(range)")
        #expect(reader.recoveryReport.indexRebuild != nil, "\(range)")
        refused += 1
      }
      try memory.change(name) { $0.replaceSubrange(0..<newest.count, with: newest) }
    }
    #expect(refused > 20)
  }

  @Test("A changed bit outside the index file is an error or has no effect")
  func elsewhere() throws {
    var random = SeededGenerator(seed: seed)
    for file in store.files where !file.hasSuffix(".index") {
      let bytes = store.bytes(file)
      // The used bytes of the superblock's slots.
      let places =
        file.hasSuffix("SUPERBLOCK") ? (0..<4).flatMap { slot in (0..<128).map { slot * 4096 + $0 } } : []
      let others = (0..<LongRun.count(80, long: 200)).map { _ in
        Int.random(in: 0..<bytes.count, using: &random)
      }
      for place in places + others {
        var damaged = bytes
        damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        let sequence = try store.outcome(store.withFile(file, damaged))
        #expect(sequence == nil || sequence == store.last, "\(file), byte \(place), seed \(seed)")
      }
    }
  }

  @Test(
    "Opening rebuilds the index if the trees contradict the counts of live bytes"
  )
  func lowUsage() throws {
    let memory = CheckpointedStore()
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    for id in 0..<50 as Range<UInt64> { try store.write { try $0.put([1], id: id, in: rows) } }
    try store.checkpoint()
    for id in 0..<50 as Range<UInt64> { try store.write { try $0.put([2], id: id, in: rows) } }
    let content = try CrashOracle.content(of: store)
    store.engine.abandon()
    try memory.changeRoot { root in
      var usage = try root.segmentUsage.withUnsafeBytes { try SegmentUsageTable(decoding: $0) }
      usage[1].liveBytes = 64
      root.segmentUsage = usage.encode()
    }
    let again = try memory.open(checking: true)
    #expect(again.recoveryReport.indexRebuild?.reason.hasPrefix("segment usage") == true)
    #expect(try CrashOracle.content(of: again) == content)
    #expect(try again.usage == again.countedUsage())
    #expect(try again.verify().isClean)
  }

  @Test("After loss of newer superblocks, opening uses an intact older checkpoint or rebuilds the index")
  func olderSuperblock() throws {
    let memory = CheckpointedStore()
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    for round in 0..<9 as Range<UInt64> {
      try store.write { transaction in
        for id in 0..<200 as Range<UInt64> { try transaction.put([UInt8(round)], id: id, in: rows) }
      }
      try store.checkpoint()
    }
    let content = try CrashOracle.content(of: store)
    store.engine.abandon()
    var used = 0
    // Damages the newest three superblocks, one more in each round.
    for lost in 1...3 {
      try memory.change("SUPERBLOCK") { bytes in
        let newest = bytes.withUnsafeBytes { try? Superblock.newest(in: $0) }
        if let newest { bytes[newest.slot * Superblock.slotLength] ^= 1 }
      }
      let reader = try memory.open(readOnly: true, checking: true)
      #expect(try CrashOracle.content(of: reader) == content, "\(lost)")
      // V10 reports that the index could not be used.
      let isUsed = reader.recoveryReport.indexRebuild == nil
      #expect(try reader.verify().findings.map(\.invariant) == (isUsed ? [] : [.checkpoint]))
      if isUsed { used += 1 }
    }
    // When the last checkpoint was written, the two newest superblocks named two earlier
    // checkpoints. These two are intact. Units of older checkpoints may have been reused, so no
    // opening uses older checkpoints (K1, K2).
    #expect(used == 2)
  }
}
