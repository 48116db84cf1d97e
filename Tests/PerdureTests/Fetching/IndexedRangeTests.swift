import Foundation
import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Fetching by a range of one index")
struct IndexedRangeTests {
  private static let entities = [
    EntityDescription(
      "Thing", isAbstract: true, properties: [.string("code"), .int64("serial")],
      uniquenessConstraints: [["code"], ["serial"]]),
    EntityDescription(
      "Item", superentity: "Thing",
      properties: [
        .date("born"), .uuid("identifier"), .double("size"), .int16("left"), .int16("right"), .string("note"),
        .int32("rank"), .string("group"), .string("place"), .int64("floor"), .double("share"),
      ],
      indexes: [
        ["rank"], ["group"], ["place"], ["place", "floor"], [.descending("floor")], ["share"],
      ],
      uniquenessConstraints: [["born"], ["identifier"], ["size"], ["left", "right"]]),
    EntityDescription("Part", superentity: "Item", properties: []),
    EntityDescription("Other", superentity: "Thing", properties: []),
  ]

  private static func context() throws -> ManagedObjectContext {
    let container = PersistentContainer(
      name: "Things", model: try ManagedObjectModel(entities), classes: [], description: .inMemory,
      factory: StoreKind.current.factory)
    try container.loadPersistentStores()
    return container.newContext()
  }

