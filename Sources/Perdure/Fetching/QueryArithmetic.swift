// Calculations in queries: `{ $0.price * $0.count > 100 }`, `{ ($0.bonus ?? 0) + $0.salary > 9 }`.
//
// Calculations have the same meaning as the functions of a format string. They do not overflow: a
// whole result that does not fit in 64 bits is a decimal. A `Float` is calculated as a `Double`. A
// calculation with a missing value has no value. Whole numbers have no operator `/`, because their
// quotient is a fraction in a predicate, but not in Swift.

public import PerdurePredicates

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension PropertyRef {
  fileprivate init(_ function: FetchFunction, _ arguments: FetchExpression...) {
    self.init(.function(function, arguments))
  }

  /// The value of the property, or another value if it has none.
  ///
  /// - Parameters:
  ///   - left: An optional property.
  ///   - right: The value if the property has none.
  public static func ?? (left: Self, right: V) -> Self where V: PredicateArgument {
    // Only this operator makes a conditional. If `left` is a conditional whose constant is not
    // null, it always has a value. A second conditional contains `left` twice, so it has double the
    // size.
    if case .conditional(_, .constant(let value), _) = left.expression, !value.isNull { return left }
    let isMissing = FetchPredicate.comparison(FetchComparison(left.expression, .equal, .constant(.null)))
    return Self(.conditional(isMissing, .constant(right.predicateValue), left.expression))
  }
}

extension PropertyRef where V: PredicateArgument & Numeric {
  /// The sum of two properties.
  public static func + (left: Self, right: Self) -> Self { Self(.add, left.expression, right.expression) }
  /// The sum of a property and a value.
  public static func + (left: Self, right: V) -> Self { left + constant(right) }
  /// The sum of a value and a property.
  public static func + (left: V, right: Self) -> Self { constant(left) + right }

  /// The difference of two properties.
  public static func - (left: Self, right: Self) -> Self {
    Self(.subtract, left.expression, right.expression)
  }
  /// A property minus a value.
  public static func - (left: Self, right: V) -> Self { left - constant(right) }
  /// A value minus a property.
  public static func - (left: V, right: Self) -> Self { constant(left) - right }

  /// The product of two properties.
  public static func * (left: Self, right: Self) -> Self {
    Self(.multiply, left.expression, right.expression)
  }
  /// The product of a property and a value.
  public static func * (left: Self, right: V) -> Self { left * constant(right) }
  /// The product of a value and a property.
  public static func * (left: V, right: Self) -> Self { constant(left) * right }

  /// The negative of a property.
  public static prefix func - (operand: Self) -> Self { Self(.negate, operand.expression) }

  fileprivate static func constant(_ value: V) -> Self { Self(.constant(value.predicateValue)) }
}

/// A number whose division gives a fraction: `Double`, `Float` and `Decimal`.
public protocol FractionalArgument: PredicateArgument, Numeric {}

extension Double: FractionalArgument {}
extension Float: FractionalArgument {}
extension Decimal: FractionalArgument {}

extension PropertyRef where V: FractionalArgument {
  /// The quotient of two properties; no value if the right one is 0.
  public static func / (left: Self, right: Self) -> Self { Self(.divide, left.expression, right.expression) }
  /// A property divided by a value; no value if the value is 0.
  public static func / (left: Self, right: V) -> Self { left / constant(right) }
  /// A value divided by a property; no value if the property is 0.
  public static func / (left: V, right: Self) -> Self { constant(left) / right }
}

extension PropertyRef where V: PredicateArgument & BinaryInteger {
  /// The remainder of a division of two properties, with the sign of the left one; no value if the
  /// right one is 0.
  public static func % (left: Self, right: Self) -> Self { Self(.modulus, left.expression, right.expression) }
  /// The remainder of a division by a value, with the sign of the property; no value for 0.
  public static func % (left: Self, right: V) -> Self { left % constant(right) }

  /// The bits that are set in both properties.
  public static func & (left: Self, right: Self) -> Self {
    Self(.bitwiseAnd, left.expression, right.expression)
  }
  /// The bits that are set in both the property and the value: `$0.flags & 4 != 0`.
  public static func & (left: Self, right: V) -> Self { left & constant(right) }

  /// The bits that are set in at least one property.
  public static func | (left: Self, right: Self) -> Self {
    Self(.bitwiseOr, left.expression, right.expression)
  }
  /// The bits that are set in the property or in the value.
  public static func | (left: Self, right: V) -> Self { left | constant(right) }

  /// The bits that are set in exactly one property.
  public static func ^ (left: Self, right: Self) -> Self {
    Self(.bitwiseXor, left.expression, right.expression)
  }
  /// The bits that are set in the property or in the value, but not in both.
  public static func ^ (left: Self, right: V) -> Self { left ^ constant(right) }

  /// All bits inverted.
  public static prefix func ~ (operand: Self) -> Self { Self(.onesComplement, operand.expression) }
}
