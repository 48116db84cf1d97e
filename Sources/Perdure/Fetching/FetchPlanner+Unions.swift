// Access paths for an OR whose parts compare different columns. They produce the candidates of each
// part, one part after the other.
//
// Each part is planned like a separate fetch without an order. An object that satisfies the OR
// satisfies a part, so it is among the candidates of this part. An object can be a candidate of
// several parts; the executor passes it on once.

internal import PerdurePredicates

extension FetchPlanner {
  /// The maximum number of parts of an OR that are planned separately.
  private static let partsMax = 32
  /// The maximum depth of ORs in ORs. Planning each of them uses the stack.
  private static let depthMax = 8

  func unionCandidates() -> [Candidate] {
    if depth == Self.depthMax || rowTotal <= Self.scannedMax { return [] }
    return conjuncts.indices.compactMap { position in
      guard case .or(let parts) = conjuncts[position], parts.count <= Self.partsMax,
        !isOfOneColumn(position)
      else { return nil }
      return unionCandidate(parts.map { $0 }, position)
    }
  }

  /// Whether the whole OR restricts one column, so that one index may serve it.
  private func isOfOneColumn(_ position: Int) -> Bool {
    bounds.entries.contains { $0.element.conjuncts.contains(position) }
  }

  /// Nil if a part needs a scan, or if the parts together cost more than a scan.
  private func unionCandidate(_ parts: [FetchPredicate], _ position: Int) -> Candidate? {
    var planners: [FetchPlanner] = []
    var chosen: [Candidate] = []
    var cost = 0.0
    for part in parts {
      let planner = FetchPlanner(fetch.all(satisfying: part), statistics, depth: depth + 1)
      guard let best = planner.bestPart() else { return nil }
      cost += best.costAtFirst + Double(best.count) * best.costPerCandidate
      if cost > Double(rowTotal) { return nil }
      planners.append(planner)
      chosen.append(best)
    }
    let count = chosen.reduce(0) { $0 + $1.count }
    let areCovered = zip(planners, chosen).allSatisfy { $0.conjuncts.count == $1.covered.count }
    return Candidate(
      access: .union(chosen.map(\.access)), isOrdered: fetch.order.isEmpty,
      filtersEntities: chosen.contains(where: \.filtersEntities),
      mayLackRows: chosen.contains(where: \.mayLackRows), count: count,
      costPerCandidate: count == 0 ? 0 : cost / Double(count), costAtFirst: count == 0 ? cost : 0,
      covered: areCovered ? [position] : [],
      words: { "the union of " + chosen.map { $0.words() }.joined(separator: "; ") })
  }

  /// The cheapest candidate that is not a scan; nil if there is none.
  private func bestPart() -> Candidate? {
    let found = candidates().filter { candidate in
      switch candidate.access {
      case .index, .references, .join, .union: true
      case .scan, .pathOrder, .countOrder: false
      }
    }
    return found.min { cost($0) < cost($1) }
  }
}
