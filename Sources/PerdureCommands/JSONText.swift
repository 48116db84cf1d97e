/// A value as JSON writes it. Members keep their order.
enum JSONText: Equatable {
  case null
  case bool(Bool)
  case number(String)
  case string(String)
  case array([JSONText])
  case object([(String, JSONText)])

  static func integer(_ value: some BinaryInteger) -> JSONText { .number(String(value)) }

  /// A number; the text nan, inf or -inf where JSON has none.
  static func double(_ value: Double) -> JSONText {
    value.isFinite ? .number("\(value)") : .string("\(value)")
  }

  /// Text if the bytes are UTF-8, else an object whose member `hex` has them.
  static func bytes(_ bytes: [UInt8]) -> JSONText {
    if let text = String(validating: bytes, as: UTF8.self) { return .string(text) }
    return hex(bytes)
  }

  /// An object whose member `hex` has the bytes.
  static func hex(_ bytes: [UInt8]) -> JSONText {
    .object([("hex", .string(Hexadecimal.digits(bytes)))])
  }

  /// On one line, without spaces.
  var text: String {
    switch self {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .number(let digits): digits
    case .string(let string): Self.quoted(string)
    case .array(let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
    case .object(let members):
      "{" + members.map { Self.quoted($0.0) + ":" + $0.1.text }.joined(separator: ",") + "}"
    }
  }

  private static func quoted(_ string: String) -> String {
    var result = "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\t": result += "\\t"
      case "\r": result += "\\r"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        result += "\\u" + Hexadecimal.digits([0, UInt8(scalar.value)])
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  static func == (a: JSONText, b: JSONText) -> Bool { a.text == b.text }
}

/// Bytes in hexadecimal.
enum Hexadecimal {
  static func digits(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// The bytes of an even number of digits; nil for anything else.
  static func bytes(_ digits: some StringProtocol) -> [UInt8]? {
    let values = digits.compactMap(\.hexDigitValue)
    guard values.count % 2 == 0, values.count == digits.utf8.count else { return nil }
    return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
  }
}
