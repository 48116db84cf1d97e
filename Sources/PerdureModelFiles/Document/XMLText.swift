/// Escapes of attribute values, and the characters of XML.
enum XMLText {
  /// A value as Xcode writes it between double quotes.
  static func escaped(_ value: String) -> String {
    guard value.utf8.contains(where: { $0 < 0x20 || special.contains($0) }) else { return value }
    var text = ""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      case "'": text += "&apos;"
      case "\t", "\n", "\r": text += "&#\(scalar.value);"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  private static let special: Set<UInt8> = Set("&<>\"'".utf8)

  /// Text with references to characters, without them. Unknown references are kept.
  static func unescaped(_ text: String) -> String {
    text.replacing(/&([#a-zA-Z0-9]+);/) { match in
      character(named: String(match.output.1)).map { String($0) } ?? String(match.output.0)
    }
  }

  /// The first character that no XML file can contain; nil if there is none.
  static func forbidden(in value: String) -> Unicode.Scalar? {
    value.unicodeScalars.first { !isAllowed($0) }
  }

  /// Whether XML 1.0 allows a character.
  static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x9, 0xA, 0xD, 0x20...0xD7FF, 0xE000...0xFFFD, 0x10000...: true
    default: false
    }
  }

  /// The characters of an entity reference without `&` and `;`; nil if it is unknown.
  static func character(named name: String) -> Character? {
    switch name {
    case "amp": return "&"
    case "lt": return "<"
    case "gt": return ">"
    case "quot": return "\""
    case "apos": return "'"
    default: break
    }
    guard name.hasPrefix("#") else { return nil }
    let digits = name.dropFirst()
    let value = digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
    guard digits.first != "+", digits.dropFirst().first != "+", let value,
      let scalar = Unicode.Scalar(value), isAllowed(scalar)
    else { return nil }
    return Character(scalar)
  }
}
