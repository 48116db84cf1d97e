// Makes the same changes in the store on the log and in the naive store, and compares the results.

import PerdureLog
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("The store on the log and the naive store")
struct MirroredStoreTests {
  private struct Entry: Hashable {
    let key: [UInt8]
    let reference: ObjectReference
  }

  /// Both stores, and the objects after the last commit to both.
  private struct Pair {
    let log: any PersistentStore
    let naive: NaiveStore
    var objects: [ObjectReference: TestObject] = [:]

    init() throws {
      log = try StoreFactory.standard.open(.inMemory, try TestModel.model(indexed: true))
      naive = NaiveStore(log.schema)
    }

    /// Returns the change from the current objects to new objects, for one of the stores.
    func change(to new: [ObjectReference: TestObject], for store: any PersistentStore) throws -> StoreChange {
      var change = StoreChange(view: store.view(), schema: store.schema, durability: .relaxed)
      change.removals = objects.keys.filter { new[$0] == nil }
      for (reference, object) in new where objects[reference]?.values != object.values {
        change.puts.append(reference, try TestGraph.row(of: object, store.schema))
      }
      let (before, after) = (links(objects), links(new))
      change.linksRemoved = Array(before.subtracting(after))
      change.linksAdded = Array(after.subtracting(before))
      let (oldPlaces, newPlaces) = (places(objects), places(new))
      change.linksRemoved += oldPlaces.keys.filter { newPlaces[$0] == nil }
      change.places = newPlaces.filter { oldPlaces[$0] != $1 }.map { StoreOrderKey(link: $0, key: $1) }
      return change
    }

    private func places(_ objects: [ObjectReference: TestObject]) -> [StoreLink: OrderKey] {
      let places = objects.values.flatMap { TestGraph.places(of: $0, log.schema) }
      return Dictionary(places.map { ($0.link, $0.key) }, uniquingKeysWith: { first, _ in first })
    }

    private func links(_ objects: [ObjectReference: TestObject]) -> Set<StoreLink> {
      Set(objects.values.flatMap { TestGraph.links(of: $0, log.schema) })
    }
  }

  @Test("The same changes give the same rows, entries, counts and refusals in both stores")
  func mirrored() throws {
    var random = SeededGenerator.forTest("mirrored stores")
    var pair = try Pair()
    var refusals = 0
    for _ in 0..<25 {
      let new = try next(pair.objects, &random)
      let log = result { try pair.log.commit(try pair.change(to: new, for: pair.log)) }
      let naive = result { try pair.naive.commit(try pair.change(to: new, for: pair.naive)) }
      #expect(log == naive)
      if log.isEmpty { pair.objects = new } else { refusals += 1 }
      try compare(pair, &random)
    }
    #expect(refusals > 0 && refusals < 25)
    try pair.log.close()
  }

