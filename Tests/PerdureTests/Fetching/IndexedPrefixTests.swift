import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Fetching by a prefix of an indexed text")
struct IndexedPrefixTests {
  private static let texts =
    RandomValue.texts + [
      "e\u{323}", "e\u{323}\u{301}", "ex", "ébene", "e\u{0}", "각각", "가각", "나", "日", "日本語",
      "\u{1F600}\u{1F3FD}",
      "\u{1F600}a", "a\u{345}", "\u{301}", "\u{301}a",
    ]

  private static func container() throws -> PersistentContainer {
    let item = EntityDescription(
      "Item", properties: [.string("name"), .string("code")], indexes: [["name"]],
      uniquenessConstraints: [["code"]])
    let container = PersistentContainer(
      name: "Items", model: try ManagedObjectModel([item]), classes: [], description: .inMemory,
      factory: StoreKind.current.factory)
    try container.loadPersistentStores()
    return container
  }

  private static func request(_ key: String, _ prefix: String) throws -> FetchRequest<ManagedObject> {
    FetchRequest<ManagedObject>(
      entityName: "Item",
      predicate: try FetchPredicate(format: "%K BEGINSWITH %@", argumentArray: [key, prefix]))
  }

  /// Returns a text that is joined from short texts, so that one result is often a prefix of
  /// another.
  private static func text(_ random: inout SeededGenerator) -> String {
    (0..<Int.random(in: 1...3, using: &random)).map { _ in random.pick(texts) }.joined()
  }

  /// Expects the same result with and without a plan. A limit above the count forces a plan.
  private func expectAsPlanned(
    _ prefix: String, _ key: String, _ context: ManagedObjectContext
  ) throws -> Int {
    var request = try Self.request(key, prefix)
    let (objects, ids) = (try context.fetch(request).map(\.objectID), try context.fetchIDs(request))
    let count = try context.count(for: request)
    request.fetchLimit = 1_000_000
    let planned = try context.fetch(request).map(\.objectID)
    #expect(objects == planned, "\(key) \(prefix.debugDescription)")
    #expect(ids == planned && count == planned.count, "\(key) \(prefix.debugDescription)")
    return count
  }

  /// - Parameter numbers: The numbers at the ends of the codes. They make the codes unique, because
  ///   no text contains a digit.
  private func fill(
    _ context: ManagedObjectContext, _ random: inout SeededGenerator, _ numbers: Range<Int>
  ) {
    for number in numbers {
      let item = context.insertNewObject(forEntityName: "Item")
      if random.chance(95) { item.setValue(Self.text(&random), forKey: "name") }
      if random.chance(95) { item.setValue(Self.text(&random) + "\(number)", forKey: "code") }
    }
  }

  @Test("A fetch by prefix finds the same objects with and without a plan, even in child contexts")
  func differential() throws {
    var random = SeededGenerator.forTest("prefixes")
    let context = try Self.container().newContext()
    fill(context, &random, 0..<600)
    try context.save()
    let child = context.newChildContext()
    fill(child, &random, 600..<650)
    try child.save()
    var found = 0
    for round in 0..<3 {
      // Round 0 uses the child while the parent has unsaved changes. Round 1 uses the parent before
      // it saves, and round 2 uses the parent after it saves.
      let asked = round == 0 ? child : context
      if round == 2 { try context.save() }
      for prefix in Self.texts + (0..<60).map({ _ in Self.text(&random) }) {
        found += try expectAsPlanned(prefix, "name", asked)
        found += try expectAsPlanned(prefix, "code", asked)
      }
    }
    #expect(found > 0)
  }

  @Test("A prefix matches only whole characters: not a letter without its mark, or a part of a syllable")
  func boundaries() throws {
    let context = try Self.container().newContext()
    for name in ["e", "ea", "é", "e\u{301}a", "각", "가", "", "日本"] {
      context.insertNewObject(forEntityName: "Item").setValue(name, forKey: "name")
    }
    // Adds other objects, so that the index finds only a part of the objects.
    for _ in 0..<60 { context.insertNewObject(forEntityName: "Item").setValue("z", forKey: "name") }
    try context.save()
    func names(_ prefix: String) throws -> [String] {
      try context.fetch(try Self.request("name", prefix)).compactMap { $0.value(forKey: "name") as? String }
    }
    #expect(try names("e") == ["e", "ea"])
    #expect(try names("\u{E9}") == ["é", "éa"])
    #expect(try names("가") == ["가"])
    #expect(try names("日") == ["日本"])
    #expect(try names("").count == 68)
  }

  @Test(
    "Prefixes of any length find texts that are longer than the indexed part",
    arguments: [10, 64_990, 64_998, 70_000])
  func long(length: Int) throws {
    let context = try Self.container().newContext()
    let front = String(repeating: "x", count: length)
    for end in ["", "a", "\u{301}", "\u{1F600}", "日", "日\u{301}"] {
      context.insertNewObject(forEntityName: "Item").setValue(front + end, forKey: "name")
    }
    for _ in 0..<20 { context.insertNewObject(forEntityName: "Item").setValue("y", forKey: "name") }
    try context.save()
    for end in ["", "a", "\u{301}", "日"] { _ = try expectAsPlanned(front + end, "name", context) }
    #expect(try context.count(for: Self.request("name", front)) == 5)
  }

  @Test("A count by prefix reads no rows, and reads an index entry only if its match is uncertain")
  func counted() throws {
    let context = try Self.container().newContext()
    for number in 0..<40 {
      let name = number < 10 ? "ab\u{301}" : "ab\(number)"
      context.insertNewObject(forEntityName: "Item").setValue(name, forKey: "name")
    }
    try context.save()
    let schema = context.core.graph.store
    var query = FetchQuery(entity: try #require(schema.entity(named: "Item")).number)
    query.predicate = try FetchPredicate(format: "name BEGINSWITH 'ab'")
    let view = CountingView(context.core.viewState.view)
    #expect(try IndexedRange(query, schema)?.count(in: view) == 30)
    #expect(view.entriesRead == 10 && view.rowsRead == 0)
  }
}
