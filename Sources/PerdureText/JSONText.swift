/// A JSON value that can be written as text. Members keep their order.
package enum JSONText: Equatable, Sendable {
  case null
  case bool(Bool)
  case number(String)
  case string(String)
  case array([JSONText])
  case object([(String, JSONText)])

  package static func integer(_ value: some BinaryInteger) -> JSONText { .number(String(value)) }

  /// A number. Values that are not finite become one of the strings nan, inf and -inf, because JSON
  /// has no such numbers.
  package static func double(_ value: Double) -> JSONText {
    value.isFinite ? .number("\(value)") : .string("\(value)")
  }

  /// A string if the bytes are UTF-8, otherwise an object whose member `hex` contains them.
  package static func bytes(_ bytes: [UInt8]) -> JSONText {
    if let text = String(validating: bytes, as: UTF8.self) { return .string(text) }
    return hex(bytes)
  }

  /// An object whose member `hex` contains the bytes.
  package static func hex(_ bytes: [UInt8]) -> JSONText {
    .object([("hex", .string(Hexadecimal.digits(bytes)))])
  }

  /// The JSON text on one line, without spaces.
  package var text: String {
    var text = ""
    append(to: &text)
    return text
  }

  private func append(to text: inout String) {
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .number(let digits): text += digits
    case .string(let string): Self.append(quoted: string, to: &text)
    case .array(let elements):
      text += "["
      for (position, element) in elements.enumerated() {
        if position > 0 { text += "," }
        element.append(to: &text)
      }
      text += "]"
    case .object(let members):
      text += "{"
      for (position, member) in members.enumerated() {
        if position > 0 { text += "," }
        Self.append(quoted: member.0, to: &text)
        text += ":"
        member.1.append(to: &text)
      }
      text += "}"
    }
  }

  private static func append(quoted string: String, to text: inout String) {
    text += "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\t": text += "\\t"
      case "\r": text += "\\r"
      case _ where VisibleText.isControl(scalar):
        text += "\\u" + Hexadecimal.digits([UInt8(scalar.value >> 8), UInt8(scalar.value & 255)])
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }

  package static func == (a: JSONText, b: JSONText) -> Bool { a.text == b.text }
}
