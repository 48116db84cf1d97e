/// Text for XML and HTML.
package enum MarkupText {
  /// The text with escapes, for use between tags and in attributes.
  ///
  /// XML has no escapes for most control characters, so each of them becomes the replacement
  /// character.
  package static func escaped(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { result, scalar in
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      case "\t", "\n", "\r": result += "&#\(scalar.value);"
      case _
      where scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value) || scalar.value & 0xFFFE == 0xFFFE:
        result += "\u{FFFD}"
      default: result.unicodeScalars.append(scalar)
      }
    }
  }
}
