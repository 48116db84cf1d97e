import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

/// Counts the rows that a fetch reads to find objects by attributes derived from other objects.
@Suite("Plans for derived attributes")
struct DerivedPlanTests {
  /// Returns 120 employees and 30 managers of six companies with different names.
  private func graph() throws -> TestGraph {
    var random = SeededGenerator.forTest("plans for derived attributes")
    var objects = try TestGraph.objects(&random, employees: 120)
    let schema = try TestModel.schema(indexed: true)
    let companies = objects.indices.filter {
      schema.entity(objects[$0].reference.entityNumber).name == "Company"
    }
    for (number, position) in companies.enumerated() {
      objects[position].values["name"] = .string("c\(number)")
    }
    for (number, position) in objects.indices.enumerated() {
      guard objects[position].values["age"] != nil, number % 7 > 0 else { continue }
      objects[position].values["company"] = .reference(objects[companies[number % companies.count]].reference)
    }
    return try TestGraph(objects, indexed: true)
  }

  private func run(
    _ graph: TestGraph, _ format: String?, _ order: [FetchOrder] = [], limit: Int? = nil
  ) throws -> (plan: FetchPlan, found: Int, rows: Int) {
    var query = FetchQuery(entity: try #require(graph.schema.entity(named: "Employee")).number)
    query.predicate = try format.map { try FetchPredicate(format: $0) }
    (query.order, query.limit) = (order, limit)
    let view = CountingView(graph.store.view())
    let fetch = try PreparedFetch(query, graph.schema)
    let plan = FetchPlanner.plan(fetch, FetchStatistics(view))
    let found = try FetchExecutor(fetch, plan, view: view).references()
    #expect(try found.count == NaiveFetch.references(query, graph).count)
    return (plan, found.count, view.rowsRead)
  }

  @Test("An index on a copied attribute finds objects through the related entity without extra rows")
  func copies() throws {
    let graph = try graph()
    let (plan, found, rows) = try run(graph, "companyName == 'c1'")
    #expect(plan.description.contains("company is found by the index on Company.name"), "\(plan)")
    #expect(found > 5 && rows == found, "\(plan)")
    let chained = try run(graph, "bossCompany == 'c1'")
    #expect(
      chained.plan.description.contains("boss.company is found by the index on Company.name"),
      "\(chained.plan)")
    #expect(chained.rows == chained.found)
  }

  @Test("A fetch of three objects that is sorted by a copied attribute reads at most six rows")
  func orders() throws {
    let graph = try graph()
    let (plan, found, rows) = try run(graph, nil, [FetchOrder("companyName", ascending: false)], limit: 3)
    #expect(plan.description.contains("in the order of the index on Company.name"), "\(plan)")
    #expect(found == 3 && rows == 3, "\(plan)")
    let bounded = try run(graph, "companyName >= 'c2'", [FetchOrder("companyName")], limit: 3)
    #expect(bounded.found == 3 && bounded.rows <= 6, "\(bounded.plan)")
  }
}
