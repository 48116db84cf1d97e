import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Running fetches")
struct FetchExecutorTests {
  private static let entities = ["Employee", "Employee", "Employee", "Company", "Tag", "Badge", "Party"]

  @Test("Every plan gives the same result as evaluating each object, with and without indexes")
  func differential() throws {
    var random = SeededGenerator.forTest("every plan")
    var used: [String: Int] = [:]
    let kinds = ["scan", "references", "index", "join", "pathOrder", "countOrder", "union", "lead"]
    // The test proves nothing about an access path that no query used. It continues until queries
    // have used every access path, for at most 20 rounds.
    for round in 0..<20 where round < LongRun.count(3) || kinds.contains(where: { used[$0] == nil }) {
      let objects = try TestGraph.objects(&random)
      for indexed in [true, false] {
        let graph = try TestGraph(objects, indexed: indexed)
        for _ in 0..<250 {
          var generator = RandomPredicate(graph.schema, SeededGenerator(seed: random.next()))
          let query = generator.query(graph.schema.entity(named: random.pick(Self.entities))!)
          for plan in try AllPlans(graph: graph, query: query).compared() {
            used[plan.lead == nil ? Self.kind(plan.access) : "lead", default: 0] += 1
          }
        }
      }
    }
    for kind in kinds { #expect(used[kind, default: 0] > 0) }
  }

  private static func kind(_ access: FetchPlan.Access) -> String {
    switch access {
    case .scan: "scan"
    case .references: "references"
    case .index: "index"
    case .join: "join"
    case .pathOrder: "pathOrder"
    case .countOrder: "countOrder"
    case .union: "union"
    }
  }
}
