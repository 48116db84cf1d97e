import PerdureText

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
  var encoded: [UInt8] { Array(text.text.utf8) }

  private var text: JSONText {
    switch self {
    case .null: .null
    case .bool(let value): .bool(value)
    case .integer(let value): .integer(value)
    case .string(let value): .string(value)
    case .array(let elements): .array(elements.map(\.text))
    case .object(let members): .object(members.sorted { $0.key < $1.key }.map { ($0.key, $0.value.text) })
    }
  }
}
