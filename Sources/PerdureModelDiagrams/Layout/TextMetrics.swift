/// Estimated widths of text in `fontFamily`.
///
/// A picture must not depend on the fonts of the machine that makes it, so widths come from a
/// table. The table has the widths of the first fonts of the family. The widths of the other fonts
/// are similar; a margin covers the difference.
enum TextMetrics {
  /// The fonts, for the attribute `font-family`.
  static let fontFamily = "Helvetica, Arial, 'Liberation Sans', sans-serif"

  /// The margin, in percent.
  private static let margin = 6

  /// Widths of the characters from space to tilde, in thousandths of the font size.
  private static let widths: [Int] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,  // space to /
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,  // 0 to ?
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,  // @ to O
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,  // P to _
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,  // ` to o
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,  // p to ~
  ]

  /// The width of a text in pixels, rounded up.
  ///
  /// - Parameter size: The font size in pixels.
  static func width(of text: String, size: Int, isBold: Bool = false) -> Int {
    let thousandths = text.unicodeScalars.reduce(0) { $0 + width(of: $1) }
    let percent = 100 + margin + (isBold ? 8 : 0)
    return (thousandths * size * percent + 99_999) / 100_000
  }

  private static func width(of scalar: Unicode.Scalar) -> Int {
    let value = Int(scalar.value)
    if (0x20..<0x7F).contains(value) { return widths[value - 0x20] }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: break
    }
    // East Asian scripts, and emoji.
    let isWide =
      (0x1100..<0x1160).contains(value) || (0x2E80..<0xA4D0).contains(value)
      || (0xAC00..<0xD7A4).contains(value) || (0xF900..<0xFB00).contains(value)
      || (0xFF00..<0xFFE7).contains(value) || value >= 0x1F000
    return isWide ? 1000 : 700
  }

  /// The text, or its beginning and an ellipsis if it is longer than `limit` characters.
  static func shortened(_ text: String, limit: Int) -> String {
    guard let end = text.index(text.startIndex, offsetBy: limit, limitedBy: text.endIndex),
      end < text.endIndex
    else { return text }
    return text[..<text.index(before: end)] + "…"
  }
}
