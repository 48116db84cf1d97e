// Makes a plan from the chosen candidate, and describes it.

internal import PerdurePredicates

extension FetchPlanner {
  /// - Parameter other: If `candidate` has only the order of the first criterion, the cheapest
  ///   candidate without this order.
  func plan(_ candidate: Candidate, insteadOf other: Candidate? = nil) -> FetchPlan {
    let residual = residual(candidate)
    return FetchPlan(
      access: candidate.access, isReversed: candidate.isReversed,
      reversesTies: candidate.reversesTies,
      filtersEntities: candidate.filtersEntities, mayLackRows: candidate.mayLackRows,
      candidateCount: candidate.count, residual: residual,
      isOrdered: candidate.isOrdered,
      lead: other.map { other in
        LeadingOrder(
          candidatesMax: Int(min(cost(other), 1e15) / candidate.costPerCandidate),
          other: { [self] in plan(other) })
      }, describe: { [self] in description(candidate, residual) })
  }

  /// The conjuncts that a candidate does not guarantee. Usually they need no simplification,
  /// because the whole predicate is already simplified. In a schema with copies, replaced paths can
  /// make conjuncts equal, so their AND is simplified again.
  private func residual(_ candidate: Candidate) -> FetchPredicate {
    if candidate.covered.isEmpty, !fetch.schema.hasCopies { return fetch.predicate }
    let left = conjuncts.indices.filter { !candidate.covered.contains($0) }.map { conjuncts[$0] }
    if fetch.schema.hasCopies { return FetchPredicate.and(left).simplified() }
    if left.isEmpty { return .true }
    return left.count == 1 ? left[0] : .and(left)
  }

  private func description(_ candidate: Candidate, _ residual: FetchPredicate) -> String {
    let direction = candidate.isReversed ? ", from its end" : ""
    let isEstimate =
      switch candidate.access {
      case .join, .union: true
      case .pathOrder(_, _, _, _, let includesNull): !includesNull
      default: false
      }
    let about = isEstimate ? "about " : ""
    let count = min(candidate.count, rowTotal)
    // An index may contain objects of other entities, which are then rejected.
    let entries = !isEstimate && count < candidate.count ? ", in \(candidate.count) entries" : ""
    var lines = [
      "fetch \(fetch.entity.name)",
      "  from \(candidate.words())\(direction)",
      "  candidates: \(about)\(count) of \(rowTotal)\(entries)",
    ]
    if residual != .true { lines.append("  filter: \(residual)") }
    if candidate.filtersEntities {
      let names = fetch.concrete.map { fetch.schema.entity($0).name }.joined(separator: ", ")
      lines.append("  only: \(names)")
    }
    if !fetch.order.isEmpty { lines.append("  order: \(order(candidate))") }
    if let window { lines.append("  window: \(window)") }
    return lines.joined(separator: "\n")
  }

  private func order(_ candidate: Candidate) -> String {
    let criteria = fetch.order.map(\.order.description).joined(separator: ", ")
    if candidate.isOrdered { return "\(criteria), already sorted" }
    if candidate.leadsOrder, let end = fetch.windowEnd {
      return "\(criteria), the first already sorted, until the first \(end) are known"
    }
    return fetch.windowEnd.map { "\(criteria), the first \($0) kept" } ?? "\(criteria), sorted"
  }

  private var window: String? {
    switch (fetch.offset, fetch.limit) {
    case (0, nil): nil
    case (0, let limit?): "at most \(limit)"
    case (let offset, nil): "without the first \(offset)"
    case (let offset, let limit?): "at most \(limit) after the first \(offset)"
    }
  }
}
