// Sums that a store keeps for the objects of a relationship (`IndexDefinition.Kind.sums`).

internal import PerdureLog
internal import PerdureNumbers
package import PerdurePredicates

/// An exact sum of numbers: what comes and goes leaves no trace, and what it comes to is what adding up anew gives.
package struct StoredSum: Sendable {
  private var sum: GroupSum

  /// The sum of nothing.
  ///
  /// - Parameter isReal: Whether real numbers are summed, and not whole ones and decimals.
  package init(isReal: Bool) { sum = GroupSum(of: Self.kind(isReal: isReal)) }

  init(_ sum: GroupSum) { self.sum = sum }

  /// What a store sums.
  static func kind(isReal: Bool) -> GroupSum.Kind { isReal ? .integersAndDoubles : .integersAndDecimals }

  /// Puts a value in; nothing unless it is a number.
  package mutating func add(_ value: Value) {
    if let term = SumTerm(value, sum.kind) { sum.add(term) }
  }

  /// Takes a value out that is in it.
  package mutating func remove(_ value: Value) {
    if let term = SumTerm(value, sum.kind) { sum.remove(term) }
  }

  /// Adds the difference between two sums of the same kind.
  mutating func add(_ difference: StoredSum) { sum.add(difference.sum) }

  /// Whether adding it changes nothing.
  var isZero: Bool { sum == GroupSum(of: sum.kind) }

  /// The exact sum.
  package var value: Value { sum.sum.value }
}

extension SumTerm {
  /// A value as a number that is summed; nil for what is none.
  init?(_ value: Value, _ kind: GroupSum.Kind) {
    guard let term = ExactSum.Term(value, kind == .integersAndDoubles ? .binary : .decimal) else {
      return nil
    }
    self.init(term)
  }
}
