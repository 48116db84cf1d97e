// The arguments for `%@`, `%K`, `%d` and similar specifiers.
//
// An argument is a value and never part of the language. So the content of a string cannot change
// the structure of the predicate. Text that is inserted into the format is code; pass it as an
// argument instead.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A type whose values can be arguments of a predicate format.
public protocol PredicateArgument {
  /// The value to put in the predicate.
  var predicateValue: Value { get }

  /// The value to use as an argument of a format, or as the value of a variable.
  ///
  /// By default it is the value itself. A Float is converted to the Double with the same printed
  /// digits, even in collections and optionals. So a comparison with a Float attribute finds the
  /// same Float, and one with a Decimal or Double attribute finds the printed number.
  var argumentValue: Value { get }

  /// The value at the end of a path from this value. If a variable has this value, it replaces
  /// paths from the variable, such as `$FETCH_SOURCE.name`.
  ///
  /// - Parameter names: The names of the path, without the variable.
  /// - Returns: Nil if the value does not have these properties. The path then stays in the
  ///   predicate.
  func argumentValue(atPath names: [String]) -> Value?
}

extension PredicateArgument {
  /// The value itself.
  public var argumentValue: Value { predicateValue }

  /// Nil: a plain value has no properties.
  public func argumentValue(atPath names: [String]) -> Value? { nil }
}

extension Value: PredicateArgument {
  /// The value itself.
  public var predicateValue: Value { self }
}

extension ObjectReference: PredicateArgument {
  /// The identity as a value.
  public var predicateValue: Value { .reference(self) }
}

extension PredicateArgument where Self: BinaryInteger {
  /// The number; a decimal number if it does not fit in a signed 64-bit integer.
  public var predicateValue: Value {
    if let integer = Int64(exactly: self) { return .integer(integer) }
    if let unsigned = UInt64(exactly: self) { return .decimal(Decimal(unsigned)) }
    return .decimal(Decimal(string: String(self)) ?? .nan)
  }
}

extension Int: PredicateArgument {}
extension Int8: PredicateArgument {}
extension Int16: PredicateArgument {}
extension Int32: PredicateArgument {}
extension Int64: PredicateArgument {}
extension UInt: PredicateArgument {}
extension UInt8: PredicateArgument {}
extension UInt16: PredicateArgument {}
extension UInt32: PredicateArgument {}
extension UInt64: PredicateArgument {}

extension Double: PredicateArgument {
  /// The number.
  public var predicateValue: Value { .double(self) }
}

extension Float: PredicateArgument {
  /// The number, widened without loss.
  public var predicateValue: Value { .double(Double(self)) }

  /// The Double with the same decimal digits. For the Float 9.99 it is 9.99, while converting the
  /// Float gives 9.989999771118164.
  public var argumentValue: Value {
    guard let double = Double(description), Self(double) == self else { return predicateValue }
    return .double(double)
  }
}

extension Bool: PredicateArgument {
  /// The truth value.
  public var predicateValue: Value { .bool(self) }
}

extension String: PredicateArgument {
  /// The text.
  public var predicateValue: Value { .string(self) }
}

extension Substring: PredicateArgument {
  /// The text.
  public var predicateValue: Value { .string(String(self)) }
}

extension Character: PredicateArgument {
  /// The character as text.
  public var predicateValue: Value { .string(String(self)) }
}

extension Date: PredicateArgument {
  /// The point in time.
  public var predicateValue: Value { .date(self) }
}

extension UUID: PredicateArgument {
  /// The identifier.
  public var predicateValue: Value { .uuid(self) }
}

extension Data: PredicateArgument {
  /// The bytes.
  public var predicateValue: Value { .data(self) }
}

extension Decimal: PredicateArgument {
  /// The number.
  public var predicateValue: Value { .decimal(self) }
}

extension URL: PredicateArgument {
  /// The URL.
  public var predicateValue: Value { .url(self) }
}

extension Optional: PredicateArgument where Wrapped: PredicateArgument {
  /// The wrapped value, or null.
  public var predicateValue: Value { self?.predicateValue ?? .null }

  /// The argument value of the wrapped value, or null.
  public var argumentValue: Value { self?.argumentValue ?? .null }
}

extension Array: PredicateArgument where Element: PredicateArgument {
  /// The elements as a list.
  public var predicateValue: Value { .list(map(\.predicateValue)) }

  /// The argument values of the elements, as a list.
  public var argumentValue: Value { .list(map(\.argumentValue)) }
}

extension ArraySlice: PredicateArgument where Element: PredicateArgument {
  /// The elements as a list.
  public var predicateValue: Value { .list(map(\.predicateValue)) }

  /// The argument values of the elements, as a list.
  public var argumentValue: Value { .list(map(\.argumentValue)) }
}

extension Set: PredicateArgument where Element: PredicateArgument {
  /// The elements as a list, in no particular order.
  public var predicateValue: Value { .list(map(\.predicateValue)) }

  /// The argument values of the elements, as a list.
  public var argumentValue: Value { .list(map(\.argumentValue)) }
}

extension Dictionary: PredicateArgument where Value: PredicateArgument {
  /// The dictionary's values as a list, in no particular order.
  public var predicateValue: PerdurePredicates.Value { .list(values.map(\.predicateValue)) }

  /// The argument values of the dictionary's values, as a list.
  public var argumentValue: PerdurePredicates.Value { .list(values.map(\.argumentValue)) }
}

extension ClosedRange: PredicateArgument where Bound: PredicateArgument {
  /// The two bounds as a list, for `BETWEEN`.
  public var predicateValue: Value { .list([lowerBound.predicateValue, upperBound.predicateValue]) }

  /// The argument values of the two bounds, as a list.
  public var argumentValue: Value { .list([lowerBound.argumentValue, upperBound.argumentValue]) }
}
