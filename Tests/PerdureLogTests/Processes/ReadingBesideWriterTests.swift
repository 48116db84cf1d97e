import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Reading while a program writes")
struct ReadingBesideWriterTests {
  @Test(
    "A reader's state is unchanged while the writer commits, compacts, checkpoints, closes and is killed",
    arguments: [true, false])
  func stays(registers: Bool) throws {
    let random = SeededGenerator.forTest("reading beside a writer \(registers)")
    for round in 0..<12 as Range<UInt64> {
      let witnessed = try WitnessedStore(random.derived(round))
      for _ in 0..<6 { try witnessed.act() }
      try witnessed.writer.checkpoint()
      try witnessed.commit()
      let reader = try witnessed.reader(registers: registers)
      let snapshot = reader.snapshot()
      #expect(try snapshot.sequence == witnessed.last)
      for step in 0..<12 {
        try witnessed.act()
        // Blob files may be missing for an unregistered reader.
        let place = "seed \(random.seed), round \(round), step \(step)"
        try witnessed.check(snapshot, place, mayLackBlobs: !registers)
      }
      try reader.refresh()
      try witnessed.check(reader.snapshot(), "seed \(random.seed), round \(round), refreshed")
      #expect(try reader.snapshot().sequence == witnessed.last)
    }
  }

  /// A run in which the writer does its work before one of the reader's file-system calls.
  private final class Moment {
    let witnessed: WitnessedStore
    let stepping: SteppingFileSystem
    let round: UInt64
    let call: Int
    let place: String
    /// Whether the reader made too few calls, so that the writer did no work.
    private(set) var isThrough = false

    init(_ random: SeededGenerator, round: UInt64, call: Int) throws {
      witnessed = try WitnessedStore(random.derived(round * 1000 + UInt64(call)))
      stepping = SteppingFileSystem(witnessed.fileSystem)
      (self.round, self.call) = (round, call)
      place = "seed \(random.seed), round \(round), before call \(call)"
    }

    func act(times: Int) throws { for _ in 0..<times { try witnessed.act() } }

    /// Checks that `body` returns a state from the time before, during or after the writer's work.
    func read(_ body: () throws -> Snapshot) throws -> Snapshot {
      let before = try witnessed.last
      stepping.run(before: call) { try self.act(times: self.round < 2 ? 1 : 4) }
      let snapshot = try body()
      isThrough = stepping.isWaiting
      if let failure = stepping.failure { throw failure }
      let after = try witnessed.last
      #expect(snapshot.sequence >= before && snapshot.sequence <= after, "\(place)")
      try witnessed.check(snapshot, place)
      return snapshot
    }
  }

  /// Runs `body` once for each file-system call of its reader, with the writer's work before that
  /// call. Makes two rounds, or four in a long run.
  ///
  /// - Returns: The number of calls in each round.
  @discardableResult
  private func beforeEveryCall(_ name: String, _ body: (Moment) throws -> Void) throws -> [Int] {
    let random = SeededGenerator.forTest(name)
    return try (0..<UInt64(LongRun.count(2, long: 4))).map { round in
      for call in 0... {
        let moment = try Moment(random, round: round, call: call)
        try body(moment)
        if moment.isThrough { return call + 1 }
      }
      return 0
    }
  }

  @Test("If a writer works at any point of an opening, the opened state is consistent")
  func interleavings() throws {
    let calls = try beforeEveryCall("interleaved opening") { moment in
      try moment.act(times: 4)
      if moment.round % 2 == 0 { try moment.witnessed.writer.checkpoint() }
      let snapshot = try moment.read { try moment.witnessed.reader(on: moment.stepping).snapshot() }
      try moment.act(times: 4)
      try moment.witnessed.check(snapshot, moment.place + ", later")
    }
    #expect(calls.allSatisfy { $0 > 20 })
  }

  @Test("If a writer works at any point of a refresh, the new state is consistent")
  func interleavedRefresh() throws {
    try beforeEveryCall("interleaved refresh") { moment in
      try moment.act(times: 3)
      let reader = try moment.witnessed.reader(on: moment.stepping)
      let old = reader.snapshot()
      try moment.act(times: moment.round % 2 == 0 ? 1 : 4)
      _ = try moment.read {
        try reader.refresh()
        return reader.snapshot()
      }
      try moment.witnessed.check(old, moment.place + ", the snapshot before")
    }
  }

  @Test("If a writer works at any point of a reader's verification, no violation is reported")
  func interleavedVerification() throws {
    try beforeEveryCall("interleaved verification") { moment in
      try moment.act(times: 3)
      let reader = try moment.witnessed.reader(on: moment.stepping)
      _ = try moment.read {
        let found = try reader.verify().findings.map(\.description)
        #expect(found == [], "\(moment.place)")
        return reader.snapshot()
      }
      #expect(try reader.verify().findings.map(\.description) == [], "\(moment.place), later")
    }
  }

