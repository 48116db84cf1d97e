import PerdureText

/// A JSON value, limited to the needs of the compiler's messages.
enum JSON: Hashable, Sendable {
  case null
  case bool(Bool)
  /// A whole number. Fractions and exponents are read and dropped, because no message contains
  /// them.
  case integer(Int)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  /// The member with a key; nil if this is not an object, or if the member is missing or null.
  subscript(key: String) -> JSON? {
    guard case .object(let members) = self, let value = members[key], value != .null else { return nil }
    return value
  }

  /// The first element; nil if this is not an array or is empty.
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
  /// The value as JSON text in UTF-8, with members in the order of their names.
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