  @Test("Both stores accept and refuse the same preconditions")
  func preconditions() throws {
    var random = SeededGenerator.forTest("mirrored preconditions")
    var pair = try Pair()
    var first = try next([:], &random)
    while !result({ try pair.log.commit(try pair.change(to: first, for: pair.log)) }).isEmpty {
      first = try next([:], &random)
    }
    _ = try pair.naive.commit(try pair.change(to: first, for: pair.naive))
    pair.objects = first
    for _ in 0..<20 {
      let old = (log: pair.log.view(), naive: pair.naive.view())
      let new = try next(pair.objects, &random, changePercent: 5)
      let isDone = result { try pair.log.commit(try pair.change(to: new, for: pair.log)) }.isEmpty
      #expect(isDone == result { try pair.naive.commit(try pair.change(to: new, for: pair.naive)) }.isEmpty)
      if isDone { pair.objects = new }
      let questions = (0..<6).map { _ in question(first, &random) }
      #expect(
        try failed(questions, pair.log, old.log) == failed(questions, pair.naive, old.naive), "\(questions)")
    }
  }

  @Test("Fetches on the log give the same results as evaluating each object")
  func fetches() throws {
    var random = SeededGenerator.forTest("fetches on the log")
    let objects = try TestGraph.objects(&random)
    let graph = try TestGraph(objects, indexed: true)
    var pair = try Pair()
    _ = try pair.log.commit(try pair.change(to: graph.objects, for: pair.log))
    pair.objects = graph.objects
    let view = pair.log.view()
    for _ in 0..<300 {
      var generator = RandomPredicate(graph.schema, SeededGenerator(seed: random.next()))
      let entity = graph.schema.entity(
        named: random.pick(["Employee", "Employee", "Company", "Tag", "Party"]))!
      let query = generator.query(entity)
      let fetch = try PreparedFetch(query, pair.log.schema)
      let plan = FetchPlanner.plan(fetch, FetchStatistics(view))
      let found = try FetchExecutor(fetch, plan, view: view).references()
      let expected = try NaiveFetch.references(query, graph)
      if query.order.isEmpty {
        #expect(found.count == expected.count, "\(plan) for \(query)")
      } else {
        #expect(found == expected, "\(plan) for \(query)")
      }
    }
  }

  @Test("Ranges find the greatest key, which is null in a descending index")
  func lastKey() throws {
    let store = try StoreFactory.standard.open(.inMemory, try TestModel.model(indexed: true))
    let employee = try #require(store.schema.entity(named: "Employee")).number
    var change = StoreChange(view: store.view(), schema: store.schema, durability: .relaxed)
    for id in 1...3 {
      let object = TestObject(reference: ObjectReference(entity: employee, id: UInt64(id)), values: [:])
      change.puts.append(object.reference, try TestGraph.row(of: object, store.schema))
    }
    let view = try store.commit(change)
    let index = try #require(store.schema.index(named: "attr/-2@3"))
    #expect(try view.entryCount(index, .equal([0xFF])) == 3)
    #expect(try view.entryCount(index, .prefix([0xFF])) == 3)
    #expect(try view.entryCount(index, KeyRange(lower: [0xFF, 0], upper: nil)) == 0)
  }

  // MARK: Changes

  /// Returns mostly unchanged objects, with some replaced, removed and new objects. Unique keys
  /// sometimes collide.
  private func next(
    _ objects: [ObjectReference: TestObject], _ random: inout SeededGenerator, changePercent: Int = 30
  ) throws -> [ObjectReference: TestObject] {
    var new: [ObjectReference: TestObject] = [:]
    for var object in try TestGraph.objects(&random, employees: 12) {
      if let old = objects[object.reference], !random.chance(changePercent) { object = old }
      if random.chance(90) { new[object.reference] = object }
    }
    if random.chance(30) {
      let staff = new.keys.filter { new[$0]?.values["big"] != nil }.sorted { $0.rawValue < $1.rawValue }
      for reference in staff.prefix(2) { new[reference]?.values["big"] = .integer(-5) }
    }
    return new
  }

  /// Returns the refusals of a commit. Empty if the commit succeeds.
  private func result(_ commit: () throws -> any StoreView) -> Set<String> {
    do {
      _ = try commit()
      return []
    } catch let conflict as StoreConflict {
      // Ignores which of two new rows was refused, because the stores may refuse different ones.
      return Set(conflict.duplicates.map { "\($0.index) \($0.key)" } + conflict.failed.map { "\($0)" })
    } catch {
      return ["\(error)"]
    }
  }

  // MARK: Comparing

  private func compare(_ pair: Pair, _ random: inout SeededGenerator) throws {
    let (log, naive) = (pair.log.view(), pair.naive.view())
    for entity in pair.log.schema.entities.compactMap({ $0 }) where entity.layouts != nil {
      #expect(try log.rowCount(entity: entity.number) == naive.rowCount(entity: entity.number))
      for descending in [false, true] {
        #expect(
          try rows(log, entity.number, descending) == rows(naive, entity.number, descending))
      }
    }
    for position in pair.log.schema.indexes.indices {
      let index = StoreIndex(rawValue: position)
      let name = Comment(rawValue: pair.log.schema.indexes[position].name)
      let all = try entries(naive, index, .all, false)
      #expect(try entries(log, index, .all, false) == all, name)
      try compareReferences(log, naive, index, all)
      for _ in 0..<4 {
        let range = self.range(all, &random)
        let expected = try entries(naive, index, range, true)
        #expect(try entries(log, index, range, true) == expected, name)
        #expect(try log.entryCount(index, range) == expected.count, name)
      }
    }
  }

  /// Compares the members, and their rows, of each key of eight bytes and of a key without entries.
  private func compareReferences(
    _ log: any StoreView, _ naive: any StoreView, _ index: StoreIndex, _ all: [Entry]
  ) throws {
    let keys = Set(all.map(\.key).filter { $0.count == 8 })
    let owners = keys.map { ObjectReference(rawValue: $0.reduce(0) { $0 << 8 | UInt64($1) }) }
    for owner in owners + [ObjectReference(rawValue: 1)] {
      var (found, expected): ([ObjectReference], [ObjectReference]) = ([owner], [owner])
      try log.appendReferences(under: owner, in: index, to: &found)
      try naive.appendReferences(under: owner, in: index, to: &expected)
      #expect(found == expected)
      try found.withUnsafeBufferPointer { references in
        var rows = [[UInt8]?](repeating: nil, count: references.count)
        try log.readAhead(references, bytesMax: .max) { rows[$0] = Array($1.bytes) }
        let same = try references.map { try naive.withRow($0) { $0.map { Array($0.bytes) } } }
        #expect(rows == same)
      }
    }
  }

  private func range(_ entries: [Entry], _ random: inout SeededGenerator) -> Perdure.KeyRange {
    guard !entries.isEmpty else { return .all }
    let (left, right) = (random.pick(entries).key, random.pick(entries).key)
    switch Int.random(in: 0..<3, using: &random) {
    case 0: return .equal(left)
    case 1: return .prefix(left)
    default:
      return left.lexicographicallyPrecedes(right)
        ? KeyRange(lower: left, upper: right) : KeyRange(lower: right, upper: nil)
    }
  }

  private func rows(_ view: any StoreView, _ entity: UInt16, _ descending: Bool) throws -> [[UInt8]] {
    var rows: [[UInt8]] = []
    try view.visitRows(entity: entity, descending: descending) { reference, row in
      rows.append(withUnsafeBytes(of: reference.rawValue) { Array($0) } + Array(row.bytes))
      return true
    }
    return rows
  }

  private func entries(
    _ view: any StoreView, _ index: StoreIndex, _ range: Perdure.KeyRange, _ descending: Bool
  ) throws -> [Entry] {
    var entries: [Entry] = []
    try view.visitEntries(index, range, descending: descending) { key, reference in
      entries.append(Entry(key: Array(key), reference: reference))
      return true
    }
    return entries
  }

  // MARK: Preconditions

  private enum Question {
    case unchanged(ObjectReference), exists(ObjectReference), range(StoreIndex, Perdure.KeyRange)
  }

  private func question(
    _ objects: [ObjectReference: TestObject], _ random: inout SeededGenerator
  ) -> Question {
    let references = objects.keys.sorted { $0.rawValue < $1.rawValue }
    let reference = random.pick(references)
    switch Int.random(in: 0..<3, using: &random) {
    case 0: return .unchanged(reference)
    case 1: return .exists(reference)
    // Ranges of relations and links, for one owner.
    default: return .range(StoreIndex(rawValue: Int.random(in: 0..<6, using: &random)), .owner(reference))
    }
  }

  /// Returns for each precondition whether it fails, in a change without rows that is based on an
  /// older view.
  private func failed(
    _ questions: [Question], _ store: any PersistentStore, _ view: any StoreView
  ) throws -> [Bool] {
    try questions.map { question in
      var change = StoreChange(view: view, schema: view.schema, durability: .relaxed)
      switch question {
      case .unchanged(let reference):
        guard let version = try view.version(of: reference) else { return false }
        change.preconditions = [.rowUnchanged(reference, version)]
      case .exists(let reference): change.preconditions = [.rowExists(reference)]
      case .range(let index, let range): change.preconditions = [.rangeUnchanged(index, range)]
      }
      return !result { try store.commit(change) }.isEmpty
    }
  }
}
