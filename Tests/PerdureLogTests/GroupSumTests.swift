import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Synchronization
import Testing

@testable import PerdureLog

/// Each value has a group (8 bytes, big-endian) and numbers of 9 bytes each: a tag and a term, as
/// in `SumTerm`.
private enum Numbers {
  static func value(_ group: UInt64, _ terms: [SumTerm]) -> [UInt8] {
    var value = bigEndian(group)
    for term in terms {
      switch term {
      case .integer(let number): value += [0] + bigEndian(UInt64(bitPattern: number))
      case .double(let number): value += [1] + bigEndian(number.bitPattern)
      case .decimal(_, let coefficient, _): value += [2] + bigEndian(UInt64(coefficient))
      }
    }
    return value
  }

  static func bigEndian(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}

/// An extractor that returns the numbers in values and counts its calls.
private final class NumberExtractor: IndexExtractorFactory, IndexExtractor {
  private let calls = Mutex(0)
  /// Whether the extractor returns the numbers of a record only the first time that it gets the
  /// record. Then no number is ever removed from a sum.
  private let forgets: Bool
  private let seen = Mutex<Set<[UInt8]>>([])

  init(forgets: Bool = false) { self.forgets = forgets }

  var callCount: Int { calls.withLock { $0 } }

  func makeExtractor(parameters: [UInt8], in store: borrowing StoredValues) throws -> any IndexExtractor {
    self
  }

  func extract(
    keyspace: UInt32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
    into entries: inout IndexEntries
  ) {
    calls.withLock { $0 += 1 }
    if forgets, seen.withLock({ !$0.insert(Array(key) + Array(value)).inserted }) { return }
    func number(_ place: Int) -> UInt64 {
      UInt64(bigEndian: value.loadUnaligned(fromByteOffset: place, as: UInt64.self))
    }
    guard value.count >= 8 else { return }
    for place in stride(from: 8, to: value.count - 8, by: 9) {
      let bits = number(place + 1)
      let term: SumTerm =
        switch value[place] {
        case 0: .integer(Int64(bitPattern: bits))
        case 1: .double(Double(bitPattern: bits))
        default: .decimal(isNegative: false, coefficient: UInt128(bits), exponent: -2)
        }
      entries.add(term, to: number(0))
    }
  }
}

@Suite("Sums of groups")
struct GroupSumTests {
  private let extractor = NumberExtractor()
  private let memory: CheckpointedStore

  init() {
    var memory = CheckpointedStore()
    memory.options.indexExtractors = ["numbers": extractor]
    self.memory = memory
  }

  private func sums(
    _ keyspaces: Keyspace..., of kind: GroupSum.Kind = .integersAndDoubles, named name: String = "sums"
  ) -> IndexDefinition {
    IndexDefinition(
      name: name,
      source: .groupSums(of: kind, keyspaces: keyspaces, extractor: "numbers", parameters: []))
  }

  private func order(of index: DerivedIndex) -> IndexDefinition {
    IndexDefinition(name: "order of \(index.name)", source: .sumOrder(of: index))
  }

  /// The expected content: the group and the numbers of each id.
  private struct Model {
    var rows: [UInt64: (group: UInt64, terms: [SumTerm])] = [:]

    func sums(_ kind: GroupSum.Kind) -> [UInt64: GroupSum] {
      var sums: [UInt64: GroupSum] = [:]
      for (group, terms) in rows.values {
        for term in terms { sums[group, default: GroupSum(of: kind)].add(term) }
      }
      return sums
    }
  }

  private func index(_ name: String, _ store: Store) throws -> DerivedIndex {
    try #require(try store.indexes.first { $0.index.name == name }).index
  }

  private func order(_ index: DerivedIndex, _ snapshot: Snapshot) throws -> [[UInt8]] {
    var found: [[UInt8]] = []
    try snapshot.forEachEntry(in: index) { key, group in
      found.append(key.withUnsafeBytes { Array($0) } + Numbers.bigEndian(group))
      return true
    }
    return found
  }

