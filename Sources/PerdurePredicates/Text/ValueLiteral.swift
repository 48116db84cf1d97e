// Constants as text, in both directions.
//
// The language has literals for text, numbers, truth values and null. Other kinds are written as a
// typed literal, such as `DATE("631152000.5")`, so that every tree can be printed and parsed back.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Value: CustomStringConvertible {
  /// The value in the syntax of predicates.
  public var description: String {
    switch self {
    case .null: "NULL"
    case .bool(let bool): bool ? "TRUE" : "FALSE"
    case .integer(let integer): String(integer)
    case .double(let double):
      double.isFinite && !double.isReadAsLongLiteral ? String(double) : "DOUBLE(\"\(double)\")"
    case .decimal(let decimal): "DECIMAL(\"\(decimal)\")"
    case .string(let string): Self.quoted(string)
    case .date(let date): "DATE(\"\(date.timeIntervalSinceReferenceDate)\")"
    case .uuid(let uuid): "UUID(\"\(uuid)\")"
    case .data(let data): "DATA(\"\(data.base64EncodedString())\")"
    case .url(let url): "URL(\(Self.quoted(url.absoluteString)))"
    case .reference(let reference): "REFERENCE(\"\(reference.rawValue)\")"
    case .objectID(let text): "OBJECT(\(Self.quoted(text)))"
    case .list(let list): "{" + list.map(\.description).joined(separator: ", ") + "}"
    }
  }

  /// Text in double quotes, with escapes.
  package static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\t": result += "\\t"
      case "\r": result += "\\r"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  /// The value of a typed literal; nil if the type is unknown, or if the text is not a value of it.
  init?(literalType: String, text: String) {
    switch literalType {
    case "DATE":
      guard let seconds = Double(text) else { return nil }
      self = .date(Date(timeIntervalSinceReferenceDate: seconds))
    case "UUID":
      guard let uuid = UUID(uuidString: text) else { return nil }
      self = .uuid(uuid)
    case "DATA":
      guard let data = Data(base64Encoded: text) else { return nil }
      self = .data(data)
    case "URL":
      guard let url = URL(string: text) else { return nil }
      self = .url(url)
    case "DECIMAL":
      guard let decimal = Self.decimal(text) else { return nil }
      self = .decimal(decimal)
    case "DOUBLE":
      guard let double = Double(text) else { return nil }
      self = .double(double)
    case "REFERENCE":
      guard let number = UInt64(text) else { return nil }
      self = .reference(ObjectReference(rawValue: number))
    case "OBJECT": self = .objectID(text)
    default: return nil
    }
  }

  /// The value of a number in a text without a sign: an integer in one of four radices, or a real
  /// number. An integer that does not fit in 64 bits becomes a decimal if it has at most 38 decimal
  /// digits, and otherwise a double. Nil if the text is not a number, or if the number is too
  /// large.
  init?(number text: String, isNegative: Bool) {
    let (digits, radix) = Self.splitRadix(text)
    if let magnitude = UInt64(digits, radix: radix), digits.first != "+" {
      if let integer = Int64(exactly: magnitude) {
        self = .integer(isNegative ? -integer : integer)
      } else if isNegative, magnitude == Int64.min.magnitude {
        self = .integer(.min)
      } else {
        self = .decimal(isNegative ? -Decimal(magnitude) : Decimal(magnitude))
      }
    } else if radix == 10, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), text.utf8.count <= 38,
      let decimal = Self.decimal(isNegative ? "-" + text : text)
    {
      self = .decimal(decimal)
    } else if radix == 10, let double = Double(text), double.isFinite {
      self = .double(isNegative ? -double : double)
    } else {
      return nil
    }
  }

  private static func splitRadix(_ text: String) -> (digits: Substring, radix: Int) {
    switch text.prefix(2).lowercased() {
    case "0x": (text.dropFirst(2), 16)
    case "0o": (text.dropFirst(2), 8)
    case "0b": (text.dropFirst(2), 2)
    default: (Substring(text), 10)
    }
  }

  /// The decimal number in a text; nil unless the whole text is a number or `NaN`.
  /// (`Decimal(string:)` stops at the first invalid character.)
  static func decimal(_ text: String) -> Decimal? {
    if text == "NaN" { return .nan }
    return isNumber(text.utf8[...]) ? Decimal(string: text) : nil
  }

  /// Whether a text is a sign, digits with at most one point, and an exponent. The sign and the
  /// exponent can be absent.
  private static func isNumber(_ text: Substring.UTF8View) -> Bool {
    var rest = text
    func skipSign() { if let first = rest.first, "+-".utf8.contains(first) { rest.removeFirst() } }
    func skipDigits() -> Int {
      let digits = rest.prefix { (0x30...0x39).contains($0) }
      rest.removeFirst(digits.count)
      return digits.count
    }
    skipSign()
    var digitCount = skipDigits()
    if rest.first == UInt8(ascii: ".") {
      rest.removeFirst()
      digitCount += skipDigits()
    }
    if digitCount == 0 { return false }
    if let first = rest.first, "eE".utf8.contains(first) {
      rest.removeFirst()
      skipSign()
      if skipDigits() == 0 { return false }
    }
    return rest.isEmpty
  }
}
