/// How names are written in Swift.
enum SwiftName {
  /// Names that are escaped wherever they are declared or used.
  static let keywords: Set<String> = [
    // Declarations
    "associatedtype", "borrowing", "class", "consuming", "deinit", "enum", "extension", "fileprivate",
    "func", "import", "init", "inout", "internal", "let", "nonisolated", "open", "operator",
    "precedencegroup", "private", "protocol", "public", "rethrows", "static", "struct", "subscript",
    "typealias", "var",
    // Statements
    "break", "case", "catch", "continue", "default", "defer", "do", "else", "fallthrough", "for", "guard",
    "if", "in", "repeat", "return", "switch", "throw", "where", "while",
    // Expressions and types
    "Any", "as", "await", "false", "is", "nil", "self", "Self", "super", "throws", "true", "try",
  ]

  /// Names that no declaration can have, because Swift reserves them for its own members.
  static let impossible: Set<String> = ["Type", "Protocol", "self", "Self", "init", "Any", "_"]

  /// The name as Swift source: in backticks if it is a keyword.
  static func spelling(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

  /// Whether a text is a letter or an underscore, followed by letters, digits and underscores.
  static func isIdentifier(_ text: some StringProtocol) -> Bool {
    guard let first = text.first, first.isLetter || first == "_" else { return false }
    return text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
  }

  /// Whether a text looks like a type, such as `[String: Int]?` or `Measurement<Unit>`: it has only
  /// characters that types can have, and its brackets are balanced. The text is not parsed.
  static func isType(_ text: String) -> Bool {
    guard let first = text.first, first.isLetter || first == "_" || first == "[" else { return false }
    var depth = 0
    for character in text {
      switch character {
      case "[", "<": depth += 1
      case "]", ">": depth -= 1
      case ".", ":", ",", "?", " ", "_": break
      default: guard character.isLetter || character.isNumber else { return false }
      }
      if depth < 0 { return false }
    }
    return depth == 0
  }

  /// The name with an upper case letter at the start.
  static func capitalized(_ name: String) -> String { name.prefix(1).uppercased() + name.dropFirst() }

  /// An identifier from the letters, digits and underscores of a text, with an upper case first
  /// letter; nil if the text has none of them. A file name such as `My Notes 2` becomes `MyNotes2`.
  /// A leading digit gets an underscore before it.
  static func identifier(of text: String) -> String? {
    let words = text.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
    let joined = words.map { capitalized(String($0)) }.joined()
    guard let first = joined.first else { return nil }
    return first.isNumber ? "_" + joined : joined
  }
}

extension SwiftName {
  /// As `identifier(of:)`, but with a lower case first letter.
  static func function(of text: String) -> String? {
    identifier(of: text).map { $0.prefix(1).lowercased() + $0.dropFirst() }
  }

  /// The identifiers in the name of a type: `Dictionary` and `Date` in `Dictionary<Int, Date>?`.
  static func words(inType type: String) -> Set<String> {
    Set(type.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init))
  }

  /// Whether a type is made of types of the standard library alone.
  static func isOfStandardLibrary(_ type: String) -> Bool { words(inType: type).isSubset(of: standardTypes) }

  private static let standardTypes: Set<String> = [
    "Any", "Array", "Bool", "Character", "Dictionary", "Double", "Float", "Int", "Int16", "Int32", "Int64",
    "Int8",
    "Optional", "Set", "String", "Swift", "UInt", "UInt16", "UInt32", "UInt64", "UInt8",
  ]

  /// Whether the text of a type names a Foundation type that an attribute can have.
  static func isOfFoundation(_ type: String) -> Bool {
    !words(inType: type).isDisjoint(with: ["Data", "Date", "Decimal", "URL", "UUID"])
  }
}
