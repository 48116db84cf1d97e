// Simplifies predicates: the results are the same, and the evaluation needs less work.
//
//   SI1. If the predicate has a result, the simplified one has the same result. Simplification can
//        remove a part whose evaluation throws an error, but never adds such a part.
//   SI2. The evaluator itself computes constants, so they have the same meaning as at run time. A
//        constant expression whose evaluation fails stays unchanged.
//   SI3. NOT is merged only into == and !=. With null, both < and >= are false, so neither is the
//        negation of the other.

extension FetchPredicate {
  /// The predicate with computed constants, flattened ANDs and ORs, and without repeated parts and
  /// double negations. If this predicate has a result for an object, the simplified one has the
  /// same result.
  public func simplified() -> FetchPredicate {
    if case .comparison(let comparison) = self, comparison.left.isLeaf, comparison.right.isLeaf {
      return comparison.simplified
    }
    let inner = mapChildren(predicate: { $0.simplified() }, expression: { $0.simplified() })
    switch inner {
    case .true, .false: return inner
    case .and(let parts): return Self.flattened(Array(parts), neutral: .true, decisive: .false)
    case .or(let parts): return Self.flattened(Array(parts), neutral: .false, decisive: .true)
    case .not(let part): return part.only.negated
    case .comparison(let comparison): return comparison.simplified
    }
  }

  private static func flattened(
    _ parts: [FetchPredicate], neutral: FetchPredicate, decisive: FetchPredicate
  ) -> FetchPredicate {
    let isAnd = neutral == .true
    var flat: [FetchPredicate] = []
    flat.reserveCapacity(parts.count)
    for part in parts {
      if let inner = part.parts(ofAnd: isAnd) { flat += inner } else { flat.append(part) }
    }
    if flat.contains(decisive) { return decisive }
    let kept = distinct(flat.filter { $0 != neutral })
    if kept.count < 2 { return kept.first ?? neutral }
    return isAnd ? .and(kept) : .or(kept)
  }

  /// The parts that equal no earlier part, in order.
  private static func distinct(_ parts: [FetchPredicate]) -> [FetchPredicate] {
    // Hashing a predicate takes longer than comparing it with a few others.
    if parts.count > 16 {
      var seen: Set<FetchPredicate> = []
      return parts.filter { seen.insert($0).inserted }
    }
    var kept: [FetchPredicate] = []
    for part in parts where !kept.contains(part) { kept.append(part) }
    return kept
  }

  private var negated: FetchPredicate {
    switch self {
    case .true: return .false
    case .false: return .true
    case .not(let part): return part.only
    case .comparison(var comparison) where comparison.modifier == .direct:
      guard comparison.op == .equal || comparison.op == .notEqual else { return .not(self) }
      comparison.op = comparison.op == .equal ? .notEqual : .equal
      return .comparison(comparison)
    default: return .not(self)
    }
  }
}

extension FetchComparison {
  fileprivate var simplified: FetchPredicate {
    if op == .in, modifier == .direct, right == .constant(.list([])) { return .false }
    guard left.isConstant, right.isConstant,
      let truth = try? FetchPredicate.comparison(self).evaluate(with: .null)
    else { return .comparison(self) }
    return truth ? .true : .false
  }
}

extension FetchExpression {
  /// The expression with constants computed. If this expression has a value for an object, the
  /// simplified one has the same value.
  public func simplified() -> FetchExpression {
    if isLeaf { return self }
    if case .member(let base, let path) = self, case .conditional = base {
      // Keep the path separate from the condition. A path that is joined with a path inside the
      // condition treats missing objects differently (EV3 in PredicateEvaluator.swift).
      let parts = base.mapChildren(predicate: { $0.simplified() }, expression: { $0.simplified() })
      return .member(of: parts, path)
    }
    let inner = mapChildren(predicate: { $0.simplified() }, expression: { $0.simplified() })
    switch inner {
    case .conditional(.true, let first, _): return first
    case .conditional(.false, _, let second): return second
    case .function(let function, _) where !function.isPure || inner.longLiteral != nil: return inner
    case .subquery, .constant, .keyPath, .variable, .evaluatedObject, .conditional: return inner
    default: return inner.computed
    }
  }

  /// The value, if all direct children are constants and the evaluation succeeds; otherwise the
  /// expression itself.
  private var computed: FetchExpression {
    var isConstant = true
    forEachChild(
      predicate: { _ in isConstant = false },
      expression: { child in
        if case .constant = child { return }
        isConstant = false
      })
    guard isConstant,
      let value = try? PredicateEvaluator(.true).value(of: self, with: .null)
    else { return self }
    return .constant(value)
  }
}
