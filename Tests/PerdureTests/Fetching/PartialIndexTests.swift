import FoundationEssentials
import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Partial indexes")
struct PartialIndexTests {
  private static let properties: [PropertyDescription] = [
    .int32("size"), .string("name"), .double("weight"), .boolean("done"), .date("due"),
    .toOne("whole", "Item", inverse: "parts"), .toMany("parts", "Item", inverse: "whole"),
  ]

  private static func schema(_ indexes: [FetchIndexDescription]) throws -> StoreSchema {
    StoreSchema(
      try .initial(
        for: ManagedObjectModel([
          EntityDescription("Item", properties: properties, indexes: indexes),
          EntityDescription("Part", superentity: "Item", properties: [.int64("extra")]),
        ])))
  }

  // MARK: Random predicates and requests

  @Test("For any predicate of an index and any query, every plan finds the matching objects")
  func differential() throws {
    var random = SeededGenerator.forTest("partial indexes")
    var (used, unused) = (0, 0)
    for _ in 0..<8 {
      let conditions = (0..<4).map { _ in Self.condition(&random, depth: 2) }
      let schema = try Self.schema(
        conditions.enumerated().map { number, condition in
          FetchIndexDescription(
            "i\(number)", [.init(random.pick(["size", "name", "weight", "canonical:(name)"]))],
            partialPredicate: condition)
        })
      let graph = try Self.graph(schema, &random)
      for _ in 0..<45 {
        var query = FetchQuery(entity: schema.entity(named: "Item")!.number)
        var parts = (0..<Int.random(in: 0...2, using: &random)).map { _ in Self.comparison(&random) }
        // Often includes the predicate of an index in the request.
        if random.chance(60) { parts.append(random.pick(conditions)) }
        query.predicate = .and(parts.shuffled(using: &random))
        if random.chance(50) {
          query.order = [FetchOrder(random.pick(["size", "name", "weight"]), ascending: random.chance(50))]
        }
        if random.chance(30) { query.limit = 3 }
        let plans = try AllPlans(graph: graph, query: query).compared()
        let withIndex = plans.count { $0.description.contains(" where ") }
        used += withIndex
        unused += schema.indexes.count { $0.condition != nil } - withIndex
      }
    }
    #expect(used > 30 && unused > 30, "\(used) \(unused)")
  }

  private static func graph(_ schema: StoreSchema, _ random: inout SeededGenerator) throws -> TestGraph {
    try TestGraph(
      (1...50).map { number in
        let entity = schema.entity(named: number % 5 == 0 ? "Part" : "Item")!.number
        var object = TestObject(reference: ObjectReference(entity: entity, id: UInt64(number)), values: [:])
        for name in ["size", "name", "weight", "done", "due"] where random.chance(80) {
          object.values[name] = value(name, &random)
        }
        if random.chance(50) {
          object.values["whole"] = .reference(
            ObjectReference(entity: entity, id: UInt64.random(in: 1...50, using: &random)))
        }
        return object
      }, schema)
  }

  private static func value(_ name: String, _ random: inout SeededGenerator) -> Value {
    switch name {
    case "size": .integer(Int64.random(in: 0...5, using: &random))
    case "name": .string(random.pick(["", "a", "A", "ab", "é", "e\u{301}b", "É", "b"]))
    case "weight": .double(random.pick([0, -0.0, 1.5, .nan, .infinity, 3]))
    case "done": .bool(random.chance(50))
    default: .date(Date(timeIntervalSinceReferenceDate: random.pick([0, 1, 2, 3])))
    }
  }

  private static func condition(_ random: inout SeededGenerator, depth: Int) -> FetchPredicate {
    if depth > 0, random.chance(50) {
      let parts = (0..<2).map { _ in condition(&random, depth: depth - 1) }
      return random.pick([.and(parts), .or(parts), .not(parts[0])])
    }
    return comparison(&random)
  }

  private static func comparison(_ random: inout SeededGenerator) -> FetchPredicate {
    let name = random.pick(["size", "name", "weight", "done", "due", "whole"])
    var left = FetchExpression.keyPath(PropertyPath(name))
    let orders: [FetchComparison.Operator] = [
      .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .between,
    ]
    var operators: [FetchComparison.Operator] = [.equal, .equal, .notEqual]
    var options: StringOptions = []
    if name != "whole" { operators += orders + [.in] }
    if name == "name" {
      operators += [.beginsWith, .endsWith, .contains, .like]
      options = random.pick([[], .caseInsensitive, [.caseInsensitive, .diacriticInsensitive], .normalized])
      if random.chance(30) { left = .function(random.pick([.canonical, .lowercase, .uppercase]), [left]) }
    }
    let op = random.pick(operators)
    let right: Value =
      switch op {
      case .in: .list((0..<Int.random(in: 0...3, using: &random)).map { _ in value(name, &random) })
      case .between: .list([value(name, &random), value(name, &random)])
      case .equal, .notEqual: name == "whole" || random.chance(25) ? .null : value(name, &random)
      default: value(name, &random)
      }
    return .comparison(FetchComparison(left, op, .constant(right), options: options))
  }

  // MARK: Implication

  private func explain(
    _ condition: String, _ request: String, order: [FetchOrder] = []
  ) throws -> String {
    let schema = try Self.schema([
      FetchIndexDescription(
        "partial", [.init("size")], partialPredicate: try FetchPredicate(format: condition))
    ])
    var query = FetchQuery(entity: schema.entity(named: "Item")!.number)
    query.predicate = try FetchPredicate(format: request)
    query.order = order
    let statistics = FetchStatistics(entryCount: { _, _ in 3 }, rowCount: { _ in 1000 })
    return FetchPlanner.plan(try PreparedFetch(query, schema), statistics).description
  }

