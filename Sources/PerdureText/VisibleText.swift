/// Text from outside, such as names in files, in a form that is safe in one line of output.
///
/// A control character could end the line or move the cursor of a terminal. A mark of text
/// direction could change the order in which the line is shown. Each becomes an escape such as `\n`
/// or `\u{202e}`.
package enum VisibleText {
  /// The text in one line, with escapes.
  ///
  /// - Complexity: O(n) for n bytes.
  package static func line(_ text: String) -> String {
    text.unicodeScalars.contains(where: isControl) ? escaped(text.unicodeScalars) : text
  }

  /// The character, with escapes for its scalars.
  static func shown(_ character: Character) -> String {
    guard character.unicodeScalars.contains(where: isControl) else { return String(character) }
    return escaped(character.unicodeScalars)
  }

  /// Whether the scalar is a control character, a line separator or a mark of text direction.
  static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0, 0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  private static func escaped(_ scalars: some Sequence<Unicode.Scalar>) -> String {
    scalars.reduce(into: "") { text, scalar in
      switch scalar {
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case _ where isControl(scalar): text += "\\u{\(String(scalar.value, radix: 16))}"
      default: text.unicodeScalars.append(scalar)
      }
    }
  }
}
