// Words of the predicate language. Some are reserved as property names, and some name types of
// literals. Case is ignored, except in types of literals.

package enum ReservedWords {
  /// Words that the parser does not read as a property at the start of an expression. It reads
  /// `#AND` as the property `AND`.
  package static let strict: Set<String> = [
    "AND", "OR", "IN", "NOT", "ALL", "ANY", "SOME", "NONE", "LIKE", "MATCHES", "CONTAINS", "BEGINSWITH",
    "ENDSWITH", "BETWEEN", "NULL", "NIL", "SELF", "TRUE", "YES", "FALSE", "NO", "SUBQUERY", "TERNARY",
    "TRUEPREDICATE", "FALSEPREDICATE", "UNION", "INTERSECT", "MINUS", "ANYKEY",
  ]

  /// Words that the parser accepts as properties. The printer escapes them for other parsers of the
  /// language.
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
