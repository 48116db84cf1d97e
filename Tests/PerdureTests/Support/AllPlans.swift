import PerdurePredicates
import Testing

@testable import Perdure

/// Compares the results of every plan of a query with those of evaluating each object.
struct AllPlans {
  let graph: TestGraph
  let query: FetchQuery

  /// Compares every plan, and returns the plans.
  func compared() throws -> [FetchPlan] {
    let view = graph.store.view()
    let expected = try NaiveFetch.references(query, graph)
    var unlimited = query
    (unlimited.limit, unlimited.offset) = (nil, 0)
    let all = query.order.isEmpty ? Set(try NaiveFetch.references(unlimited, graph)) : []
    let fetch = try PreparedFetch(query, graph.schema)
    let planner = FetchPlanner(fetch, FetchStatistics(view))
    let candidates = planner.candidates()
    // A candidate that leads the order is tested with two plans: as the planner uses it, and as an
    // index alone.
    let plans = candidates.flatMap { candidate in
      candidate.leadsOrder
        ? [planner.plan(candidate, insteadOf: candidates[0]), planner.plan(candidate)]
        : [planner.plan(candidate)]
    }
    return try plans.map { plan in
      let executor = FetchExecutor(fetch, plan, view: view)
      let found = try executor.references()
      let context: Comment = "\(plan) for \(query)"
      #expect(try executor.count() == expected.count, context)
      if query.order.isEmpty {
        #expect(found.count == expected.count && Set(found).count == found.count, context)
        #expect(all.isSuperset(of: found), context)
      } else {
        #expect(found == expected, context)
      }
      return plan
    }
  }
}
