/// The type of an attribute's values. The raw values are those of Core Data, and they are stored.
public enum AttributeType: UInt16, Sendable, Hashable, CaseIterable {
  /// Any Swift value. The type is valid only for transient attributes, because stores cannot store
  /// such values.
  case undefined = 0
  /// Whole numbers from -32 768 to 32 767.
  case int16 = 100
  /// Whole numbers of 32 bits.
  case int32 = 200
  /// Whole numbers of 64 bits. Swift's `Int` is stored as this type too.
  case int64 = 300
  /// Decimal numbers of up to 38 digits, exact.
  case decimal = 400
  /// Binary floating point of 64 bits.
  case double = 500
  /// Binary floating point of 32 bits.
  case float = 600
  /// Unicode text.
  case string = 700
  /// True or false.
  case boolean = 800
  /// A point in time, as seconds since the reference date in a `Double`.
  case date = 900
  /// Bytes.
  case binary = 1000
  /// A 128-bit identifier.
  case uuid = 1100
  /// A URL, stored as its absolute string.
  case uri = 1200
  /// Values of any type that are converted to bytes and back. A named `ValueTransformer` converts
  /// them, or the type itself if it is Codable. They are stored like `binary`.
  case transformable = 1800
  /// The id of an object in the same store. The attribute has no inverse and no delete rule, so the
  /// object may have been deleted.
  case objectID = 2000

  /// The name of the values' Swift type. Nil for `undefined` and `transformable`, because the model
  /// does not determine the type of their values.
  package var swiftName: String? {
    switch self {
    case .int16: "Int16"
    case .int32: "Int32"
    case .int64: "Int64"
    case .decimal: "Decimal"
    case .double: "Double"
    case .float: "Float"
    case .string: "String"
    case .boolean: "Bool"
    case .date: "Date"
    case .binary: "Data"
    case .uuid: "UUID"
    case .uri: "URL"
    case .objectID: "ManagedObjectID"
    case .undefined, .transformable: nil
    }
  }

  /// Whether the type is one of the three integer types.
  public var isInteger: Bool {
    switch self {
    case .int16, .int32, .int64: true
    default: false
    }
  }

  /// Whether stores can maintain sums of values of this type.
  package var isSummed: Bool {
    switch self {
    case .int16, .int32, .int64, .decimal, .double, .float: true
    default: false
    }
  }
}

extension AttributeType: CustomStringConvertible {
  /// The type's name in messages, for example `int16`.
  public var description: String {
    switch self {
    case .undefined: "undefined"
    case .int16: "int16"
    case .int32: "int32"
    case .int64: "int64"
    case .decimal: "decimal"
    case .double: "double"
    case .float: "float"
    case .string: "string"
    case .boolean: "boolean"
    case .date: "date"
    case .binary: "binary"
    case .uuid: "uuid"
    case .uri: "uri"
    case .transformable: "transformable"
    case .objectID: "object id"
    }
  }
}
