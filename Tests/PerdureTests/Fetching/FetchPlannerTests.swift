import PerdurePredicates
import Testing

@testable import Perdure

@Suite("Planning fetches")
struct FetchPlannerTests {
  /// Returns the plan for a store of 1000 employees, 100 managers, 50 companies and 20 tags. Every
  /// bounded range has `entries` entries, or `compoundEntries` if it bounds several components.
  private func explain(
    _ entity: String, _ format: String? = nil, _ arguments: [(any PredicateArgument)?] = [],
    order: [FetchOrder] = [], limit: Int? = nil, offset: Int = 0, entries: Int = 12,
    compoundEntries: Int? = nil, companies: Int = 50, indexed: Bool = true
  ) throws -> String {
    let schema = try TestModel.schema(indexed: indexed)
    var query = FetchQuery(entity: schema.entity(named: entity)!.number)
    query.predicate = try format.map { try FetchPredicate(format: $0, argumentArray: arguments) }
    query.order = order
    query.limit = limit
    query.offset = offset
    let rows = ["Employee": 1000, "Manager": 100, "Company": companies, "Tag": 20]
    let statistics = FetchStatistics(
      entryCount: { index, range in
        // The bound of a single number takes at most ten bytes.
        if range != .all { return range.lower.count > 10 ? compoundEntries ?? entries : entries }
        return schema.definition(index).entities.reduce(0) { $0 + (rows[schema.entity($1).name] ?? 0) }
      }, rowCount: { rows[schema.entity($0).name] ?? 0 })
    return FetchPlanner.plan(try PreparedFetch(query, schema), statistics).description
  }

  @Test("A sort by a path, or a join, does not use an index with mostly unrelated entries")
  func sparsePaths() throws {
    let order = [FetchOrder("company.name", ascending: false)]
    let many = try explain("Employee", nil, order: order, limit: 5)
    #expect(many.contains("in the order of the index on Company.name"), "\(many)")
    let sparse = try explain(
      "Employee", nil, order: order, limit: 5, entries: 1_000_000, companies: 1_000_000)
    #expect(sparse.contains("scan of"), "\(sparse)")
    let join = try explain("Employee", "company.name == 'x'", entries: 3)
    #expect(join.contains("is found by the index on Company.name"), "\(join)")
    let long = try explain("Employee", "company.name == 'x'", entries: 100_000, companies: 1_000_000)
    #expect(long.contains("scan of"), "\(long)")
  }

  @Test("An OR of conditions on different columns takes candidates from one index for each condition")
  func unions() throws {
    let union = try explain("Employee", "salary == 5 OR company.name == 'x'", entries: 3)
    #expect(union.contains("from the union of index on salary: 1 range by salary; "), "\(union)")
    #expect(union.contains("the index on Company.name") && !union.contains("filter"), "\(union)")
    let filtered = try explain(
      "Employee", "(salary == 5 AND name != 'y' OR SELF IN {}) AND name != 'x'", entries: 3)
    #expect(filtered.contains("index on salary") && filtered.contains("filter: "), "\(filtered)")
    let sorted = try explain(
      "Employee", "salary == 5 OR company.name == 'x'", order: [FetchOrder("mid")], limit: 3, entries: 3)
    #expect(sorted.contains("the union of") && sorted.contains("the first 3 kept"), "\(sorted)")
    let scan = try explain("Employee", "salary == 5 OR mid == 3", entries: 3)
    #expect(scan.contains("scan of"), "\(scan)")
    let many = try explain("Employee", "salary == 5 OR company.name == 'x'", entries: 100_000)
    #expect(many.contains("scan of"), "\(many)")
  }

