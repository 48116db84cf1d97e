import PerdureCompression
import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Dictionaries of a store")
struct DictionaryTests {
  private func fill(_ store: Store, _ keyspace: Keyspace, _ ids: Range<UInt64>, kind: Int = 0) throws {
    try store.write { transaction in
      for id in ids { try transaction.put(PackedStore.value(id, kind: kind), id: id, in: keyspace) }
    }
  }

  private func dictionariesUsed(_ store: Store) throws -> [Int: Int] {
    var used: [Int: Int] = [:]
    for record in try PackedStore.records(of: store) {
      if let dictionary = record.dictionary { used[dictionary, default: 0] += 1 }
    }
    return used
  }

  @Test("Short similar values shrink with a dictionary, and are readable after reopening")
  func training() throws {
    let packed = try PackedStore(.dictionary)
    var store = try packed.open()
    var rows = try store.keyspace("rows", .dense)
    try fill(store, rows, 0..<500)
    #expect(try dictionariesUsed(store).isEmpty)
    let trained = try #require(try store.trainDictionary(for: rows))
    #expect(trained.number == 1 && trained.bytes <= 2048 && trained.ratio < 0.5)
    #expect(try store.dictionaries(of: rows) == [trained])
    #expect(try store.statistics.dictionaries == 1)
    try fill(store, rows, 500..<1000)
    #expect(try dictionariesUsed(store) == [1: 500])
    func check() throws {
      let snapshot = store.snapshot()
      for id in 0..<1000 as Range<UInt64> {
        #expect(try snapshot.value(id: id, in: rows) == PackedStore.value(id))
      }
      #expect(try store.verify().isClean)
    }
    try check()
    for withCheckpoint in [true, false] {
      if withCheckpoint { try store.checkpoint() }
      try store.close()
      store = try packed.open()
      rows = try store.keyspace("rows", .dense)
      #expect(store.recoveryReport.checkpointSequence > 0)
      #expect(try store.dictionaries(of: rows) == [trained])
      try check()
    }
  }

  @Test("A new dictionary is used for new values, and older values keep their dictionary")
  func generations() throws {
    let packed = try PackedStore(.dictionary)
    let store = try packed.open()
    let rows = try store.keyspace("rows", .dense)
    let others = try store.keyspace("others", .dense)
    try fill(store, rows, 0..<300)
    try fill(store, others, 0..<300, kind: 1)
    _ = try store.trainDictionary(for: rows)
    _ = try store.trainDictionary(for: others)
    try fill(store, rows, 300..<400)
    try fill(store, others, 300..<400, kind: 1)
    let before = store.snapshot()
    try fill(store, rows, 400..<900, kind: 1)
    let third = try #require(try store.trainDictionary(for: rows))
    #expect(third.number == 3)
    try fill(store, rows, 900..<1000, kind: 1)
    let used = try dictionariesUsed(store)
    #expect(used[2] == 100 && used[3] == 100)
    #expect(try store.dictionaries(of: rows).map(\.number) == [1, 3])
    #expect(try store.dictionaries(of: others).map(\.number) == [2])
    for id in 0..<1000 as Range<UInt64> {
      #expect(try store.snapshot().value(id: id, in: rows) == PackedStore.value(id, kind: id < 400 ? 0 : 1))
    }
    #expect(try before.value(id: 350, in: rows) == PackedStore.value(350))
    #expect(try store.verify().isClean)
  }

  @Test("Training creates no dictionary if a dictionary does not shrink the values")
  func useless() throws {
    let store = try PackedStore(.dictionary).open()
    let rows = try store.keyspace("rows", .dense)
    #expect(try store.trainDictionary(for: rows) == nil)
    var random = SeededGenerator(seed: 3)
    try store.write { transaction in
      for id in 0..<200 as Range<UInt64> {
        let noise = (0..<100).map { _ in UInt8.random(in: 0...255, using: &random) }
        try transaction.put(noise, id: id, in: rows)
      }
    }
    #expect(try store.trainDictionary(for: rows) == nil)
    #expect(try store.statistics.dictionaries == 0)
  }

  @Test("Training is refused if the store does not use dictionaries, or is read-only")
  func refused() throws {
    for mode in [.off, .eachValue] as [CompressionOptions.Mode] {
      let store = try PackedStore(mode).open()
      let rows = try store.keyspace("rows", .dense)
      let error = #expect(throws: StoreError.self) { try store.trainDictionary(for: rows) }
      #expect(error?.code == .invalidArgument)
    }
    var packed = try PackedStore(.dictionary)
    try packed.open().close()
    packed.memory.options.isReadOnly = true
    let store = try packed.open()
    let error = #expect(throws: StoreError.self) { try store.trainDictionary(for: Keyspace.catalog) }
    #expect(error?.code == .readOnly)
  }