  private func check(_ store: Store, _ model: Model, _ place: String) throws {
    let snapshot = store.snapshot()
    for kind in [GroupSum.Kind.integersAndDoubles, .integersAndDecimals] {
      let name = kind == .integersAndDoubles ? "sums" : "decimals"
      let wanted = model.sums(kind)
      let sums = try index(name, store)
      #expect(try snapshot.count(in: sums) == wanted.count, "\(place)")
      for group in 0..<8 as Range<UInt64> {
        #expect(try snapshot.sum(of: group, in: sums) == wanted[group], "\(place), group \(group)")
      }
      let order = wanted.map { $1.orderKey + Numbers.bigEndian($0) }
      #expect(
        try self.order(index("order of \(name)", store), snapshot)
          == order.sorted { $0.lexicographicallyPrecedes($1) }, "\(place)")
    }
  }

  private func term(_ random: inout SeededGenerator) -> SumTerm {
    switch Int.random(in: 0..<8, using: &random) {
    case 0: .double(Double(bitPattern: random.next()))
    case 1: .double(.random(in: -1...1, using: &random))
    case 2, 3:
      .decimal(
        isNegative: false, coefficient: UInt128(random.next() >> UInt64.random(in: 0...63, using: &random)),
        exponent: -2)
    case 4: .integer(Int64(bitPattern: random.next()))
    default: .integer(.random(in: -5...5, using: &random))
    }
  }

