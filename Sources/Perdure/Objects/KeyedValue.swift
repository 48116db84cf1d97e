// Converts a value that a program sets by name into the form of an attribute.
//
// Programs pass Swift numbers of other widths, results of `JSONSerialization`, and `NSNumber`
// objects. The attribute accepts such a value only if it can hold all of it. A value is never
// rounded to a whole number and never truncated. Decimals are converted to and from floating-point
// numbers by their digits: the Double 9.99 is the decimal 9.99. Two other conversions are not
// exact: an attribute of type Float rounds a Double to the nearest Float, and a URL attribute
// parses text.
//
// The Swift runtime casts instances of Foundation's classes to the matching Swift types. So this
// file needs only FoundationEssentials, and programs need not link all of Foundation.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

enum KeyedValue {
  /// The value, unwrapped if it is an optional in an `Any`; nil for nil, for an empty optional, and
  /// for `NSNull`.
  static func present(_ value: Any?) -> Any? {
    guard let value else { return nil }
    if let optional = value as? any AnyOptional { return present(optional.unwrapped) }
    return isNull(value) ? nil : value
  }

  /// Recognizes `NSNull` by its name: FoundationEssentials does not declare it.
  private static func isNull(_ value: Any) -> Bool {
    type(of: value) is AnyClass && !(value is ManagedObject) && "\(type(of: value))" == "NSNull"
  }

  /// The value as an instance of a type; nil if it is of another type.
  static func cast(_ value: Any, to type: Any.Type) -> Any? {
    func cast<T>(_ type: T.Type) -> Any? { (value as? T).map { $0 as Any } }
    return _openExistential(type, do: cast)
  }

  /// The content of a Swift value, or of an instance of a Foundation class as the matching Swift
  /// type; nil for other values.
  static func content(of value: Any) -> Value? {
    if let argument = value as? any PredicateArgument { return argument.predicateValue }
    guard type(of: value) is AnyClass else { return nil }
    for form in swiftForms {
      if let argument = form(value) { return argument.predicateValue }
    }
    return nil
  }

  /// Casts to the Swift types of Foundation's classes. The first successful cast is used. Whole
  /// numbers come before Double, because a Double can round them.
  private static let swiftForms: [@Sendable (Any) -> (any PredicateArgument)?] = [
    { $0 as? Decimal }, { $0 as? Int64 }, { $0 as? UInt64 }, { $0 as? Double }, { $0 as? String },
    { $0 as? Date }, { $0 as? Data }, { $0 as? UUID }, { $0 as? URL },
  ]

  /// Converts a value to the form of an attribute; nil if the attribute cannot hold it. A decimal
  /// attribute converts the Double 9.99 to the decimal number 9.99. An attribute of type Float
  /// rounds a Double to the nearest Float.
  static func exact(_ value: Value, as kind: FieldKind) -> Value? {
    // A Double that is too large for a Float gives nil, not infinity.
    if case (.float, .double(let double)) = (kind, value), double.isFinite, !Float(double).isFinite {
      return nil
    }
    if let stored = value.stored(as: kind) { return stored }
    switch (kind, value) {
    case (.decimal, .double(let double)): return decimal(double).map(Value.decimal)
    case (.double, .decimal(let decimal)): return double(decimal).map(Value.double)
    case (.float, .decimal(let decimal)):
      guard let float = Float("\(decimal)"), Decimal(string: "\(float)") == decimal else { return nil }
      return .double(Double(float))
    default: return nil
    }
  }

  /// The decimal number that counts as equal to a double (NO2); nil if there is none.
  private static func decimal(_ double: Double) -> Decimal? {
    guard double.isFinite, let decimal = Decimal(counting: double) ?? Decimal(string: "\(double)"),
      Double("\(decimal)") == double
    else { return nil }
    return decimal
  }

  /// The double whose description has the digits of a decimal number; nil if there is none.
  private static func double(_ decimal: Decimal) -> Double? {
    guard let double = Double("\(decimal)"), self.decimal(double) == decimal else { return nil }
    return double
  }
}
