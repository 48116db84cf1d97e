// Chooses how to run a fetch, as a pure function of the request, the schema and the numbers of rows
// and index entries.
//
// Each access path that the predicate and the order allow is a possible plan (`Candidate`). A store
// counts the entries of a range without reading them, so the planner knows exactly how many rows
// most paths read. The planner estimates how many of these rows satisfy the rest of the predicate.
// The planner chooses the cheapest plan, or the first of equally cheap plans.
//
// All plans have the same results, for three reasons. An access path must find every object that
// satisfies the predicate. The residual contains each condition that the path does not guarantee. A
// path counts as ordered only if its ties are in the order that `FetchOrder` defines, so that
// sorting does not change the order.

internal import PerdurePredicates

/// Plans one prepared fetch. The planner is a class, because each plan retains its planner for its
/// description.
package final class FetchPlanner {
  let fetch: PreparedFetch
  let statistics: FetchStatistics
  let conjuncts: [FetchPredicate]
  /// The number of ORs that contain the predicate.
  let depth: Int
  /// The bounds of the object's own columns that follow from the conjuncts.
  let bounds: ColumnTable<ColumnBounds>
  /// The indexes that contain every requested object.
  let searchIndexes: [SearchIndex]
  /// The number of rows of the entities.
  private(set) lazy var rowTotal = fetch.concrete.reduce(0) { $0 + statistics.rowCount($1) }

  /// The bounds of one column, and the conjuncts that they follow from.
  struct ColumnBounds {
    var bounds: SearchBounds
    var conjuncts: Set<Int>
  }

  /// One way to run the fetch, before it is compared with others.
  struct Candidate {
    var access: FetchPlan.Access
    var isReversed = false
    var reversesTies = false
    var isOrdered: Bool
    /// Whether candidates are ordered only by the first criterion.
    var leadsOrder = false
    var filtersEntities = false
    /// Whether a candidate may have no row: the predicate names it, or it is in a count index. A
    /// count index still contains a deleted object if its delete rule left the references of its
    /// members unchanged.
    var mayLackRows = false
    var count: Int
    /// The cost of each candidate, in rows of a scan.
    var costPerCandidate: Double
    /// The cost before the first candidate, in the same unit.
    var costAtFirst = 0.0
    /// The conjuncts that hold for all candidates.
    var covered: Set<Int> = []
    /// The access path in words.
    var words: () -> String
  }

  /// The plan for a key of a unique index, if the predicate names one. Otherwise the cheapest plan.
  ///
  /// - Parameter leads: Whether to consider plans whose candidates are ordered only by the first
  ///   criterion.
  package static func plan(
    _ fetch: PreparedFetch, _ statistics: FetchStatistics, leads: Bool = true
  ) -> FetchPlan {
    let planner = FetchPlanner(fetch, statistics)
    if let unique = planner.uniqueCandidate() { return planner.plan(unique) }
    var candidates = planner.candidates()
    if !leads { candidates.removeAll(where: \.leadsOrder) }
    let best = planner.cheapest(candidates)
    if !best.leadsOrder { return planner.plan(best) }
    let other = planner.cheapest(candidates.filter { !$0.leadsOrder })
    return planner.plan(best, insteadOf: other)
  }

  /// The cheapest possible plan, or the first of equally cheap plans. A scan is always possible.
  private func cheapest(_ candidates: [Candidate]) -> Candidate {
    var (best, bestCost) = (0, cost(candidates[0]))
    for position in candidates.indices.dropFirst() {
      let cost = cost(candidates[position])
      if cost < bestCost { (best, bestCost) = (position, cost) }
    }
    return candidates[best]
  }

  init(_ fetch: PreparedFetch, _ statistics: FetchStatistics, depth: Int = 0) {
    self.depth = depth
    self.fetch = fetch
    self.statistics = statistics
    conjuncts = fetch.predicate.conjuncts
    searchIndexes = fetch.schema.searchIndexes(of: fetch.entity, concrete: fetch.concrete)
    var bounds = ColumnTable<ColumnBounds>()
    for (position, conjunct) in conjuncts.enumerated() {
      let own = Self.ownBounds(conjunct, fetch.entity, withCanonical: fetch.schema.asksForCanonical)
      for (column, found) in own.entries {
        var known = bounds[column] ?? ColumnBounds(bounds: found, conjuncts: [])
        known.bounds = known.bounds.intersected(found)
        known.conjuncts.insert(position)
        bounds[column] = known
      }
    }
    self.bounds = bounds
  }

  /// The bounds of columns that follow from a comparison, or from an OR of comparisons. For an OR,
  /// a column has bounds only if all parts restrict it.
  ///
  /// - Parameter withCanonical: Whether to include bounds of canonical texts, which need folding.
  static func ownBounds(
    _ conjunct: FetchPredicate, _ entity: EntityStorage, withCanonical: Bool = true
  ) -> ColumnTable<SearchBounds> {
    switch conjunct {
    case .or(let parts):
      let found = parts.map { ownBounds($0, entity, withCanonical: withCanonical) }
      var joined = ColumnTable<SearchBounds>()
      for column in found.first?.columns ?? [] {
        let all = found.compactMap { $0[column] }
        if all.count == parts.count { joined[column] = SearchBounds.union(all) }
      }
      return joined
    case .comparison(let comparison) where comparison.modifier == .direct:
      return entity.bounds(comparison, withCanonical: withCanonical)
    default: return ColumnTable()
    }
  }

  /// Every way to run the fetch.
  func candidates() -> [Candidate] {
    var candidates = [scan()]
    if !conjuncts.isEmpty { candidates += namedReferences() }
    candidates += searchIndexes.compactMap(indexCandidate)
    if !conjuncts.isEmpty { candidates += relationCandidates() }
    if fetch.schema.hasCountOrders { candidates += countCandidates() }
    if !conjuncts.isEmpty { candidates += joinCandidates() }
    candidates += pathOrderCandidates()
    candidates += unionCandidates()
    return candidates
  }

  // MARK: Cost

  /// The cost of a candidate, as the number of rows that a scan reads in the same time.
  func cost(_ candidate: Candidate) -> Double {
    let filtered = conjuncts.count > candidate.covered.count || candidate.filtersEntities
    // The share of candidates that satisfy the residual is unknown; the estimate is a tenth.
    let passing = filtered ? 0.1 : 1.0
    var looked = Double(candidate.count)
    if let end = fetch.windowEnd, candidate.count < FetchStatistics.unreadable {
      if candidate.isOrdered { looked = min(looked, Double(end) / passing) }
      // The number of objects that are equal in the first criterion is unknown. The estimate
      // doubles the objects to visit.
      if candidate.leadsOrder { looked = min(looked, 2 * Double(end) / passing) }
    }
    var cost = candidate.costAtFirst + looked * candidate.costPerCandidate
    if !candidate.isOrdered {
      let sorted = (candidate.leadsOrder ? looked : Double(candidate.count)) * passing
      cost += sorted * (1 + 0.1 * sorted.squareRoot().exponentOrZero)
    }
    return cost
  }

  // MARK: Paths that need no index

  private func scan() -> Candidate {
    Candidate(
      access: .scan, isOrdered: fetch.order.isEmpty, count: rowTotal, costPerCandidate: 1,
      words: { [fetch] in
        "scan of \(fetch.concrete.map { fetch.schema.entity($0).name }.joined(separator: ", "))"
      })
  }

  /// `SELF == x`, `SELF IN {…}`.
  private func namedReferences() -> [Candidate] {
    for (position, conjunct) in conjuncts.enumerated() {
      guard case .comparison(let comparison) = conjunct, comparison.modifier == .direct,
        comparison.left == .evaluatedObject, case .constant(let value) = comparison.right,
        let references = Self.references(comparison.op, value)
      else { continue }
      return [
        Candidate(
          access: .references(references), isOrdered: fetch.order.isEmpty, filtersEntities: true,
          mayLackRows: true, count: references.count, costPerCandidate: 2, covered: [position],
          words: { references.count == 1 ? "one object by id" : "\(references.count) objects by id" })
      ]
    }
    return []
  }

  /// The references that a comparison allows, ascending; nil for other comparisons.
  static func references(_ op: FetchComparison.Operator, _ value: Value) -> [ObjectReference]? {
    let values: [Value]
    switch (op, value) {
    case (.equal, .reference): values = [value]
    case (.in, .list(let list)): values = list
    default: return nil
    }
    return Set(values.compactMap(WordDomain.reference.word)).sorted().map(ObjectReference.init(rawValue:))
  }

  /// Whether an index contains every requested object.
  func covers(_ definition: IndexDefinition) -> Bool {
    definition.serves(fetch.concrete)
  }

  /// Whether an index may contain objects that are not requested.
  func overshoots(_ definition: IndexDefinition) -> Bool {
    definition.entities != fetch.concrete
  }
}

extension Double {
  /// About twice the binary logarithm, or 0 for numbers below 1. It is exact enough to compare
  /// costs, and needs no mathematics library.
  fileprivate var exponentOrZero: Double { self < 1 ? 0 : Double(2 * exponent) }
}
