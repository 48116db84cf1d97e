// When a request may use a partial index: every object that it wants has to be there.
//
// That is so when the request says what the index's condition says: conjunct by conjunct, in the same words, or by
// comparisons of the same column that leave no other values (`size == 7` implies `size > 5`, `size IN {6, 8}` does, and
// all of them imply `size != nil`). Nothing else is tried; what is not seen to follow costs speed, and no object.

internal import PerdurePredicates

extension FetchPlanner {
  /// The conjuncts of the request that hold for all that is in an index; nil when the request may want more than
  /// that.
  func settled(by condition: IndexCondition?) -> Set<Int>? {
    guard let condition else { return [] }
    let parts = condition.predicate.conjuncts
    guard parts.allSatisfy(isImplied) else { return nil }
    return Set(conjuncts.indices.filter { parts.contains(conjuncts[$0]) })
  }

  /// Whether what the request wants has to satisfy a predicate.
  private func isImplied(_ part: FetchPredicate) -> Bool {
    if conjuncts.contains(part) { return true }
    for (column, needed) in Self.ownBounds(part, fetch.entity) where needed.areExact {
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
  /// The parts that have to hold together.
  var conjuncts: [FetchPredicate] {
    switch self {
    case .true: []
    case .and(let parts): Array(parts)
    default: [self]
    }
  }
}

extension SearchBounds {
  /// Whether all that is in these ranges is in others. O(n m).
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