  @Test("A partly written commit is not visible, regardless of how many bytes are written")
  func partly() throws {
    let random = SeededGenerator.forTest("partly written")
    let witnessed = try WitnessedStore(random, segmentCapacityBytes: 64 << 10, hasRoom: false)
    for _ in 0..<2 { try witnessed.commit() }
    let image = InMemoryFileSystem()
    try image.createDirectory(WitnessedStore.path)
    func copy(_ name: String, upTo length: Int? = nil) throws {
      let path = WitnessedStore.path + "/" + name
      let source = try witnessed.fileSystem.open(path, .read)
      let bytes = try source.read(length ?? Int(source.size()), at: 0)
      let file = try image.open(path, try image.kind(of: path) == nil ? .create : .readWrite)
      try file.write(bytes, at: 0)
    }
    for name in try witnessed.fileSystem.contents(of: WitnessedStore.path) { try copy(name) }
    let segment = "0000000000000001.segment"
    let path = WitnessedStore.path + "/" + segment
    let start = Int(try image.open(path, .read).size())
    let first = try witnessed.last
    // The blob files of a commit exist before the commit.
    while try witnessed.last < first + 2 { try witnessed.commit() }
    for name in try witnessed.fileSystem.contents(of: WitnessedStore.path) where name.hasSuffix(".blob") {
      try copy(name)
    }
    let end = Int(try witnessed.fileSystem.open(path, .read).size())
    let reader = try witnessed.reader(on: image)
    var last = first
    for length in Array(stride(from: start, to: end, by: 3)) + [end] {
      try copy(segment, upTo: length)
      try reader.refresh()
      let snapshot = reader.snapshot()
      #expect(snapshot.sequence >= last)
      if snapshot.sequence > last { try witnessed.check(snapshot, "\(length) bytes") }
      last = snapshot.sequence
      if length % 48 == 8 {
        let opened = try witnessed.reader(on: image)
        #expect(opened.snapshot().sequence == last)
      }
    }
    #expect(try last == witnessed.last)
    #expect(last == first + 2)
  }

  @Test(
    "An opening during a compaction loses no row of a segment that is rewritten meanwhile"
  )
  func rewrittenInBetween() throws {
    var call = 0
    var isThrough = false
    while !isThrough {
      let memory = try MemoryStore(segmentCapacityBytes: 4096)
      let store = try memory.open()
      let rows = try store.keyspace("rows", .dense)
      func put(_ ids: Range<UInt64>, _ byte: UInt8) throws {
        for id in ids {
          try store.write { try $0.put([UInt8](repeating: byte, count: 150), id: id, in: rows) }
        }
      }
      try put(0..<40, 1)
      // These rows are in segments without garbage, so compaction does not rewrite them.
      try put(100..<140, 1)
      let stepping = SteppingFileSystem(memory.fileSystem)
      stepping.run(before: call) {
        try put(0..<40, 2)
        try store.compact()
      }
      var options = memory.options
      options.fileSystem = stepping
      options.isReadOnly = true
      let reader = try Store(at: "/store.perdure", options: options)
      isThrough = stepping.isWaiting
      if let failure = stepping.failure { throw failure }
      let snapshot = reader.snapshot()
      for id in [0..<40, 100..<140 as Range<UInt64>].joined() {
        #expect(try snapshot.value(id: id, in: rows) != nil, "row \(id), before call \(call)")
      }
      call += 1
    }
  }

  @Test("Index units that a reader needs are kept until the reader is released, and are then reused")
  func indexUnits() throws {
    let witnessed = try WitnessedStore(SeededGenerator.forTest("index units"))
    for _ in 0..<8 { try witnessed.commit() }
    try witnessed.writer.checkpoint()
    var reader: Store? = try witnessed.reader()
    let place = try #require(reader?.engine.reading?.checkpoint)
    func root() throws -> [UInt8] {
      let name = WitnessedStore.path + "/" + StoreFileName.index(place.indexFile).string
      return try witnessed.fileSystem.open(name, .read)
        .read(Int(place.rootLength), at: UInt64(place.rootSlot) * 64)
    }
    let before = try root()
    for _ in 0..<6 {
      try witnessed.commit()
      try witnessed.writer.checkpoint()
    }
    #expect(try root() == before)
    reader = nil
    for _ in 0..<3 {
      try witnessed.commit()
      try witnessed.writer.checkpoint()
    }
    #expect(try root() != before)
    withExtendedLifetime(reader) {}
  }

  @Test("A blob file is kept while a reader may read it")
  func blobs() throws {
    let witnessed = try WitnessedStore(SeededGenerator.forTest("blobs of readers"))
    func blobs() throws -> Int {
      try witnessed.fileSystem.contents(of: WitnessedStore.path).filter { $0.hasSuffix(".blob") }.count
    }
    let value = [UInt8](repeating: 7, count: 5000)
    let extra = try witnessed.writer.keyspace("extra", .dense)
    func put(_ value: [UInt8]?) throws {
      try witnessed.writer.write(durability: .powerLoss) { transaction in
        if let value {
          try transaction.put(value, id: 1, in: extra)
        } else {
          try transaction.put([], id: 2, in: extra)
        }
      }
    }
    try put(value)
    var reader: Store? = try witnessed.reader()
    try put([1])
    try put(nil)
    #expect(try blobs() == 1)
    // The file also remains after the writer is killed and the next writer opens the store.
    witnessed.kill()
    try witnessed.open()
    try put(nil)
    #expect(try blobs() == 1)
    #expect(try reader?.snapshot().value(id: 1, in: extra) == value)
    reader = nil
    try put(nil)
    #expect(try blobs() == 0)
    withExtendedLifetime(reader) {}
  }

