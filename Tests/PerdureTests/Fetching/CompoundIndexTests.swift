import FoundationEssentials
import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Compound indexes")
struct CompoundIndexTests {
  /// One attribute of each type, named after the type, and a relationship.
  private static let columns: [(name: String, kind: FieldKind)] = [
    ("bool", .bool), ("int16", .int16), ("int32", .int32), ("int64", .int64), ("float", .float),
    ("double", .double), ("date", .date), ("uuid", .uuid), ("decimal", .decimal), ("string", .string),
    ("data", .data), ("url", .url), ("next", .reference),
  ]
  private static let properties: [PropertyDescription] = [
    .boolean("bool"), .int16("int16"), .int32("int32"), .int64("int64"), .float("float"), .double("double"),
    .date("date"), .uuid("uuid"), .decimal("decimal"), .string("string"), .binary("data"), .uri("url"),
    .toOne("next", "Item", inverse: "earlier"), .toMany("earlier", "Item", inverse: "next"),
  ]

  private static func schema(_ indexes: [FetchIndexDescription]) throws -> StoreSchema {
    let item = EntityDescription("Item", properties: properties, indexes: indexes)
    let part = EntityDescription("Part", superentity: "Item", properties: [.int64("extra")])
    return StoreSchema(try .initial(for: ManagedObjectModel([item, part])))
  }

  // MARK: Random indexes and requests