  @Test("An index of the first criterion serves the first objects of an order with several criteria")
  func leadingOrders() throws {
    let order = [FetchOrder("salary", ascending: false), FetchOrder("name")]
    #expect(
      try explain("Employee", "mid > 3", order: order, limit: 5, offset: 2)
        == """
        fetch Employee
          from index on salary: all of it, from its end
          candidates: 1100 of 1100
          filter: mid > 3
          order: salary descending, name ascending, the first already sorted, until the first 7 are known
          window: at most 5 after the first 2
        """)
    let all = try explain("Employee", "mid > 3", order: order)
    #expect(all.contains("scan of") && all.contains("sorted"), "\(all)")
    let many = try explain("Employee", "mid > 3", order: order, limit: 500)
    #expect(many.contains("scan of"), "\(many)")
  }

  @Test("Without an index a fetch scans, filters and sorts")
  func scan() throws {
    #expect(
      try explain(
        "Employee", "salary > 5 AND name == 'x'", order: [FetchOrder("salary")], limit: 10, indexed: false)
          == """
          fetch Employee
            from scan of Employee, Manager
            candidates: 1100 of 1100
            filter: salary > 5 AND name == "x"
            order: salary ascending, the first 10 kept
            window: at most 10
          """)
  }

  @Test("An equality uses its index, and the other conditions become a filter")
  func equality() throws {
    #expect(
      try explain("Employee", "name == 'x' AND mid > 5") == """
        fetch Employee
          from index on name: 1 range by name
          candidates: 12 of 1100
          filter: mid > 5
          only: Employee, Manager
        """)
  }

  @Test("A compound index serves an equality and sorting by the following property")
  func equalityAndOrder() throws {
    #expect(
      try explain(
        "Employee", "age == 30", order: [FetchOrder("salary", ascending: false)], limit: 3) == """
          fetch Employee
            from index on age, salary descending: 1 range by age
            candidates: 12 of 1100
            order: salary descending, already sorted
            window: at most 3
          """)
    #expect(
      try explain("Employee", "age == 30", order: [FetchOrder("salary")], limit: 30, offset: 10) == """
        fetch Employee
          from index on age, salary descending: 1 range by age, from its end
          candidates: 12 of 1100
          order: salary ascending, already sorted
          window: at most 30 after the first 10
        """)
  }

  @Test("A range and an equality share a compound index")
  func compoundRange() throws {
    #expect(
      try explain("Employee", "age IN {30, 31} AND salary BETWEEN {1, 2}", entries: 50, compoundEntries: 2)
        == """
        fetch Employee
          from index on age, salary descending: 2 ranges by age, salary
          candidates: 4 of 1100
        """)
  }

  @Test("An OR over one property becomes ranges of its index, and overlapping ranges are merged")
  func or() throws {
    let plan = try explain("Employee", "salary < 5 OR salary <= 7 OR salary > 9 OR salary == nil")
    #expect(
      plan == """
        fetch Employee
          from index on salary: 3 ranges by salary
          candidates: 36 of 1100
        """)
    #expect(try explain("Employee", "salary < 5 OR mid > 3").contains("scan"))
  }

  @Test("A prefix uses the index, and candidates are checked again")
  func prefix() throws {
    #expect(
      try explain("Tag", "label BEGINSWITH 'ab'", entries: 3) == """
        fetch Tag
          from index on label: 1 range by label
          candidates: 3 of 20
          filter: label BEGINSWITH "ab"
        """)
  }

  @Test("A prefix with the case-insensitive option does not use the index")
  func prefixWithoutCase() throws {
    #expect(
      try explain("Tag", "label BEGINSWITH[c] 'ab'") == """
        fetch Tag
          from scan of Tag
          candidates: 20 of 20
          filter: label BEGINSWITH[c] "ab"
        """)
  }

  @Test("A sorted fetch with a limit uses the index; in descending order it starts at the end of the index")
  func orderByIndex() throws {
    #expect(
      try explain("Employee", order: [FetchOrder("salary", ascending: false)], limit: 5) == """
        fetch Employee
          from index on salary: all of it, from its end
          candidates: 1100 of 1100
          order: salary descending, already sorted
          window: at most 5
        """)
  }

  @Test("A unique index serves a sort order, and an equality with its key")
  func uniqueOrder() throws {
    #expect(
      try explain("Employee", order: [FetchOrder("big")], limit: 5).contains(
        "from unique index on big: all of it"))
    #expect(
      try explain("Employee", "big == 7", entries: 1) == """
        fetch Employee
          from unique index on big: 1 range by big
          candidates: 1 of 1100
        """)
  }

  @Test("An equality with the whole key of a unique index is planned without estimating other plans")
  func uniqueKey() throws {
    let schema = try TestModel.schema(indexed: true)
    var query = FetchQuery(entity: try #require(schema.entity(named: "Employee")).number)
    var asked: [StoreIndex] = []
    let statistics = FetchStatistics(
      entryCount: { index, _ in
        asked.append(index)
        return 1
      }, rowCount: { _ in 1000 })
    func plan(_ format: String) throws -> FetchPlan {
      asked = []
      query.predicate = try FetchPredicate(format: format)
      return FetchPlanner.plan(try PreparedFetch(query, schema), statistics)
    }
    let made = try plan("big == 7 AND age == 30 AND salary > 5")
    let index = try #require(asked.first)
    #expect(asked == [index] && schema.definition(index).isUnique)
    guard case .index(index, let ranges) = made.access else {
      Issue.record("\(made)")
      return
    }
    #expect(ranges.count == 1)
    #expect(made.residual == (try FetchPredicate(format: "age == 30 AND salary > 5")))
    // With two keys, the other plans are also estimated.
    _ = try plan("big IN {7, 8} AND age == 30")
    #expect(asked.count > 1)
  }

  @Test("A predicate on a related object uses the range of the relationship")
  func relation() throws {
    let boss = Value.reference(ObjectReference(entity: 3, id: 1))
    let tag = Value.reference(ObjectReference(entity: 5, id: 1))
    #expect(
      try explain("Employee", "boss == %@", [boss], entries: 4) == """
        fetch Employee
          from objects whose boss is one object
          candidates: 4 of 1100
        """)
    #expect(
      try explain("Employee", "ANY tags == %@", [tag], entries: 4) == """
        fetch Employee
          from objects whose tags is one object
          candidates: 4 of 1100
        """)
  }

  @Test(
    "The candidate count is at most the number of objects, not the number of index entries")
  func candidatesOfOthers() throws {
    let plan = try explain("Company", order: [FetchOrder("name")], limit: 3)
    #expect(plan.contains("from index on name: all of it"))
    #expect(plan.contains("candidates: 50 of 50, in 1150 entries\n"), "\(plan)")
  }

  @Test("A condition on an attribute of a related object uses the related entity's index")
  func join() throws {
    #expect(
      try explain("Employee", "ANY tags.label == 'x'", entries: 1) == """
        fetch Employee
          from objects whose tags is found by the index on Tag.label
          candidates: about 55 of 1100
          only: Employee, Manager
        """)
  }

  @Test("An index of a derived count serves sorting by the count, and ranges that exclude zero")
  func counts() throws {
    #expect(
      try explain("Company", order: [FetchOrder("employeeCount", ascending: false)], limit: 3) == """
        fetch Company
          from count index on employeeCount, from its end
          candidates: 50 of 50
          order: employeeCount descending, already sorted
          window: at most 3
        """)
    #expect(
      try explain("Company", "employeeCount > 10", entries: 2) == """
        fetch Company
          from count index on employeeCount: 1 range
          candidates: 2 of 50
        """)
    #expect(try explain("Company", "employeeCount < 10", entries: 2).contains("scan"))
  }

  @Test("Objects given in the predicate are fetched by id")
  func references() throws {
    let reference = Value.reference(ObjectReference(entity: 3, id: 1))
    #expect(
      try explain("Employee", "SELF IN %@ AND age > 3", [Value.list([reference, reference])]) == """
        fetch Employee
          from one object by id
          candidates: 1 of 1100
          filter: age > 3
          only: Employee, Manager
        """)
  }

  @Test("A predicate can name an object directly or by objectID")
  func objectID() throws {
    let tag = Value.reference(ObjectReference(entity: 5, id: 1))
    let reference = Value.reference(ObjectReference(entity: 3, id: 1))
    #expect(try explain("Employee", "objectID == %@", [reference]).contains("one object by id"))
    #expect(
      try explain("Employee", "boss.objectID == %@", [reference]).contains("objects whose boss is one object")
    )
    #expect(try explain("Employee", "ANY tags.objectID == %@", [tag]).contains("whose tags is one"))
  }

  @Test("A predicate that is always false has no candidates")
  func impossible() throws {
    #expect(try explain("Employee", "age == 1.5").contains("candidates: 0 of 1100"))
  }
}
