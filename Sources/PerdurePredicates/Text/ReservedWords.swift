// Words that are not property names unless escaped with `#`. Upper and lower case are the same.

enum ReservedWords {
  /// Words that cannot be a property where an expression starts.
  static let strict: Set<String> = [
    "AND", "OR", "IN", "NOT", "ALL", "ANY", "SOME", "NONE", "LIKE", "MATCHES", "CONTAINS", "BEGINSWITH",
    "ENDSWITH", "BETWEEN", "NULL", "NIL", "SELF", "TRUE", "YES", "FALSE", "NO", "SUBQUERY", "TERNARY",
    "TRUEPREDICATE", "FALSEPREDICATE", "UNION", "INTERSECT", "MINUS", "ANYKEY",
  ]

  /// Words that we read as properties but escape in print, for other readers of the language.
  static let lenient: Set<String> = [
    "CASEINSENSITIVE", "CI", "FIRST", "LAST", "SIZE", "FETCH", "CAST", "FUNCTION",
  ]

  /// Types of literals that are written as a word and text in parentheses: `DATE("0.5")`.
  static let literalTypes: Set<String> = [
    "DATE", "UUID", "DATA", "URL", "DECIMAL", "DOUBLE", "REFERENCE", "OBJECT",
  ]

  static func mustEscape(_ name: String) -> Bool {
    let word = name.uppercased()
    return strict.contains(word) || lenient.contains(word)
  }
}
