/// Escapes of values, and the characters of XML.
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

  /// The starts and ends of comments, CDATA sections and processing instructions. Nothing between
  /// them is a tag.
  static let markup = [
    (name: "comment", start: "<!--", end: "-->"), (name: "CDATA section", start: "<![CDATA[", end: "]]>"),
    (name: "processing instruction", start: "<?", end: "?>"),
  ]

  /// Whether a byte is a space, a tab or part of a line end.
  static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x09 || byte == 0x0D
  }
}