  @Test("A store can be closed and reopened during training; the training then throws")
  func placeOfAClosedStore() throws {
    let packed = try PackedStore(.dictionary)
    let store = try packed.open()
    let rows = try store.keyspace("rows", .dense)
    try fill(store, rows, 0..<300)
    let options = try #require(store.engine.packing?.options)
    let error = #expect(throws: StoreError.self) {
      try store.engine.trainDictionary(for: rows, options, isAutomatic: false) { samples, length in
        #expect(samples.count == 300)
        #expect(store.engine.pins.count == 0)
        try store.close()
        try packed.open().close()
        return DictionaryTrainer.train(on: samples, lengthMax: length)
      }
    }
    #expect(error?.code == .closed)
  }

  @Test("Samples include long values of byte-string keyspaces, and skip blob files")
  func samples() throws {
    let store = try PackedStore(.dictionary).open()
    let names = try store.keyspace("names", .bytes)
    try store.write { transaction in
      for id in 0..<300 as Range<UInt64> {
        try transaction.put(PackedStore.value(id), key: Array("\(id)".utf8), in: names)
      }
      try transaction.put([UInt8](repeating: 3, count: 9000), key: [0], in: names)
      try transaction.put(
        Array(repeating: PackedStore.value(7), count: 20).flatMap { $0 }, key: [1], in: names)
    }
    let snapshot = store.snapshot()
    let samples = try snapshot.samples(of: names, byteCount: 1 << 20, prefersNew: false)
    #expect(samples.count == 301)
    #expect(try snapshot.samples(of: names, byteCount: 3000, prefersNew: false).bytes.count < 6000)
    #expect(try snapshot.samples(of: names, byteCount: 1 << 20, prefersNew: true).count < 160)
    #expect(try store.trainDictionary(for: names) != nil)
  }

  @Test(
    "A dictionary is due after enough bytes or after a worse ratio, at increasing intervals"
  )
  func policy() throws {
    var options = CompressionOptions()
    options.dictionaryBytes = 1024
    let keyspace = Keyspace(id: 1, name: "rows", kind: .dense)
    var record = PackingRecord()
    func isDue(_ bytes: UInt64, _ stored: UInt64, with perMille: Int?) -> Bool {
      let tally = PackingTally(keyspace: keyspace, valueBytes: bytes, storedBytes: stored)
      return record.note(tally, with: perMille, options)
    }
    #expect(!isDue(65_535, 65_535, with: nil))
    #expect(isDue(1, 1, with: nil))
    record.waitLonger()
    #expect(!isDue(4 * 65_536 - 1, 1, with: nil))
    #expect(isDue(1, 1, with: nil))
    record = PackingRecord()
    #expect(!isDue((1 << 20) - 1, 900_000, with: 500))
    #expect(isDue(1, 1, with: 500))
    record = PackingRecord()
    #expect(!isDue(1 << 20, (1 << 20) * 590 / 1000, with: 500))
    // The previous call has started a new count.
    #expect(!isDue(1 << 19, 1 << 19, with: 500))
    #expect(!PackingRecord.hasFallen(600, from: 500) && PackingRecord.hasFallen(601, from: 500))
  }

  @Test(
    "Automatic training keeps a dictionary only if it is clearly better; manual training keeps any dictionary"
  )
  func better() throws {
    var packed = try PackedStore(.dictionary)
    packed.memory.options.compression.dictionaryBytes = 1024
    let store = try packed.open()
    let options = try #require(store.engine.packing?.options)
    let rows = try store.keyspace("rows", .dense)
    try fill(store, rows, 0..<300)
    #expect(try store.engine.trainDictionary(for: rows, options, isAutomatic: true)?.number == 1)
    // Puts further values of the same kind.
    try fill(store, rows, 300..<600)
    #expect(try store.engine.trainDictionary(for: rows, options, isAutomatic: true) == nil)
    #expect(try store.dictionaries(of: rows).count == 1)
    #expect(try store.trainDictionary(for: rows)?.number == 2)
    // Puts other values, which the existing dictionaries do not compress.
    try store.write { transaction in
      for id in 0..<1000 as Range<UInt64> {
        try transaction.put(PackedStore.value(id, kind: 1), id: id, in: rows)
      }
    }
    #expect(try store.engine.trainDictionary(for: rows, options, isAutomatic: true)?.number == 3)
  }

  @Test("Automatic training makes a dictionary after enough written bytes")
  func automatic() throws {
    var packed = try PackedStore(.dictionary)
    packed.memory.options.compression.trainsAutomatically = true
    packed.memory.options.compression.dictionaryBytes = 1024
    let store = try packed.open()
    let rows = try store.keyspace("rows", .dense)
    var next: UInt64 = 0
    // Writes until the training thread has made a dictionary, without a time limit.
    while try store.statistics.dictionaries == 0 {
      try fill(store, rows, next..<(next + 100))
      next += 100
      #expect(try store.statistics.lastTrainingFailure == nil)
    }
    #expect(next >= 700)
    try fill(store, rows, next..<(next + 100))
    #expect(try dictionariesUsed(store)[1] ?? 0 >= 100)
    #expect(try store.verify().isClean)
  }
}