  @Test("A plan names its partial index, and does not repeat conditions that the predicate ensures")
  func description() throws {
    #expect(
      try explain("done == NO", "size > 3 AND done == NO") == """
        fetch Item
          from index on size where done == FALSE: 1 range by size
          candidates: 3 of 2000
        """)
    #expect(
      try explain("done == NO", "done == NO AND name == 'x'") == """
        fetch Item
          from index on size where done == FALSE: all of it
          candidates: 3 of 2000
          filter: name == "x"
        """)
  }

  @Test("A partial index serves only requests that imply its predicate")
  func implication() throws {
    for (condition, request) in [
      ("done == NO", "NO == done AND size == 1"), ("size > 5", "size == 7"), ("size > 5", "size IN {6, 8}"),
      ("size > 5", "size >= 6"), ("size != nil", "size < 3"),
      ("size > 5 AND done == NO", "done == NO AND size > 9"),
      ("size > 5 OR done == NO", "size == 6"), ("size > 5 OR done == NO", "done == NO"),
      ("name != nil", "name BEGINSWITH 'a'"), ("name != nil", "canonical:(name) == 'a' AND name == 'a'"),
      ("size BETWEEN {1, 9}", "size BETWEEN {2, 3}"), ("weight > 1", "weight > 1.5"),
      ("canonical:(name) == 'a'", "name ==[cd] 'Á'"), ("whole != nil", "whole != nil AND size == 1"),
      ("size == 1 OR size == 2", "size == 2"), ("TRUEPREDICATE", "size == 2"),
      ("due >= CAST(5, 'NSDate')", "due > CAST(5, 'NSDate')"),
    ] { #expect(try explain(condition, request).contains(" where "), "\(condition) for \(request)") }
    for (condition, request) in [
      ("done == NO", "size == 1"), ("done == NO", "done == YES"), ("size > 5", "size > 4"),
      ("size > 5", "size IN {5, 6}"), ("size != nil", "size == nil"), ("size > 5 AND done == NO", "size > 9"),
      ("size > 5", "size > 6 OR done == NO"), ("name == 'a'", "name ==[c] 'a'"),
      ("name BEGINSWITH 'ab'", "name BEGINSWITH 'a'"), ("NOT (size > 5)", "size < 3"),
      ("whole != nil", "size == 1"), ("weight > 1", "weight >= 1"),
    ] { #expect(try !explain(condition, request).contains(" where "), "\(condition) for \(request)") }
  }

  @Test("A partial index serves the order of requests that imply its predicate")
  func order() throws {
    let plan = try explain("done == NO", "done == NO", order: [FetchOrder("size")])
    #expect(plan.contains("size ascending, already sorted"), "\(plan)")
  }

  // MARK: Names

  private func name(
    _ condition: String, _ change: (inout [EntityDescription]) -> Void = { _ in }
  ) throws -> [String] {
    let index = FetchIndexDescription(
      "partial", [.init("size")], partialPredicate: try FetchPredicate(format: condition))
    var entities = [EntityDescription("Item", properties: Self.properties, indexes: [index])]
    change(&entities)
    let schema = StoreSchema(try .initial(for: ManagedObjectModel(entities)))
    return schema.indexes.filter { $0.name.hasPrefix("attr/") }
      .map { String(decoding: $0.parameters, as: UTF8.self) }
  }

  @Test("The name of a partial index identifies its predicate by property numbers, not by property names")
  func names() throws {
    let first = try name("done == NO AND size > 5")
    #expect(first == ["attr/1?2a1fd70de2478a5b where p4 == FALSE AND p1 > 5"])
    #expect(try name("done == NO AND size > 6") != first)
    let renamed = try name("ready == NO AND size > 5") { entities in
      entities[0].properties[3] = .boolean("ready")
    }
    #expect(renamed == first)
  }

  // MARK: Model errors

  @Test(
    "An index predicate that is invalid or uses derived, transient or related values is a model error",
    arguments: [
      "parts.@count > 1", "ANY parts.size == 1", "whole.size == 1", "whole == SELF", "size == extra",
      "size + 1 == 2", "name MATCHES 'a.*'", "due > now()", "missing == 1", "size == 'a'", "name > 5",
      "size BEGINSWITH '1'", "lowercase:(size) == 'a'", "length:(name) == 1", "SELF != nil",
      "SUBQUERY(parts, $p, $p.size > 1).@count > 0", "size IN $list", "size > nil", "parts == nil",
      "other == nil", "passing == 1", "count == 1",
    ])
  func errors(_ text: String) throws {
    let index = FetchIndexDescription(
      "partial", [.init("size")], partialPredicate: try FetchPredicate(format: text))
    let error = #expect(throws: ModelError.self) {
      _ = try ManagedObjectModel([
        EntityDescription(
          "Item",
          properties: Self.properties + [
            .int64("extra"), .toOne("other", "Item", inverse: "another"),
            .toOne("another", "Item", inverse: "other"), .transient("passing", .int64),
            .derived("count", "parts.@count"),
          ], indexes: [index])
      ])
    }
    let problem = try #require(error?.problems.first)
    #expect(problem.rule == .indexPredicate && problem.property == "partial", "\(problem)")
    #expect(!problem.remedy.isEmpty)
  }
}
