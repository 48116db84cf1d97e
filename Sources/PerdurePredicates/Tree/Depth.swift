// Limits the depth of a tree that is evaluated. Every traversal of a predicate is recursive, so a
// fetch rejects a tree that could overflow the stack. (The limit in PredicateParts.swift is for all
// trees.) AND in AND, OR in OR and NOT of NOT do not count: a loop flattens them before the depth
// is measured. Traversals of paths are recursive too, so the number of names in a path has the same
// limit.

/// A part of a predicate: a predicate or an expression.
private protocol PredicateNode {
  /// The number of names in its path; 0 if it has none.
  var nameCount: Int { get }
  func forEachChild(predicate: (FetchPredicate) -> Void, expression: (FetchExpression) -> Void)
}

extension FetchPredicate: PredicateNode {
  fileprivate var nameCount: Int { 0 }
}

extension FetchExpression: PredicateNode {
  fileprivate var nameCount: Int {
    switch self {
    case .keyPath(let path), .member(_, let path): path.names.count
    default: 0
    }
  }
}

extension PredicateNode {
  fileprivate func isWithin(levels: Int) -> Bool {
    if levels == 0 || nameCount > FetchPredicate.levelMax { return false }
    var isWithin = true
    forEachChild(
      predicate: { isWithin = isWithin && $0.isWithin(levels: levels - 1) },
      expression: { isWithin = isWithin && $0.isWithin(levels: levels - 1) })
    return isWithin
  }
}

extension FetchPredicate {
  /// The maximum number of levels of a predicate, and of names in a path, that a fetch accepts. A
  /// predicate parsed from text has at most 50 levels.
  package static let levelMax = 200

  /// The predicate with nested AND, OR and NOT flattened. Nil if it still has more than `levels`
  /// levels, or a path with more than `levelMax` names.
  ///
  /// A predicate of at most 50 levels is returned unchanged.
  ///
  /// - Complexity: O(n) for n nodes.
  package func flattened(levels: Int = levelMax) -> FetchPredicate? {
    if isWithin(levels: min(levels, 50)) { return self }
    var isTooDeep = false
    let flat = flat(levels, &isTooDeep)
    return isTooDeep ? nil : flat
  }

  fileprivate func flat(_ levels: Int, _ isTooDeep: inout Bool) -> FetchPredicate {
    if levels == 0 || isTooDeep {
      isTooDeep = true
      return .true
    }
    switch self {
    case .and: return .and(joinedParts(ofAnd: true).map { $0.flat(levels - 1, &isTooDeep) })
    case .or: return .or(joinedParts(ofAnd: false).map { $0.flat(levels - 1, &isTooDeep) })
    case .not:
      var (inner, isNegated) = (self, false)
      while case .not(let part) = inner { (inner, isNegated) = (part.only, !isNegated) }
      let flat = inner.flat(levels - 1, &isTooDeep)
      return isNegated ? .not(flat) : flat
    default:
      var isDeep = (false, false)
      let flat = mapChildren(
        predicate: { $0.flat(levels - 1, &isDeep.0) }, expression: { $0.flat(levels - 1, &isDeep.1) })
      isTooDeep = isTooDeep || isDeep.0 || isDeep.1
      return flat
    }
  }

  /// The parts of an AND or OR, in order. A part with the same operator is replaced by its own
  /// parts.
  private func joinedParts(ofAnd isAnd: Bool) -> [FetchPredicate] {
    var parts: [FetchPredicate] = []
    var waiting = [self]
    while let next = waiting.popLast() {
      switch next {
      case .and(let inner) where isAnd: waiting += inner.reversed()
      case .or(let inner) where !isAnd: waiting += inner.reversed()
      default: parts.append(next)
      }
    }
    return parts
  }
}

extension FetchPredicate {
  /// A predicate with more levels than a fetch accepts.
  static let tooDeep = (0...levelMax).reduce(FetchPredicate.true) { predicate, level in
    level % 2 == 0 ? .and([predicate, .true]) : .or([predicate, .true])
  }
}

extension FetchExpression {
  /// An expression with more levels than a fetch accepts.
  static let tooDeep = (0...FetchPredicate.levelMax).reduce(FetchExpression.evaluatedObject) { inner, _ in
    .function(.negate, [inner])
  }
}

extension FetchExpression {
  /// Whether the expression has at most `FetchPredicate.levelMax` levels, and each of its paths at
  /// most as many names.
  var isWithinLevelMax: Bool { isWithin(levels: FetchPredicate.levelMax) }

  fileprivate func flat(_ levels: Int, _ isTooDeep: inout Bool) -> FetchExpression {
    if levels == 0 || isTooDeep || nameCount > FetchPredicate.levelMax {
      isTooDeep = true
      return .constant(.null)
    }
    var isDeep = (false, false)
    let flat = mapChildren(
      predicate: { $0.flat(levels - 1, &isDeep.0) }, expression: { $0.flat(levels - 1, &isDeep.1) })
    isTooDeep = isDeep.0 || isDeep.1
    return flat
  }
}
