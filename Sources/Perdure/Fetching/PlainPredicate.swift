// Determines whether a fetch must rewrite a predicate before it makes a plan.
//
// Most predicates compare properties with constants. One traversal finds that such a predicate
// needs no rewriting, so the other passes are skipped.

internal import PerdurePredicates

/// The reasons to rewrite a predicate before the fetch is planned.
struct PredicateTraits: OptionSet {
  let rawValue: UInt8

  /// The predicate has a part other than a comparison of a path or SELF with a constant. Also set
  /// for an object's id, a path to an identity or an entity, a path that is too long, and more
  /// levels than `plainLevelMax`.
  static let isUnusual = PredicateTraits(rawValue: 1)
  /// The predicate has a constant that may be fitted to the property that it is compared with.
  static let hasFractions = PredicateTraits(rawValue: 2)
}

extension FetchPredicate {
  /// The number of levels that `flattened` accepts without a change.
  private static let plainLevelMax = 50

  /// The traits of the predicate. The traversal stops at the first unusual part.
  var traits: PredicateTraits { traits(levels: Self.plainLevelMax) }

  private func traits(levels: Int) -> PredicateTraits {
    // A comparison is one level, and its operands are another.
    if levels < 2 { return .isUnusual }
    switch self {
    case .true, .false: return []
    case .not(let part): return part.only.traits(levels: levels - 1)
    case .and(let parts), .or(let parts):
      var traits: PredicateTraits = []
      for part in parts where !traits.contains(.isUnusual) {
        traits.formUnion(part.traits(levels: levels - 1))
      }
      return traits
    case .comparison(let comparison):
      guard case .constant(let value) = comparison.right, comparison.left.isPlain else { return .isUnusual }
      return value.traits
    }
  }
}

extension FetchExpression {
  /// Whether the expression is SELF, or a path that needs no rewriting.
  fileprivate var isPlain: Bool {
    switch self {
    case .evaluatedObject: true
    case .keyPath(let path):
      path.names.count <= FetchPredicate.levelMax && !path.namesIdentity && !path.namesEntity
    default: false
    }
  }
}

extension Value {
  fileprivate var traits: PredicateTraits {
    switch self {
    case .objectID: .isUnusual
    case .double, .decimal: .hasFractions
    case .list(let list): list.reduce(into: []) { $0.formUnion($1.traits) }
    default: []
    }
  }
}
