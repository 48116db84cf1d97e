/// Recognizes initial values that are computed for each new object: the current time and a new
/// UUID. Any other initial value is computed once, because the model contains it.
enum MadeDefault {
  /// The case of `DefaultValue` for an initial value; nil if there is no value, or if it is not
  /// such a computed value.
  static func of(_ value: String?, type: String) -> String? {
    guard let value else { return nil }
    switch (text(type), text(value)) {
    case ("Date", "Date()"), ("Date", "Date.init()"), ("Date", ".init()"), ("Date", "Date.now"),
      ("Date", ".now"),
      ("Date?", "Date()"), ("Date?", "Date.init()"), ("Date?", "Date.now"), ("Date?", ".now"):
      return ".now"
    case ("UUID", "UUID()"), ("UUID", "UUID.init()"), ("UUID", ".init()"), ("UUID?", "UUID()"),
      ("UUID?", "UUID.init()"):
      return ".newUUID"
    default: return nil
    }
  }

  private static func text(_ source: String) -> String {
    let text = Lexer.tokens(of: source).map(\.text).joined()
    return text.hasPrefix("Foundation.") ? String(text.dropFirst("Foundation.".count)) : text
  }
}