  private static func key(
    _ format: String, _ arguments: [(any PredicateArgument)?] = [], of entity: String,
    _ change: (inout FetchQuery) -> Void = { _ in }
  ) throws -> IndexedRange? {
    let schema = StoreSchema(try StoredModel.initial(for: ManagedObjectModel(entities)))
    var query = FetchQuery(entity: try #require(schema.entity(named: entity)).number)
    query.predicate = try FetchPredicate(format: format, argumentArray: arguments)
    change(&query)
    return IndexedRange(query, schema)
  }

  @Test("An equality with a complete unique key is executed without the planner")
  func recognised() throws {
    #expect(try Self.key("code == 'a'", of: "Thing") != nil)
    #expect(try Self.key("serial == 5", of: "Thing") != nil)
    #expect(try Self.key("serial == 5", of: "Thing", { $0.limit = 1 }) != nil)
    let born = FetchPredicate.comparison(.init(.keyPath(.init("born")), .equal, .constant(.date(Date()))))
    #expect(try Self.key("TRUEPREDICATE", of: "Item", { $0.predicate = born }) != nil)
    #expect(try Self.key("identifier == %@", [UUID()], of: "Item") != nil)
  }

  @Test(
    "The planner handles any other comparison",
    arguments: [
      ("code == nil", "Thing"), ("code ==[c] 'a'", "Thing"), ("code ==[n] 'a'", "Thing"),
      ("code != 'a'", "Thing"), ("code == 5", "Thing"), ("code IN {'a'}", "Thing"),
      ("serial == 1 AND code == 'a'", "Thing"), ("serial == 'a'", "Thing"), ("nothing == 1", "Thing"),
      ("lowercase:(code) == 'a'", "Thing"), ("ANY code == 'a'", "Thing"), ("NOT code == 'a'", "Thing"),
      ("code == serial", "Thing"), ("code == 'a'", "Item"), ("note == 'a'", "Item"), ("left == 1", "Item"),
      ("size == 1.5", "Item"),
    ])
  func planned(format: String, entity: String) throws {
    #expect(try Self.key(format, of: entity) == nil)
  }

  @Test(
    "A range of the only index on an attribute is executed without the planner",
    arguments: [
      "rank == 5", "rank < 5", "rank >= 5", "rank >= 5 AND rank < 9", "rank > 1 AND rank >= 2 AND rank < 4",
      "group == 'a'", "group >= 'a' AND group < 'b'", "rank BETWEEN {1, 5}", "group BEGINSWITH 'a'",
      "group BEGINSWITH ''",
    ])
  func ranges(format: String) throws {
    let range = try #require(try Self.key(format, of: "Item"))
    #expect(!range.isUniqueKey)
  }

  @Test(
    "The planner handles conditions that are not one range of the only index on an attribute",
    arguments: [
      "place == 'a'", "floor == 1", "share > 1", "rank > 1 AND group == 'a'", "rank > 5 AND rank < 2",
      "rank != 1", "rank IN {1, 2}", "rank > 1 OR rank < 0", "group LIKE 'a*'",
      "group BEGINSWITH[c] 'a'", "group BEGINSWITH[n] 'a'", "group BEGINSWITH 'a' AND group < 'b'",
      "rank BETWEEN {1, 'a'}", "rank BETWEEN {1}", "rank BETWEEN {1, nil}", "group <[c] 'b'", "rank == nil",
      "rank < 'a'", "identifier > 5", "rank > left", "left < 5",
    ])
  func plannedRanges(format: String) throws {
    #expect(try Self.key(format, of: "Item") == nil)
  }

  @Test("The planner handles ranges with a limit, a sort descriptor or fewer entities than the index")
  func unusualRanges() throws {
    #expect(try Self.key("rank > 5", of: "Item", { $0.limit = 3 }) == nil)
    #expect(try Self.key("rank > 5", of: "Item", { $0.order = [FetchOrder("rank")] }) == nil)
    #expect(try Self.key("rank > 5", of: "Part") == nil)
    #expect(try Self.key("rank > 5", of: "Item", { $0.includesSubentities = false }) == nil)
  }

  @Test("If there is also a partial index, the planner chooses the index")
  func partial() throws {
    let entity = EntityDescription(
      "Item", properties: [.int32("rank"), .int32("size")],
      indexes: [["rank"], .init("large", ["size"], where: "rank > 5")])
    let schema = StoreSchema(try StoredModel.initial(for: ManagedObjectModel([entity])))
    var query = FetchQuery(entity: try #require(schema.entity(named: "Item")).number)
    query.predicate = try FetchPredicate(format: "rank > 7")
    #expect(IndexedRange(query, schema) == nil)
  }

  @Test("The planner handles requests with a sort descriptor, an offset, a limit of 0 or without subentities")
  func unusual() throws {
    #expect(try Self.key("code == 'a'", of: "Thing", { $0.includesSubentities = false }) == nil)
    #expect(try Self.key("code == 'a'", of: "Thing", { $0.order = [FetchOrder("serial")] }) == nil)
    #expect(try Self.key("code == 'a'", of: "Thing", { $0.offset = 1 }) == nil)
    #expect(try Self.key("code == 'a'", of: "Thing", { $0.limit = 0 }) == nil)
  }

  /// Compares the results of a fetch without a plan with those of the planner. A sort descriptor
  /// forces a plan. Returns the number of results.
  private func expectSame(
    _ format: String, _ arguments: [(any PredicateArgument)?], _ entity: String,
    _ context: ManagedObjectContext
  ) throws -> Int {
    var request = FetchRequest<ManagedObject>(
      entityName: entity, predicate: try FetchPredicate(format: format, argumentArray: arguments))
    let direct = try context.fetch(request).map(\.objectID)
    let plan = try context.explain(request)
    #expect(plan.contains("unique index"), "\(plan)")
    request.includesPropertyValues = false
    #expect(try context.fetch(request).map(\.objectID) == direct)
    request.sortDescriptors = [FetchOrder("serial")]
    #expect(try context.fetch(request).map(\.objectID) == direct, "\(format) \(arguments)")
    #expect(try context.count(for: request) == direct.count)
    return direct.count
  }

  @Test("A fetch by unique key finds the same objects as a plan, before and after a save")
  func differential() throws {
    var random = SeededGenerator.forTest("indexed ranges")
    let context = try Self.context()
    let texts =
      RandomValue.texts + ["é", "e\u{301}", "E", "a ", "a\u{0}", String(repeating: "x", count: 300)]
    var dates: [Date] = []
    for number in 0..<40 {
      let entity = random.pick(["Item", "Part", "Other"])
      let thing = context.insertNewObject(forEntityName: entity)
      let text = random.pick(texts)
      let request = FetchRequest<ManagedObject>(
        entityName: "Thing", predicate: try FetchPredicate(format: "code == %@", text))
      if try context.fetch(request).isEmpty { thing.setValue(text, forKey: "code") }
      thing.setValue(Int64(number), forKey: "serial")
      if entity != "Other", random.chance(70) {
        let date = Date(timeIntervalSinceReferenceDate: Double(number) / 7)
        dates.append(date)
        thing.setValue(date, forKey: "born")
      }
      if number % 8 == 7 { try context.save() }
    }
    try context.save()
    for pending in [false, true] {
      if pending {
        let some = try context.fetch(FetchRequest<ManagedObject>(entityName: "Thing"))
        some[3].setValue("renamed", forKey: "code")
        some[4].setValue(nil, forKey: "code")
        context.delete(some[5])
      }
      var found = 0
      for text in texts + ["renamed", "", "nobody"] {
        found += try expectSame("code == %@", [text], "Thing", context)
      }
      #expect(found > 0)
      for number in [0, 3, 39, 40, -1] {
        _ = try expectSame("serial == %@", [Int64(number)], "Thing", context)
      }
      for date in dates.prefix(5) { _ = try expectSame("born == %@", [date], "Item", context) }
    }
  }

  @Test("Fetches by range return the same objects in the same order as planned fetches")
  func rangeDifferential() throws {
    var random = SeededGenerator.forTest("ranges of an index")
    let context = try Self.context()
    for number in 0..<1500 {
      let item = context.insertNewObject(forEntityName: random.pick(["Item", "Part"]))
      item.setValue(Int64(number), forKey: "serial")
      if random.chance(95) { item.setValue(Int32.random(in: 0..<1000, using: &random), forKey: "rank") }
      if random.chance(95) { item.setValue(random.pick(RandomValue.texts), forKey: "group") }
      item.setValue(Date(timeIntervalSinceReferenceDate: Double(number) / 3), forKey: "born")
    }
    try context.save()
    for _ in 0..<30 {
      let low = Int32.random(in: 0..<1000, using: &random)
      let high = low + Int32.random(in: 0..<(random.chance(80) ? 20 : 1000), using: &random)
      let text = random.pick(RandomValue.texts)
      let date = Date(timeIntervalSinceReferenceDate: Double(Int.random(in: 0..<1000, using: &random)))
      try expectAsPlanned("rank >= %@ AND rank < %@", [low, high], context)
      try expectAsPlanned("rank == %@", [low], context)
      try expectAsPlanned("rank > %@", [low], context)
      try expectAsPlanned("group == %@", [text], context)
      try expectAsPlanned("group > %@ AND group <= %@", [text, random.pick(RandomValue.texts)], context)
      try expectAsPlanned("born <= %@", [date], context)
      try expectAsPlanned("rank BETWEEN {%@, %@}", [low, high], context)
    }
  }

  /// Expects the same result with and without a plan. A limit above the count forces a plan.
  private func expectAsPlanned(
    _ format: String, _ arguments: [(any PredicateArgument)?], _ context: ManagedObjectContext
  ) throws {
    var request = FetchRequest<ManagedObject>(
      entityName: "Item", predicate: try FetchPredicate(format: format, argumentArray: arguments))
    let (objects, ids) = (try context.fetch(request).map(\.objectID), try context.fetchIDs(request))
    let (count, plan) = (try context.count(for: request), try context.explain(request))
    request.fetchLimit = 1_000_000
    #expect(try context.fetch(request).map(\.objectID) == objects, "\(format) \(arguments)\n\(plan)")
    #expect(ids == objects)
    #expect(count == objects.count)
    #expect(try context.fetchIDs(request) == ids)
  }

  @Test("A range is counted without reading its entries")
  func counted() throws {
    let context = try Self.context()
    for number in 0..<100 {
      let item = context.insertNewObject(forEntityName: "Item")
      item.setValue(Int64(number), forKey: "serial")
      item.setValue(Int32(number), forKey: "rank")
    }
    try context.save()
    let schema = context.core.graph.store
    var query = FetchQuery(entity: try #require(schema.entity(named: "Item")).number)
    query.predicate = try FetchPredicate(format: "rank >= 10 AND rank < 30")
    let view = CountingView(context.core.viewState.view)
    #expect(try IndexedRange(query, schema)?.count(in: view) == 20)
    #expect(view.entriesRead == 0 && view.rowsRead == 0)
    #expect(try IndexedRange(query, schema)?.references(in: view)?.count == 20)
    #expect(view.entriesRead == 20 && view.rowsRead == 0)
  }

  @Test("For a unique key of a wrong type or a negative limit, the planner's FetchError is thrown")
  func mistakes() throws {
    let context = try Self.context()
    for number in 0..<5 {
      context.insertNewObject(forEntityName: "Other").setValue(Int64(number), forKey: "serial")
    }
    try context.save()
    let wrong = FetchRequest<ManagedObject>(
      entityName: "Thing", predicate: try FetchPredicate(format: "serial == 'a'"))
    #expect(try Self.key("serial == 'a'", of: "Thing") == nil)
    let mismatch = #expect(throws: FetchError.self) { try context.fetch(wrong) }
    #expect(mismatch?.code == .typeMismatch)
    var negative = FetchRequest<ManagedObject>(
      entityName: "Thing", predicate: try FetchPredicate(format: "serial == 1"))
    #expect(try context.fetch(negative).count == 1)
    negative.fetchLimit = -1
    #expect(try Self.key("serial == 1", of: "Thing", { $0.limit = -1 }) == nil)
    let window = #expect(throws: FetchError.self) { try context.fetch(negative) }
    #expect(window?.code == .invalidWindow)
  }
}
