/// A JSON value, as much of it as the compiler's messages need.
enum JSON: Hashable, Sendable {
  case null
  case bool(Bool)
  /// A whole number. Fractions and exponents are read and cut off: no message has any.
  case integer(Int)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  /// The member called `key`, or nil when this is no object or has no such member, or only a null.
  subscript(key: String) -> JSON? {
    guard case .object(let members) = self, let value = members[key], value != .null else { return nil }
    return value
  }

  /// The first element, or nil when this is no array or an empty one.
  var first: JSON? {
    if case .array(let elements) = self { elements.first } else { nil }
  }

  var string: String? {
    if case .string(let text) = self { text } else { nil }
  }

  var integer: Int? {
    if case .integer(let number) = self { number } else { nil }
  }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
  init(stringLiteral value: String) { self = .string(value) }
  init(integerLiteral value: Int) { self = .integer(value) }
  init(arrayLiteral elements: JSON...) { self = .array(elements) }
  init(dictionaryLiteral elements: (String, JSON)...) {
    self = .object(Dictionary(elements, uniquingKeysWith: { _, last in last }))
  }
}

// MARK: - Writing

extension JSON {
  /// The value as JSON text in UTF-8; members in the order of their names.
  var encoded: [UInt8] {
    var bytes: [UInt8] = []
    write(to: &bytes)
    return bytes
  }

  private func write(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes += Array("null".utf8)
    case .bool(let value): bytes += Array((value ? "true" : "false").utf8)
    case .integer(let value): bytes += Array(String(value).utf8)
    case .string(let text): Self.write(text, to: &bytes)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        element.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        Self.write(member.key, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  private static func write(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case 0..<0x20:
        bytes += Array("\\u00".utf8) + [hexDigit(byte >> 4), hexDigit(byte & 15)]
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}