  @Test("Fetches by any compound index give the same results as evaluating each object")
  func differential() throws {
    var random = SeededGenerator.forTest("compound indexes")
    var ordered = 0
    var prefixes: [Int: Int] = [:]
    for _ in 0..<15 {
      // There are few columns and few values. So indexes share columns, and keys share prefixes.
      let columns = Array(Self.columns.shuffled(using: &random).prefix(4))
      let values = columns.map { column in (0..<3).map { _ in RandomValue.of(column.kind, &random) } }
      let indexes = (0..<4).map { number in
        let elements = columns.shuffled(using: &random).prefix(Int.random(in: 1...4, using: &random))
        return FetchIndexDescription(
          "i\(number)", elements.map { .init($0.name, ascending: random.chance(50)) })
      }
      let schema = try Self.schema(indexes)
      let graph = try TestGraph(Self.objects(columns, values, schema, &random), schema)
      for _ in 0..<40 {
        var asking = Asking(columns: columns, values: values, indexes: indexes, random: random)
        let query = asking.query(schema.entity(named: "Item")!.number)
        random = asking.random
        for plan in try AllPlans(graph: graph, query: query).compared() {
          guard case .index = plan.access else { continue }
          if plan.isOrdered, !query.order.isEmpty { ordered += 1 }
          prefixes[plan.description.prefixLength, default: 0] += 1
        }
      }
    }
    #expect(ordered > 0)
    for length in 0...3 { #expect(prefixes[length, default: 0] > 0, "\(prefixes)") }
  }

  private static func objects(
    _ columns: [(name: String, kind: FieldKind)], _ values: [[Value]], _ schema: StoreSchema,
    _ random: inout SeededGenerator
  ) -> [TestObject] {
    (1...40).map { number in
      let entity = schema.entity(named: number % 4 == 0 ? "Part" : "Item")!.number
      var object = TestObject(reference: ObjectReference(entity: entity, id: UInt64(number)), values: [:])
      for (column, choice) in zip(columns, values) {
        object.values[column.name] = random.chance(20) ? .null : random.pick(choice)
      }
      return object
    }
  }

  /// Makes queries about some columns, with the values that objects have.
  private struct Asking {
    let columns: [(name: String, kind: FieldKind)]
    let values: [[Value]]
    let indexes: [FetchIndexDescription]
    var random: SeededGenerator

    mutating func query(_ entity: UInt16) -> FetchQuery {
      var query = FetchQuery(entity: entity)
      query.includesSubentities = random.chance(80)
      query.predicate = .and((0..<Int.random(in: 0...3, using: &random)).map { _ in comparison() })
      if random.chance(80) { query.order = order() }
      if random.chance(40) { query.limit = Int.random(in: 0...9, using: &random) }
      if random.chance(30) { query.offset = Int.random(in: 0...5, using: &random) }
      return query
    }

    private mutating func comparison() -> FetchPredicate {
      let place = Int.random(in: columns.indices, using: &random)
      let kind = columns[place].kind
      func value() -> Value { random.chance(10) ? .null : random.pick(values[place]) }
      var operators: [FetchComparison.Operator] = [.equal, .equal, .equal, .in, .notEqual]
      if kind != .reference {
        operators += [.lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .between]
      }
      if kind == .string { operators.append(.beginsWith) }
      let op = random.pick(operators)
      let right: Value =
        switch op {
        case .between: .list([value(), value()])
        case .in: .list((0..<Int.random(in: 0...3, using: &random)).map { _ in value() })
        default: value()
        }
      return .comparison(FetchComparison(.keyPath(PropertyPath(columns[place].name)), op, .constant(right)))
    }

    /// Returns the order of an index or its reverse. Sometimes an element is missing, or the
    /// elements are shuffled.
    private mutating func order() -> [FetchOrder] {
      let isReversed = random.chance(50)
      var order = random.pick(indexes).elements.map {
        FetchOrder($0.propertyName, ascending: $0.isAscending != isReversed)
      }
      if random.chance(30) { order.remove(at: Int.random(in: order.indices, using: &random)) }
      if random.chance(15) { order.shuffle(using: &random) }
      return order
    }
  }

  // MARK: Plans

  private static let staff = [
    FetchIndexDescription(
      "abc", [.init("int32"), .init("string", ascending: false), .init("date")]),
    FetchIndexDescription(on: "int32"),
  ]

  /// Every combination of 4 values of int32, 5 of string and 5 of date: 100 objects.
  private func staff() throws -> TestGraph {
    let schema = try Self.schema(Self.staff)
    let entity = schema.entity(named: "Item")!.number
    let objects = (0..<100).map { number in
      var object = TestObject(
        reference: ObjectReference(entity: entity, id: UInt64(number + 1)), values: [:])
      object.values["int32"] = .integer(Int64(number % 4))
      object.values["string"] = .string("s\(number / 4 % 5)")
      object.values["date"] = .date(Date(timeIntervalSinceReferenceDate: Double(number / 20)))
      return object
    }
    return try TestGraph(objects, schema)
  }

  /// Returns the best plan and the number of rows that it reads.
  private func run(
    _ graph: TestGraph, _ predicate: String, _ order: [FetchOrder] = [], limit: Int? = nil
  ) throws -> (plan: FetchPlan, rowsRead: Int) {
    var query = FetchQuery(entity: graph.schema.entity(named: "Item")!.number)
    query.predicate = try FetchPredicate(format: predicate)
    (query.order, query.limit) = (order, limit)
    let view = graph.store.view()
    let fetch = try PreparedFetch(query, graph.schema)
    let plan = FetchPlanner.plan(fetch, FetchStatistics(view))
    let counting = CountingView(view)
    let found = try FetchExecutor(fetch, plan, view: counting).references()
    #expect(try found == NaiveFetch.references(query, graph) || order.isEmpty)
    return (plan, counting.rowsRead)
  }

  @Test("A fetch uses the longest bounded prefix of a compound index and reads no other rows")
  func longestPrefix() throws {
    let graph = try staff()
    let one = try run(graph, "int32 == 1")
    #expect(one.plan.candidateCount == 25)
    let two = try run(graph, "int32 == 1 AND string == 's2'")
    #expect((two.plan.candidateCount, two.rowsRead) == (5, 5))
    #expect(two.plan.description.contains("1 range by int32, string"))
    let range = try run(graph, "int32 == 1 AND string > 's2'")
    #expect((range.plan.candidateCount, range.rowsRead) == (10, 10))
    let three = try run(graph, "string == 's2' AND int32 IN {1, 3} AND date > CAST(2, 'NSDate')")
    #expect((three.plan.candidateCount, three.rowsRead) == (4, 4))
    #expect(three.plan.residual == .true)
    // The index cannot use a bound after a gap. The fetch compares the rows instead.
    let gap = try run(graph, "int32 == 1 AND date == CAST(2, 'NSDate')")
    #expect((gap.plan.candidateCount, gap.rowsRead) == (25, 25))
  }

  @Test(
    "A compound index serves an order in both directions, and skips columns that the predicate compares with =="
  )
  func orders() throws {
    let graph = try staff()
    let (up, down) = (FetchOrder("date"), FetchOrder("string", ascending: false))
    let whole = try run(graph, "TRUEPREDICATE", [FetchOrder("int32"), down, up], limit: 3)
    #expect(whole.plan.isOrdered)
    #expect(whole.rowsRead == 3)
    let opposite = try run(
      graph, "TRUEPREDICATE",
      [FetchOrder("int32", ascending: false), FetchOrder("string"), FetchOrder("date", ascending: false)],
      limit: 3)
    #expect(opposite.plan.isOrdered && opposite.plan.isReversed)
    #expect(opposite.rowsRead == 3)
    #expect(try run(graph, "int32 == 2", [down, up], limit: 3).rowsRead == 3)
    #expect(try run(graph, "int32 == 2 AND string == 's1'", [up], limit: 3).rowsRead == 3)
    // The fixed property may also be a sort descriptor, or the last column of the index.
    #expect(try run(graph, "int32 == 2", [down, FetchOrder("int32"), up], limit: 3).rowsRead == 3)
    #expect(try run(graph, "int32 IN {1, 2} AND string == 's1'", [FetchOrder("int32"), up]).plan.isOrdered)
    let behind = try run(
      graph, "int32 > 1 AND date == CAST(3, 'NSDate')", [FetchOrder("int32"), down], limit: 3)
    #expect(behind.plan.isOrdered)
    // Only one of the two directions differs from the index, so the fetch has to sort.
    #expect(try !run(graph, "int32 == 2", [FetchOrder("string"), up], limit: 3).plan.isOrdered)
  }
}

extension String {
  /// The number of properties in the ranges of a plan's description.
  fileprivate var prefixLength: Int {
    guard let line = split(separator: "\n").first(where: { $0.hasPrefix("  from") }) else { return 0 }
    guard let by = line.range(of: " by ") else { return 0 }
    return line[by.upperBound...].split(separator: ",").count
  }
}

extension StringProtocol {
  fileprivate func range(of part: String) -> Range<Index>? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(part) { return start..<index(start, offsetBy: part.count) }
      formIndex(after: &start)
    }
    return nil
  }
}
