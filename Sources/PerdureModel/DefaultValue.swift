#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The initial value of an attribute in a new object.
///
/// String, number and boolean literals can be used as defaults.
public enum DefaultValue: Sendable, Hashable {
  /// A value for an attribute of type `boolean`.
  case bool(Bool)
  /// A value for an attribute of type `int16`, `int32` or `int64`. The model checks the range. The
  /// other number types accept this case too.
  case integer(Int64)
  /// A value for an attribute of type `double` or `float`. NaN is rejected, because a default must
  /// equal itself.
  case double(Double)
  /// A value for an attribute of type `decimal`. NaN is rejected.
  case decimal(Decimal)
  /// A value for an attribute of type `string`.
  case string(String)
  /// A value for an attribute of type `date`.
  case date(Date)
  /// A value for an attribute of type `uuid`.
  case uuid(UUID)
  /// A value for an attribute of type `binary` or `transformable`.
  case data(Data)
  /// A value for an attribute of type `uri`.
  case url(URL)
  /// For an attribute of type `date`: the time at which an object is inserted. Objects that are
  /// older than the attribute have no value.
  case now
  /// For an attribute of type `uuid`: a new UUID for each object. Objects that are older than the
  /// attribute have no value.
  case newUUID
}

extension DefaultValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral
{
  /// Makes a truth value.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// Makes a whole number.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// Makes a floating-point number.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// Makes a text.
  public init(stringLiteral value: String) { self = .string(value) }
}

extension DefaultValue {
  /// The same value in the form that `type` stores; nil if the type cannot represent it.
  ///
  /// An integer is converted to the other number types. A double is rounded to `float`. No other
  /// value is converted.
  func converted(to type: AttributeType) -> DefaultValue? {
    switch (self, type) {
    case (.integer(let value), .int16): Int16(exactly: value) == nil ? nil : self
    case (.integer(let value), .int32): Int32(exactly: value) == nil ? nil : self
    case (.integer, .int64): self
    case (.integer(let value), .double): Double(exactly: value).map { .double($0) }
    case (.integer(let value), .float): Float(exactly: value).map { .double(Double($0)) }
    case (.integer(let value), .decimal): .decimal(Decimal(value))
    case (.double(let value), .double): value.isNaN ? nil : self
    case (.double(let value), .float): value.isNaN ? nil : .double(Double(Float(value)))
    case (.decimal(let value), .decimal): value.isNaN ? nil : self
    case (.bool, .boolean), (.string, .string), (.date, .date), (.uuid, .uuid), (.data, .binary),
      (.url, .uri), (.data, .transformable), (.now, .date), (.newUUID, .uuid):
      self
    default: nil
    }
  }
}