  @Test("A store that was not closed can be read without a writer, and stays unchanged")
  func notClosed() throws {
    let fileSystem = SimulatedFileSystem()
    let witnessed = try WitnessedStore(SeededGenerator.forTest("not closed"), fileSystem)
    for _ in 0..<20 { try witnessed.commit() }
    let last = try witnessed.last
    witnessed.kill()
    let operations = fileSystem.operationCount
    let reader = try witnessed.reader(registers: false)
    #expect(!reader.recoveryReport.wasClosed)
    #expect(reader.snapshot().sequence == last)
    #expect(fileSystem.operationCount == operations)
    #expect(try !reader.refresh())
    try reader.close()
    #expect(throws: StoreError.self) { try reader.refresh() }
    #expect(fileSystem.operationCount == operations)
  }

  @Test("Without a store, an opening for reading creates nothing")
  func noStore() throws {
    let fileSystem = InMemoryFileSystem()
    try fileSystem.createDirectory("/empty")
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.isReadOnly = true
    for path in ["/empty", "/absent"] {
      let error = #expect(throws: StoreError.self) { try Store(at: path, options: options) }
      #expect(error?.code == .notAStore)
    }
    #expect(try fileSystem.contents(of: "/") == ["empty"])
    #expect(try fileSystem.contents(of: "/empty") == [])
  }

  @Test(
    "A reader of a damaged index recovers by a refresh, from a new checkpoint or the log"
  )
  func healing() throws {
    for (writes, makesCheckpoint) in [(false, false), (true, false), (true, true)] {
      let memory = CheckpointedStore()
      let store = try memory.open()
      let rows = try store.keyspace("rows", .dense)
      try store.write { transaction in
        for id in 0..<600 as Range<UInt64> { try transaction.put([UInt8(id % 250)], id: id, in: rows) }
      }
      try store.close()
      let name = try #require(try memory.indexFiles().first)
      let node = try #require(try memory.nodes(name).last)
      // The writer accesses and checks all nodes before one is damaged.
      let writer = try memory.open()
      try writer.write { try $0.put([1], id: 1, in: rows) }
      try writer.checkpoint()
      let reader = try memory.open(readOnly: true)
      if writes {
        try writer.write { transaction in
          for id in 0..<600 as Range<UInt64> { try transaction.put([2], id: id, in: rows) }
        }
      }
      try memory.change(name) { $0[node.lowerBound + 100] ^= 0xFF }
      #expect(throws: StoreError.self) { try CrashOracle.content(of: reader) }
      // The new checkpoint consists of other nodes.
      if makesCheckpoint { try writer.checkpoint() }
      #expect(try reader.refresh() == writes)
      #expect((reader.engine.checkpoint != nil) == makesCheckpoint)
      var content: CrashHistory.Content = [:]
      for id in 0..<600 as Range<UInt64> {
        content[CrashKey(keyspace: "rows", key: .id(id))] = writes ? [2] : id == 1 ? [1] : [UInt8(id % 250)]
      }
      #expect(try CrashOracle.content(of: reader) == content)
      // A second refresh changes nothing, and does not return to the damaged nodes.
      #expect(try !reader.refresh())
      #expect(try CrashOracle.content(of: reader) == content)
      // The option is unchanged, so later openings check nodes only when they read them.
      #expect(!reader.engine.options.checksIndexAtOpening)
    }
  }

  @Test("A refresh reopens the store only if it was changed")
  func costOfRefresh() throws {
    let witnessed = try WitnessedStore(SeededGenerator.forTest("cost of a refresh"))
    try witnessed.commit()
    let stepping = SteppingFileSystem(witnessed.fileSystem)
    let reader = try witnessed.reader(on: stepping)
    func calls(isNew: Bool) throws -> Int {
      stepping.run(before: .max) {}
      #expect(try reader.refresh() == isNew)
      return stepping.callCount
    }
    let first = try calls(isNew: false)
    #expect(try calls(isNew: false) == first)
    let before = try witnessed.last
    // The random operations may be removals of absent keys, which do not make a commit.
    while try witnessed.last == before { try witnessed.commit() }
    let anew = try calls(isNew: true)
    #expect(anew > 2 * first, "\(anew) calls, and \(first) when nothing has changed")
    let second = try calls(isNew: false)
    // One more call is needed at the end of a file that is longer than the log by less than a frame
    // header.
    #expect((first...first + 1).contains(second), "\(second) calls, and \(first) before")
  }

  @Test("Only a store opened for reading can be refreshed")
  func refused() throws {
    let witnessed = try WitnessedStore(SeededGenerator.forTest("refused refresh"))
    let error = #expect(throws: StoreError.self) { try witnessed.writer.refresh() }
    #expect(error?.code == .readOnly)
  }
}
