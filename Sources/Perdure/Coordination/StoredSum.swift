// Sums that a store maintains for the objects of a relationship (`IndexDefinition.Kind.sums`).

internal import PerdureLog
internal import PerdureNumbers
package import PerdurePredicates

/// An exact sum of numbers. It depends only on the numbers in it, not on numbers that were added
/// and removed.
package struct StoredSum: Sendable {
  private var sum: GroupSum

  /// Makes an empty sum.
  ///
  /// - Parameter isReal: True for real numbers; false for whole numbers and decimals.
  package init(isReal: Bool) { sum = GroupSum(of: Self.kind(isReal: isReal)) }

  init(_ sum: GroupSum) { self.sum = sum }

  /// The kind of the numbers that a store sums.
  static func kind(isReal: Bool) -> GroupSum.Kind { isReal ? .integersAndDoubles : .integersAndDecimals }

  /// Adds a value. Ignores values that are not numbers.
  package mutating func add(_ value: Value) {
    if let term = SumTerm(value, sum.kind) { sum.add(term) }
  }

  /// Removes a value that was added.
  package mutating func remove(_ value: Value) {
    if let term = SumTerm(value, sum.kind) { sum.remove(term) }
  }

  /// Adds the difference between two sums of the same kind.
  mutating func add(_ difference: StoredSum) { sum.add(difference.sum) }

  /// Whether adding this sum changes nothing.
  var isZero: Bool { sum == GroupSum(of: sum.kind) }

  /// The exact sum.
  package var value: Value { sum.sum.value }
}

extension SumTerm {
  /// A value as a term of a sum; nil if it is not a number.
  init?(_ value: Value, _ kind: GroupSum.Kind) {
    guard let term = ExactSum.Term(value, kind == .integersAndDoubles ? .binary : .decimal) else {
      return nil
    }
    self.init(term)
  }
}
