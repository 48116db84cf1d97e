/// How a terminal shows a piece of text.
package enum TextStyle: String, Sendable, CaseIterable {
  case bold = "1"
  case red = "31"
  case green = "32"

  /// The text with the escape sequences of the style before and after it.
  package func applied(to text: String) -> String { "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" }
}
