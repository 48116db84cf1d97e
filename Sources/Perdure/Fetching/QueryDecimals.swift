// Comparisons of decimals with floating-point numbers. Without these operators, Swift converts the
// literal in `$0.price == 3.133` to a Double and then to a Decimal. The result is another number.
// In a predicate, a Double represents the shortest decimal that converts to it. This decimal has
// the digits of the literal.

public import PerdurePredicates

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension PropertyRef<Decimal> {
  private func compare(
    _ op: FetchComparison.Operator, _ number: some BinaryFloatingPoint
  ) -> FetchPredicate {
    .comparison(FetchComparison(expression, op, .constant(.double(Double(number)))))
  }

  /// Whether the property equals the value. The value is converted to a Double, and then to the
  /// shortest decimal that converts to this Double.
  public static func == (left: Self, right: some BinaryFloatingPoint) -> FetchPredicate {
    left.compare(.equal, right)
  }
  /// Whether the property has another value, or none.
  public static func != (left: Self, right: some BinaryFloatingPoint) -> FetchPredicate {
    left.compare(.notEqual, right)
  }
  /// Whether the property is less than the value.
  public static func < (left: Self, right: some BinaryFloatingPoint) -> FetchPredicate {
    left.compare(.lessThan, right)
  }
  /// Whether the property is at most the value.
  public static func <= (left: Self, right: some BinaryFloatingPoint) -> FetchPredicate {
    left.compare(.lessThanOrEqual, right)
  }
  /// Whether the property is greater than the value.
  public static func > (left: Self, right: some BinaryFloatingPoint) -> FetchPredicate {
    left.compare(.greaterThan, right)
  }
  /// Whether the property is at least the value.
  public static func >= (left: Self, right: some BinaryFloatingPoint) -> FetchPredicate {
    left.compare(.greaterThanOrEqual, right)
  }
}