  @Test("After random changes, sums match the members; also after a log replay, a checkpoint or a salvage")
  func model() throws {
    var random = SeededGenerator.forTest("sums of groups")
    for round in 0..<4 {
      var memory = CheckpointedStore()
      memory.options.indexExtractors = ["numbers": extractor]
      var store = try memory.open()
      let rows = try store.keyspace("rows", .dense)
      var model = Model()
      for step in 0..<12 {
        let place = "seed \(random.seed), round \(round), step \(step)"
        try store.write { transaction in
          for _ in 0..<Int.random(in: 1...8, using: &random) {
            let id = UInt64.random(in: 0..<24, using: &random)
            if Int.random(in: 0..<3, using: &random) == 0 {
              try transaction.remove(id: id, in: rows)
              model.rows[id] = nil
            } else {
              let group = UInt64.random(in: 0..<8, using: &random)
              let terms = (0..<Int.random(in: 0...2, using: &random)).map { _ in term(&random) }
              // Equal numbers of one record are all added.
              let doubled = Bool.random(using: &random) ? terms + terms : terms
              try transaction.put(Numbers.value(group, doubled), id: id, in: rows)
              model.rows[id] = (group, doubled)
            }
          }
        }
        if step == round {
          for kind in [GroupSum.Kind.integersAndDoubles, .integersAndDecimals] {
            let name = kind == .integersAndDoubles ? "sums" : "decimals"
            _ = try store.defineIndex(order(of: try store.defineIndex(sums(rows, of: kind, named: name))))
          }
        }
        guard step >= round else { continue }
        try check(store, model, place)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: try store.checkpoint()
        case 1:
          store.engine.abandon()
          store = try memory.open()
          try check(store, model, place + ", opened again")
        case 2:
          let reader = try memory.open(readOnly: true)
          try check(reader, model, place + ", read")
          try reader.close()
        case 3: try store.compact()
        default: break
        }
      }
      #expect(try store.verify().findings.map(\.description) == [], "seed \(random.seed), round \(round)")
      try store.close()
      _ = try Store.salvage(from: CheckpointedStore.path, to: "/salvaged", options: memory.options)
      let salvaged = try Store(at: "/salvaged", options: memory.options)
      try check(salvaged, model, "seed \(random.seed), round \(round), salvaged")
    }
  }

  @Test("A change of one member in a large group reads one record and writes few nodes")
  func cost() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    let index = try store.defineIndex(sums(rows))
    let order = try store.defineIndex(order(of: index))
    try store.write(durability: .relaxed) { transaction in
      for id in 0..<600 as Range<UInt64> {
        try transaction.put(Numbers.value(id % 2 == 0 ? 7_000 : id, [.integer(Int64(id))]), id: id, in: rows)
      }
    }
    let before = store.snapshot()
    let (calls, bytes) = (extractor.callCount, try store.statistics.indexBytes)
    try store.write(durability: .relaxed) {
      try $0.put(Numbers.value(7_000, [.integer(1)]), id: 400, in: rows)
    }
    #expect(extractor.callCount - calls == 2)
    // The limit allows nodes of three levels for the rows, and a root and two leaves for each
    // index.
    #expect(try store.statistics.indexBytes - bytes < 16 << 10)
    let sum = (0..<300 as Range<Int64>).reduce(0) { $0 + 2 * $1 }
    #expect(try store.snapshot().sum(of: 7_000, in: index)?.int64 == sum - 400 + 1)
    #expect(try before.sum(of: 7_000, in: index)?.int64 == sum && before.count(in: order) == 301)
    // Removes many members in one commit. Each member is read once.
    try store.write(durability: .relaxed) { transaction in
      for id in 0..<100 as Range<UInt64> { try transaction.remove(id: 2 * id, in: rows) }
    }
    #expect(extractor.callCount - calls == 102)
    #expect(try store.snapshot().sum(of: 7_000, in: index)?.termCount == 200)
  }

  @Test("If numbers are never removed from a sum, the sum is wrong and verification reports it")
  func forgets() throws {
    for forgets in [false, true] {
      var memory = CheckpointedStore()
      memory.options.indexExtractors = ["numbers": NumberExtractor(forgets: forgets)]
      let store = try memory.open()
      let rows = try store.keyspace("rows", .dense)
      let index = try store.defineIndex(sums(rows))
      for id in 0..<4 as Range<UInt64> {
        try store.write { try $0.put(Numbers.value(1, [.integer(Int64(id))]), id: id, in: rows) }
      }
      try store.write { try $0.remove(id: 3, in: rows) }
      #expect(try (store.snapshot().sum(of: 1, in: index)?.int64 == 3) == !forgets)
      #expect(try store.verify().isClean == !forgets)
    }
  }

  @Test("An invalid definition is refused, and changes nothing")
  func refused() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    let groups = try store.defineIndex(.slices("groups", rows, .value(offset: 0, length: 8)))
    let index = try store.defineIndex(sums(rows))
    let order = try store.defineIndex(order(of: index))
    var unique = sums(rows, named: "unique")
    unique.isUnique = true
    let wrong = [
      unique, IndexDefinition(name: "counts", source: .groupCounts(of: index)),
      IndexDefinition(name: "other", source: .sumOrder(of: groups)),
      IndexDefinition(name: "other", source: .sumOrder(of: order)),
      IndexDefinition(name: "other", source: .sumOrder(of: index), isUnique: true),
      sums(rows, rows, named: "twice"),
      // The index `sums` has an order.
      .slices("sums", rows, .value(offset: 0, length: 8)),
    ]
    for definition in wrong {
      #expect(throws: StoreError.self) { try store.defineIndex(definition) }.map {
        #expect($0.code == .invalidArgument, "\($0)")
      }
    }
    #expect(throws: StoreError.self) { try store.removeIndex(index) }
    #expect(try store.indexes.map(\.index) == [groups, index, order])
    try store.write { try $0.put(Numbers.value(5, []), id: 1, in: rows) }
    #expect(try store.snapshot().sum(of: 5, in: index) == nil)
    // Index `groups` has an entry of group 5, but no entry of group 6.
    for group in [5, 6] as [UInt64] {
      #expect(throws: StoreError.self) { try store.snapshot().sum(of: group, in: groups) }.map {
        #expect($0.code == .invalidArgument)
      }
    }
  }

  @Test("An entry of another index is not a sum, even if its bytes could be a sum")
  func alike() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    let slices = try store.defineIndex(.slices("slices", rows, .value(offset: 0, length: 10)))
    try store.write { try $0.put(Numbers.bigEndian(5) + [3, 2], id: 1, in: rows) }
    #expect(throws: StoreError.self) { try store.snapshot().sum(of: 5, in: slices) }.map {
      #expect($0.code == .invalidArgument)
    }
  }

  @Test(
    "Sums and their order are rebuilt by a new definition, and deleted by a removal"
  )
  func defined() throws {
    let store = try memory.open()
    let (rows, more) = (try store.keyspace("rows", .dense), try store.keyspace("more", .dense))
    try store.write { transaction in
      try transaction.put(Numbers.value(1, [.integer(10)]), id: 1, in: rows)
      try transaction.put(Numbers.value(1, [.integer(5)]), id: 1, in: more)
    }
    let index = try store.defineIndex(sums(rows))
    let order = try store.defineIndex(order(of: index))
    #expect(try store.snapshot().sum(of: 1, in: index)?.int64 == 10)
    try store.checkpoint()
    _ = try store.defineIndex(sums(rows, more))
    try store.write { try $0.put(Numbers.value(1, [.integer(6)]), id: 2, in: more) }
    store.engine.abandon()
    let again = try memory.open()
    #expect(try again.snapshot().sum(of: 1, in: index)?.int64 == 21)
    var key = GroupSum(of: .integersAndDoubles)
    key.add(.integer(21))
    #expect(try self.order(order, again.snapshot()) == [key.orderKey + Numbers.bigEndian(1)])
    #expect(try again.verify().findings.map(\.description) == [])
    try again.removeIndex(order)
    try again.removeIndex(index)
    #expect(try again.statistics.indexEntries == 0 && again.verify().isClean)
  }

  @Test("Without an extractor, sums are unavailable, and the next opening with the extractor rebuilds them")
  func unavailable() throws {
    let first = try memory.open()
    let rows = try first.keyspace("rows", .dense)
    let index = try first.defineIndex(sums(rows))
    _ = try first.defineIndex(order(of: index))
    try first.write { try $0.put(Numbers.value(1, [.integer(10)]), id: 1, in: rows) }
    try first.close()
    var without = memory
    without.options.indexExtractors = [:]
    let second = try without.open()
    #expect(second.recoveryReport.unavailableIndexes == ["order of sums", "sums"])
    #expect(throws: StoreError.self) { try second.snapshot().sum(of: 1, in: index) }.map {
      #expect($0.code == .indexUnavailable)
    }
    try second.write { try $0.put(Numbers.value(1, [.integer(7)]), id: 2, in: rows) }
    try second.close()
    let third = try memory.open()
    #expect(try third.snapshot().sum(of: 1, in: index)?.int64 == 17)
    #expect(try third.verify().findings.map(\.description) == [])
  }

  @Test("A program can create sums and add one sum to another")
  func byHand() {
    var (a, b) = (GroupSum(of: .integersAndDecimals), GroupSum(of: .integersAndDecimals))
    a.add(.integer(2))
    a.add(.decimal(isNegative: false, coefficient: 125, exponent: -2))
    b.add(.decimal(isNegative: true, coefficient: 25, exponent: -2))
    a.add(b)
    #expect(a.termCount == 3 && a.int64 == 3 && a.double == 3)
    #expect(a.decimal.map { "\($0)" } == "(isNegative: false, coefficient: 3, exponent: 0)")
    a.remove(.decimal(isNegative: false, coefficient: 125, exponent: -2))
    a.add(.double(.nan))
    #expect(a.int64 == nil && a.double.isNaN && a.decimal == nil && a.notNumberCount == 1)
    a.remove(.double(.nan))
    #expect(a.double == 1.75 && a.kind == .integersAndDecimals)
  }
}
