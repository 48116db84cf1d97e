// Sums that a store keeps for the objects of a relationship (`IndexDefinition.Kind.sums`).

internal import PerdureLog
package import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The exact sum of whole numbers: what comes and goes leaves no trace.
package struct StoredSum {
  private var sum: GroupSum

  /// The sum of nothing.
  package init() { sum = GroupSum(of: .integersAndDecimals) }

  init(_ sum: GroupSum) { self.sum = sum }

  /// Puts a value in; nothing unless it is a whole number.
  package mutating func add(_ value: Value) {
    if case .integer(let number) = value { sum.add(.integer(number)) }
  }

  /// Takes a value out that is in it.
  package mutating func remove(_ value: Value) {
    if case .integer(let number) = value { sum.remove(.integer(number)) }
  }

  /// The sum as fields of a kind hold it; null where they cannot.
  package func value(as kind: FieldKind) -> Value {
    if let whole = sum.int64 { return Value.integer(whole).stored(as: kind) ?? .null }
    guard kind == .decimal, let digits = sum.decimal,
      let decimal = Decimal(
        string: "\(digits.isNegative ? "-" : "")\(digits.coefficient)e\(digits.exponent)")
    else { return .null }
    return .decimal(decimal)
  }
}
