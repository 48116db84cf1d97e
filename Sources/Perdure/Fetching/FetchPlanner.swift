// Choosing how to run a fetch: a pure function of the request, the schema and the numbers of entries.
//
// Every access path that the predicate and the order allow is a candidate. The number of rows it has to look
// at is known exactly, because a store counts the entries of a range without walking it; only how many of
// them pass the rest of the predicate is guessed. The cheapest one is taken, the first of equals.
//
// Why the results are the same whichever is taken: an access path is used only when every object that
// satisfies the predicate is among its candidates; what it does not make sure of stays in the residual; and
// it counts as ordered only when ties fall as `FetchOrder` says, so that sorting would change nothing.

internal import PerdurePredicates

/// Plans one prepared fetch.
package struct FetchPlanner {
  let fetch: PreparedFetch
  let statistics: FetchStatistics
  let conjuncts: [FetchPredicate]
  /// The number of ORs that contain the predicate.
  let depth: Int
  /// What the conjuncts say about the object's own columns.
  let bounds: [IndexColumn: ColumnBounds]

  /// The bounds of one column, and which conjuncts they come from.
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
    /// Whether candidates come in the order of the first criterion alone.
    var leadsOrder = false
    var filtersEntities = false
    /// Whether only its row tells whether a candidate exists: the predicate names it, or it is in a
    /// count index. That keeps a deleted object to which members still refer, because their delete
    /// rule did nothing.
    var mayLackRows = false
    var count: Int
    /// Rows looked at for a candidate, in units of a row met in a scan.
    var costPerCandidate: Double
    /// What is looked at before the first candidate, in the same units.
    var costAtFirst = 0.0
    /// The conjuncts that hold for all candidates.
    var settled: Set<Int> = []
    /// The access path in words.
    var words: () -> String
  }

  /// The cheapest plan.
  ///
  /// - Parameter leads: Whether candidates may come in the order of the first criterion alone.
  package static func plan(
    _ fetch: PreparedFetch, _ statistics: FetchStatistics, leads: Bool = true
  ) -> FetchPlan {
    let planner = FetchPlanner(fetch, statistics)
    if let unique = planner.uniqueCandidate() { return planner.plan(unique) }
    let candidates = planner.candidates().filter { leads || !$0.leadsOrder }
    let best = planner.cheapest(candidates)
    if !best.leadsOrder { return planner.plan(best) }
    let other = planner.cheapest(candidates.filter { !$0.leadsOrder })
    return planner.plan(best, insteadOf: other)
  }

  /// The cheapest candidate, the first of equals. There is always one: the scan.
  private func cheapest(_ candidates: [Candidate]) -> Candidate {
    var best = candidates[0]
    for candidate in candidates.dropFirst() where cost(candidate) < cost(best) { best = candidate }
    return best
  }

  init(_ fetch: PreparedFetch, _ statistics: FetchStatistics, depth: Int = 0) {
    self.depth = depth
    self.fetch = fetch
    self.statistics = statistics
    conjuncts = fetch.predicate.conjuncts
    var bounds: [IndexColumn: ColumnBounds] = [:]
    for (position, conjunct) in conjuncts.enumerated() {
      for (column, found) in Self.ownBounds(
        conjunct, fetch.entity, withCanonical: fetch.schema.asksForCanonical)
      {
        var known = bounds[column] ?? ColumnBounds(bounds: found, conjuncts: [])
        known.bounds = known.bounds.intersected(found)
        known.conjuncts.insert(position)
        bounds[column] = known
      }
    }
    self.bounds = bounds
  }

  /// What a comparison, or an OR of comparisons, says about columns: those that all parts of the OR are about.
  ///
  /// - Parameter withCanonical: Whether to say what it means for texts without case and marks, which takes folding.
  static func ownBounds(
    _ conjunct: FetchPredicate, _ entity: EntityStorage, withCanonical: Bool = true
  ) -> [IndexColumn: SearchBounds] {
    switch conjunct {
    case .or(let parts):
      let found = parts.map { ownBounds($0, entity, withCanonical: withCanonical) }
      var joined: [IndexColumn: SearchBounds] = [:]
      for column in (found.first ?? [:]).keys {
        let all = found.compactMap { $0[column] }
        if all.count == parts.count { joined[column] = SearchBounds.union(all) }
      }
      return joined
    case .comparison(let comparison) where comparison.modifier == .direct:
      return entity.bounds(comparison, withCanonical: withCanonical)
    default: return [:]
    }
  }

  /// Every way to run the fetch.
  func candidates() -> [Candidate] {
    [scan()] + namedReferences() + indexCandidates() + relationCandidates() + countCandidates()
      + joinCandidates() + pathOrderCandidates() + unionCandidates()
  }

  // MARK: Cost

  /// The number of rows met in a scan that would take as long.
  func cost(_ candidate: Candidate) -> Double {
    let filtered = conjuncts.count > candidate.settled.count || candidate.filtersEntities
    // Nothing is known about what the residual lets through: one in ten.
    let passing = filtered ? 0.1 : 1.0
    var looked = Double(candidate.count)
    if let end = fetch.windowEnd, candidate.count < FetchStatistics.unreadable {
      if candidate.isOrdered { looked = min(looked, Double(end) / passing) }
      // Nothing is known about how many are equal in the first criterion: as many again.
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

  var rowTotal: Int { fetch.concrete.reduce(0) { $0 + statistics.rowCount($1) } }

  private func scan() -> Candidate {
    Candidate(
      access: .scan, isOrdered: fetch.order.isEmpty, count: rowTotal, costPerCandidate: 1,
      words: { "scan of \(fetch.concrete.map { fetch.schema.entity($0).name }.joined(separator: ", "))" })
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
          mayLackRows: true, count: references.count, costPerCandidate: 2, settled: [position],
          words: { references.count == 1 ? "one object by id" : "\(references.count) objects by id" })
      ]
    }
    return []
  }

  /// The references that an object must be one of, ascending.
  static func references(_ op: FetchComparison.Operator, _ value: Value) -> [ObjectReference]? {
    let values: [Value]
    switch (op, value) {
    case (.equal, .reference): values = [value]
    case (.in, .list(let list)): values = list
    default: return nil
    }
    return Set(values.compactMap(WordDomain.reference.word)).sorted().map(ObjectReference.init(rawValue:))
  }

  /// Whether an index that is fed by some entities knows every object that is wanted.
  func covers(_ definition: IndexDefinition) -> Bool {
    definition.serves(fetch.concrete)
  }

  /// Whether an index may name objects that are not wanted.
  func overshoots(_ definition: IndexDefinition) -> Bool {
    definition.entities != fetch.concrete
  }
}

extension Double {
  /// About twice the binary logarithm of a square root: enough for comparing costs, without a mathematics
  /// library.
  fileprivate var exponentOrZero: Double { self < 1 ? 0 : Double(2 * exponent) }
}
