// Decides whether a request may use a partial index: the index must contain every requested object.
//
// The predicate of the request must imply the condition of the index: each conjunct of the
// condition occurs in the predicate, or follows from bounds of the same column. For example,
// `size == 7` and `size IN {6, 8}` imply `size > 5`, and all three imply `size != nil`. Other
// implications are not recognized. The fetch then does not use the index, and has the same results.

internal import PerdurePredicates

extension FetchPlanner {
  /// The positions of the request's conjuncts that the condition of an index guarantees. Nil if the
  /// request may include objects that are not in the index.
  func covered(by condition: IndexCondition?) -> Set<Int>? {
    guard let condition else { return [] }
    let parts = condition.predicate.conjuncts
    guard parts.allSatisfy(isImplied) else { return nil }
    return Set(conjuncts.indices.filter { parts.contains(conjuncts[$0]) })
  }

  /// Whether the predicate of the request implies another predicate.
  private func isImplied(_ part: FetchPredicate) -> Bool {
    if conjuncts.contains(part) { return true }
    for (column, needed) in Self.ownBounds(part, fetch.entity).entries where needed.areExact {
      if let known = bounds[column], known.bounds.lies(in: needed) { return true }
    }
    switch part {
    case .true: return true
    case .and(let parts): return parts.allSatisfy(isImplied)
    case .or(let parts): return parts.contains(where: isImplied)
    case .false, .not, .comparison: return false
    }
  }
}

extension FetchPredicate {
  /// The parts of a conjunction.
  var conjuncts: [FetchPredicate] {
    switch self {
    case .true: []
    case .and(let parts): Array(parts)
    default: [self]
    }
  }
}

extension SearchBounds {
  /// Whether other ranges contain all of these ranges. O(n · m) for n and m ranges.
  fileprivate func lies(in other: SearchBounds) -> Bool {
    ranges.allSatisfy { mine in
      other.ranges.contains { theirs in
        guard !mine.lower.lexicographicallyPrecedes(theirs.lower) else { return false }
        guard let end = theirs.upper else { return true }
        // Every component begins with 0 or 1.
        return !end.lexicographicallyPrecedes(mine.upper ?? [2])
      }
    }
  }
}
