// The functions from text to text. Predicates, derived attributes and index keys share one
// implementation with the pinned tables, so that stored values mean the same on every system.

/// A function from text to text. The raw value is its selector spelling.
package enum TextFunction: String, Hashable, Sendable, CaseIterable {
  /// Text without case and diacritics (``StringFolding``).
  case canonical = "canonical:"
  /// Text in lower case.
  case lowercase = "lowercase:"
  /// Text in upper case.
  case uppercase = "uppercase:"

  /// Converts a function; nil if it is not a function from text to text.
  package init?(_ function: FetchFunction) {
    self.init(rawValue: function.rawValue)
  }

  /// The function as written in expressions.
  package var function: FetchFunction {
    switch self {
    case .canonical: .canonical
    case .lowercase: .lowercase
    case .uppercase: .uppercase
    }
  }

  /// The result of the function for a text.
  package func applied(to text: String) -> String {
    var text = text
    return text.withUTF8 { String(decoding: applied(to: UnsafeRawBufferPointer($0)), as: UTF8.self) }
  }

  /// The result of the function for a text in UTF-8, as UTF-8.
  ///
  /// - Complexity: linear in the length of the text.
  package func applied(to bytes: UnsafeRawBufferPointer) -> [UInt8] {
    switch self {
    case .canonical: return StringFolding.fold(bytes, [.caseInsensitive, .diacriticInsensitive])
    case .lowercase:
      return StringFolding.isASCII(bytes)
        ? bytes.map(StringFolding.lowercased) : CaseTable.lower.mapped(bytes)
    case .uppercase:
      return StringFolding.isASCII(bytes) ? bytes.map(Self.uppercased) : CaseTable.upper.mapped(bytes)
    }
  }

  /// An ASCII byte in upper case.
  private static func uppercased(_ byte: UInt8) -> UInt8 {
    byte &- 0x61 < 26 ? byte & ~0x20 : byte
  }
}

extension TextFunction {
  /// Parses a property path with or without a function: `canonical:(name)`, `address.street`.
  ///
  /// - Returns: The parts; nil if the text has another form.
  package static func parse(_ text: String) -> (function: TextFunction?, path: String)? {
    guard let colon = text.firstIndex(of: ":") else {
      return text.contains("(") || text.contains(")") ? nil : (nil, text)
    }
    let rest = text[text.index(after: colon)...]
    guard let function = TextFunction(rawValue: String(text[...colon])), rest.first == "(", rest.last == ")"
    else { return nil }
    let path = rest.dropFirst().dropLast()
    guard !path.isEmpty, !path.contains(where: { "():".contains($0) }) else { return nil }
    return (function, String(path))
  }
}
