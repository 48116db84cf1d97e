public import PerdureModel
public import PerdurePredicates

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A Swift type that an attribute can have.
///
/// An enumeration with raw values of such a type only needs to declare the conformance. The store
/// has its raw values, and fetches compare and sort by them:
///
///     enum Binding: String, AttributeValue, CaseIterable { case paper, cloth, leather }
///
/// The store may hold a value that the type cannot represent, written by another version of the
/// program. Then an optional property reads as nil. Any other property reads as `zeroValue`, or as
/// its initial value if the type is a `CodableAttributeValue`. The stored value stays until the
/// property is set, and `value(forKey:)` returns it. A type that must distinguish such values
/// defines its own `init?(attributeValue:)`.
public protocol AttributeValue: PredicateArgument {
  /// How values are stored.
  static var attributeType: AttributeType { get }
  /// The value of a property that is not optional, if no value is stored, or if the type cannot
  /// represent the stored value.
  static var zeroValue: Self { get }
  /// Converts a stored value; nil if the type cannot represent it.
  init?(attributeValue: Value)
}

extension Int64: AttributeValue {
  /// How values are stored.
  public static var attributeType: AttributeType { .int64 }
  /// The value that is read if no value is stored.
  public static var zeroValue: Int64 { 0 }
  /// The stored value; nil for a value of another kind.
  public init?(attributeValue: Value) {
    guard case .integer(let integer) = attributeValue else { return nil }
    self = integer
  }
}

extension Int: AttributeValue {
  /// How values are stored.
  public static var attributeType: AttributeType { .int64 }
  /// The value that is read if no value is stored.
  public static var zeroValue: Int { 0 }
  /// The stored value; nil for a value of another kind, or for a number that does not fit.
  public init?(attributeValue: Value) {
    guard case .integer(let integer) = attributeValue else { return nil }
    self.init(exactly: integer)
  }
}

extension Int32: AttributeValue {
  /// How values are stored.
  public static var attributeType: AttributeType { .int32 }
  /// The value that is read if no value is stored.
  public static var zeroValue: Int32 { 0 }
  /// The stored value; nil for a value of another kind, or for a number that does not fit.
  public init?(attributeValue: Value) {
    guard case .integer(let integer) = attributeValue else { return nil }
    self.init(exactly: integer)
  }
}

extension Int16: AttributeValue {
  /// How values are stored.
  public static var attributeType: AttributeType { .int16 }
  /// The value that is read if no value is stored.
  public static var zeroValue: Int16 { 0 }
  /// The stored value; nil for a value of another kind, or for a number that does not fit.
  public init?(attributeValue: Value) {
    guard case .integer(let integer) = attributeValue else { return nil }
    self.init(exactly: integer)
  }
}

extension Bool: AttributeValue {
  /// How values are stored.
  public static var attributeType: AttributeType { .boolean }
  /// The value that is read if no value is stored.
  public static var zeroValue: Bool { false }
  /// The stored value; nil for a value of another kind.
  public init?(attributeValue: Value) {
    guard case .bool(let bool) = attributeValue else { return nil }
    self = bool
  }
}

extension Double: AttributeValue {
  /// How values are stored.
  public static var attributeType: AttributeType { .double }
  /// The value that is read if no value is stored.
  public static var zeroValue: Double { 0 }
  /// The stored value; nil for a value of another kind. A date gives its seconds since the
  /// reference date, so that a `TimeInterval` can be the accessor of an attribute that holds dates.
  public init?(attributeValue: Value) {
    switch attributeValue {
    case .double(let double): self = double
    case .date(let date): self = date.timeIntervalSinceReferenceDate
    default: return nil
    }
  }
}

extension Float: AttributeValue {
  /// How values are stored.
  public static var attributeType: AttributeType { .float }
  /// The value that is read if no value is stored.
  public static var zeroValue: Float { 0 }
  /// The stored value, rounded to a Float; nil for a value of another kind.
  public init?(attributeValue: Value) {
    guard case .double(let double) = attributeValue else { return nil }
    self = Float(double)
  }
}

extension Decimal: AttributeValue {
  /// How values are stored.
  public static var attributeType: AttributeType { .decimal }
  /// The value that is read if no value is stored.
  public static var zeroValue: Decimal { 0 }
  /// The stored value; nil for a value of another kind.
  public init?(attributeValue: Value) {
    guard case .decimal(let decimal) = attributeValue else { return nil }
    self = decimal
  }
}

extension String: AttributeValue {
  /// How values are stored.
  public static var attributeType: AttributeType { .string }
  /// The value that is read if no value is stored.
  public static var zeroValue: String { "" }
  /// The stored value; nil for a value of another kind.
  public init?(attributeValue: Value) {
    guard case .string(let text) = attributeValue else { return nil }
    self = text
  }
}

extension Date: AttributeValue {
  /// How values are stored.
  public static var attributeType: AttributeType { .date }
  /// The value that is read if no value is stored.
  public static var zeroValue: Date { Date(timeIntervalSinceReferenceDate: 0) }
  /// The stored value; nil for a value of another kind.
  public init?(attributeValue: Value) {
    guard case .date(let date) = attributeValue else { return nil }
    self = date
  }
}

extension UUID: AttributeValue {
  /// How values are stored.
  public static var attributeType: AttributeType { .uuid }
  /// The value that is read if no value is stored.
  public static var zeroValue: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
  /// The stored value; nil for a value of another kind.
  public init?(attributeValue: Value) {
    guard case .uuid(let uuid) = attributeValue else { return nil }
    self = uuid
  }
}

extension Data: AttributeValue {
  /// How values are stored.
  public static var attributeType: AttributeType { .binary }
  /// The value that is read if no value is stored.
  public static var zeroValue: Data { Data() }
  /// The stored value; nil for a value of another kind.
  public init?(attributeValue: Value) {
    guard case .data(let data) = attributeValue else { return nil }
    self = data
  }
}

extension URL: AttributeValue {
  /// How values are stored.
  public static var attributeType: AttributeType { .uri }
  /// The value that is read if no value is stored.
  public static var zeroValue: URL { URL(fileURLWithPath: "") }
  /// The stored value; nil for a value of another kind.
  public init?(attributeValue: Value) {
    guard case .url(let url) = attributeValue else { return nil }
    self = url
  }
}
