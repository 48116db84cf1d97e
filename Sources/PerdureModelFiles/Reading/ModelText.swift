import PerdureModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Values as text in model files. Numbers have a point and no grouping. A value that is written as
/// text and read again is equal to the original.
package enum ModelText {
  /// A truth value: `YES`, `NO`, `true` or `false` in any case, 1, 0, 1.0 or 0.0; nil for other
  /// text.
  package static func bool(_ text: String) -> Bool? {
    switch text.lowercased() {
    case "yes", "true", "1", "1.0": true
    case "no", "false", "0", "0.0": false
    default: nil
    }
  }

  /// A whole number. A fraction is dropped, and truth values are 1 and 0, as in files of Xcode. Nil
  /// for other text, and for a number that no Int64 can represent.
  static func integer(_ text: String) -> Int64? {
    if let value = Int64(text) { return value }
    if let value = number(text), value.isFinite { return Int64(exactly: value.rounded(.towardZero)) }
    return bool(text).map { $0 ? 1 : 0 }
  }

  /// A floating-point number: decimal, `inf` or `-inf`; nil for other text.
  static func number(_ text: String) -> Double? {
    isDecimal(text) || text == "inf" || text == "-inf" ? Double(text) : nil
  }

  /// A decimal number of up to 38 digits, with an exponent from -127 to 127.
  static func decimal(_ text: String) -> Decimal? {
    guard isDecimal(text), text.utf8.count <= 255 else { return nil }
    let parts = text.lowercased().split(separator: "e")
    if parts.count == 2, !(-127...127).contains(Int(parts[1]) ?? .max) { return nil }
    guard let value = Decimal(string: text), !value.isNaN else { return nil }
    return value
  }

  /// Whether a text is a decimal number, with an optional fraction and exponent.
  private static func isDecimal(_ text: String) -> Bool {
    text.wholeMatch(of: /[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?/) != nil
  }

  /// A number without the fraction `.0`, as Xcode writes intervals.
  static func text(ofInterval value: Double) -> String {
    if value == value.rounded(), abs(value) < 1e15 { return String(Int64(value)) }
    return "\(value)"
  }

  // MARK: Defaults and bounds

  /// Reads a value of the type. Returns nil if the text is not a valid value, or if values of the
  /// type cannot be written as text.
  static func value(_ text: String, _ type: AttributeType) -> DefaultValue? {
    switch type {
    case .int16: integer(text).flatMap { Int16(exactly: $0) }.map { .integer(Int64($0)) }
    case .int32: integer(text).flatMap { Int32(exactly: $0) }.map { .integer(Int64($0)) }
    case .int64: integer(text).map { .integer($0) }
    case .decimal: decimal(text).map { .decimal($0) }
    case .double: number(text).map { .double($0) }
    case .float: number(text).map { .double(Double(Float($0))) }
    case .string: .string(text)
    case .boolean: bool(text).map { .bool($0) }
    case .date: number(text).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case .uuid: UUID(uuidString: text).map { .uuid($0) }
    case .uri: URL(string: text).map { .url($0) }
    case .binary, .transformable: Data(base64Encoded: text).map { .data($0) }
    case .undefined, .objectID: nil
    }
  }

  /// The text of a value, in the form of its type; nil for `now` and `newUUID`, whose values differ
  /// for each object.
  static func text(of value: DefaultValue, _ type: AttributeType) -> String? {
    switch value {
    case .bool(let value): value ? "YES" : "NO"
    case .integer(let value): type == .double || type == .float ? "\(value).0" : "\(value)"
    case .double(let value): type == .float ? "\(Float(value))" : "\(value)"
    case .decimal(let value): "\(value)"
    case .string(let value): value
    case .date(let value): text(ofInterval: value.timeIntervalSinceReferenceDate)
    case .uuid(let value): value.uuidString
    case .data(let value): value.base64EncodedString()
    case .url(let value): value.absoluteString
    case .now, .newUUID: nil
    }
  }
}

extension AttributeType {
  /// The name of the type in model files; nil for `undefined`, which the files omit.
  var fileName: String? {
    switch self {
    case .undefined: nil
    case .int16: "Integer 16"
    case .int32: "Integer 32"
    case .int64: "Integer 64"
    case .decimal: "Decimal"
    case .double: "Double"
    case .float: "Float"
    case .string: "String"
    case .boolean: "Boolean"
    case .date: "Date"
    case .binary: "Binary"
    case .uuid: "UUID"
    case .uri: "URI"
    case .transformable: "Transformable"
    case .objectID: "ObjectID"
    }
  }

  /// The types by their names in model files, with the other spellings that readers accept.
  static let byFileName: [String: AttributeType] = {
    let spelled = allCases.compactMap { type in type.fileName.map { ($0, type) } }
    let others: [(String, AttributeType)] = [
      ("Object ID", .objectID), ("Undefined", .undefined), ("Undefined Type", .undefined),
      ("Transient", .undefined),
    ]
    return Dictionary(uniqueKeysWithValues: spelled + others)
  }()

  /// Whether the type is a number or truth value that can be a scalar property in Core Data.
  var isScalar: Bool {
    switch self {
    case .int16, .int32, .int64, .double, .float, .boolean: true
    default: false
    }
  }

  /// Whether the bounds in a file are lengths.
  var hasLengthBounds: Bool { self == .string || self == .uri || self == .binary }

  /// Whether the bounds in a file are numbers.
  var hasNumberBounds: Bool {
    switch self {
    case .int16, .int32, .int64, .decimal, .double, .float: true
    default: false
    }
  }
}

extension DeleteRule {
  /// The name of the rule in model files.
  var fileName: String {
    switch self {
    case .noAction: "No Action"
    case .nullify: "Nullify"
    case .cascade: "Cascade"
    case .deny: "Deny"
    }
  }
}

/// Keys of the user info for parts of a model that the format cannot express. Core Data ignores
/// these keys. Perdure removes them from the user info when it reads a file.
enum ExtensionKey {
  /// The prefix of all keys.
  static let prefix = "perdure."
  /// The default of an attribute: `now`, `newUUID`, or bytes in base 64.
  static let defaultValue = "perdure.default"
  /// The transformer of a transformable attribute. The only value is ``noTransformer``. Without
  /// this key, a stored attribute that names no transformer uses secure archives, as in Core Data.
  static let transformer = "perdure.transformer"
  /// The value for an attribute without a transformer.
  static let noTransformer = "none"
  /// The prefix of the keys for predicates of validation rules. A number from 1 follows.
  static let predicate = "perdure.predicate."
  /// The prefix of the keys for messages of predicates. The number of the predicate follows.
  static let message = "perdure.message."
}
