import Foundation
import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Fetching one object by a unique key")
struct UniqueKeyTests {
  private static let entities = [
    EntityDescription(
      "Thing", isAbstract: true, properties: [.string("code"), .int64("serial")],
      uniquenessConstraints: [["code"], ["serial"]]),
    EntityDescription(
      "Item", superentity: "Thing",
      properties: [
        .date("born"), .uuid("identifier"), .double("size"), .int16("left"), .int16("right"), .string("note"),
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
  ) throws -> UniqueKey? {
    let schema = StoreSchema(try StoredModel.initial(for: ManagedObjectModel(entities)))
    var query = FetchQuery(entity: try #require(schema.entity(named: entity)).number)
    query.predicate = try FetchPredicate(format: format, argumentArray: arguments)
    change(&query)
    return UniqueKey(query, schema)
  }

  @Test("A comparison for equality with a whole unique key is known as that")
  func recognised() throws {
    #expect(try Self.key("code == 'a'", of: "Thing") != nil)
    #expect(try Self.key("serial == 5", of: "Thing") != nil)
    #expect(try Self.key("serial == 5", of: "Thing", { $0.limit = 1 }) != nil)
    let born = FetchPredicate.comparison(.init(.keyPath(.init("born")), .equal, .constant(.date(Date()))))
    #expect(try Self.key("TRUEPREDICATE", of: "Item", { $0.predicate = born }) != nil)
    #expect(try Self.key("identifier == %@", [UUID()], of: "Item") != nil)
  }

  @Test(
    "Everything else is planned",
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

  @Test("Without sub-entities, an order, an offset and a limit of 0 are for the planner")
  func unusual() throws {
    #expect(try Self.key("code == 'a'", of: "Thing", { $0.includesSubentities = false }) == nil)
    #expect(try Self.key("code == 'a'", of: "Thing", { $0.order = [FetchOrder("serial")] }) == nil)
    #expect(try Self.key("code == 'a'", of: "Thing", { $0.offset = 1 }) == nil)
    #expect(try Self.key("code == 'a'", of: "Thing", { $0.limit = 0 }) == nil)
  }

  /// What a fetch without a plan finds, and what the planner does, whom an order brings in.
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

  @Test("It finds what a plan finds: any text, numbers, dates, ids, hits and misses, saved or not")
  func differential() throws {
    var random = SeededGenerator.forTest("unique keys")
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

  @Test("A mistake in such a request is the error that it always was")
  func mistakes() throws {
    let context = try Self.context()
    for number in 0..<5 {
      context.insertNewObject(forEntityName: "Other").setValue(Int64(number), forKey: "serial")
    }
    try context.save()
    let wrong = FetchRequest<ManagedObject>(
      entityName: "Thing", predicate: try FetchPredicate(format: "serial == 'a'"))
    #expect(throws: FetchError.self) { try context.fetch(wrong) }
    var negative = FetchRequest<ManagedObject>(
      entityName: "Thing", predicate: try FetchPredicate(format: "serial == 1"))
    negative.fetchLimit = -1
    #expect(throws: FetchError.self) { try context.fetch(negative) }
  }
}
