#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Values as expressions of Swift.
enum SwiftLiteral {
  /// A string literal on one line. Quotes, backslashes, the ends of lines and characters without a
  /// visible form are escaped.
  static func string(_ text: some StringProtocol) -> String {
    var literal = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": literal += "\\\""
      case "\\": literal += "\\\\"
      case "\n": literal += "\\n"
      case "\t": literal += "\\t"
      case "\r": literal += "\\r"
      default:
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse, .surrogate:
          literal += "\\u{\(String(scalar.value, radix: 16))}"
        default: literal.unicodeScalars.append(scalar)
        }
      }
    }
    return literal + "\""
  }

  static func array(_ elements: [String]) -> String { "[\(elements.joined(separator: ", "))]" }

  /// A dictionary literal, in the order of the keys.
  static func dictionary(_ entries: [String: String]) -> String {
    if entries.isEmpty { return "[:]" }
    return array(entries.sorted { $0.key < $1.key }.map { "\(string($0.key)): \(string($0.value))" })
  }

  /// The value as an expression with a case of `DefaultValue`, such as `.integer(3)`.
  static func value(_ value: DefaultValue) -> String {
    switch value {
    case .now: ".now"
    case .newUUID: ".newUUID"
    case .bool: ".bool(\(plain(value)))"
    case .integer: ".integer(\(plain(value)))"
    case .double: ".double(\(plain(value)))"
    case .decimal: ".decimal(\(plain(value)))"
    case .string: ".string(\(plain(value)))"
    case .date: ".date(\(plain(value)))"
    case .uuid: ".uuid(\(plain(value)))"
    case .data: ".data(\(plain(value)))"
    case .url: ".url(\(plain(value)))"
    }
  }

  /// The value as an expression of the attribute's own type.
  static func plain(_ value: DefaultValue) -> String {
    switch value {
    case .bool(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .double(let value): number(value)
    case .decimal(let value): "Decimal(string: \(string("\(value)")))!"
    case .string(let value): string(value)
    case .date(let value):
      "Date(timeIntervalSinceReferenceDate: \(number(value.timeIntervalSinceReferenceDate)))"
    case .uuid(let value): "UUID(uuidString: \(string(value.uuidString)))!"
    case .data(let value): "Data(base64Encoded: \(string(value.base64EncodedString())))!"
    case .url(let value): "URL(string: \(string(value.absoluteString)))!"
    case .now: "Date()"
    case .newUUID: "UUID()"
    }
  }

  private static func number(_ value: Double) -> String {
    if value.isNaN { return "Double.nan" }
    return value.isFinite ? "\(value)" : value < 0 ? "-Double.infinity" : "Double.infinity"
  }
}
