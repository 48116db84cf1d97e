/// The reserved words of predicate format strings.
enum PredicateWords {
  /// A copy of `ReservedWords.strict`. A compiler plugin does not link PerdurePredicates, so a test
  /// compares the two sets.
  private static let words: Set<String> = [
    "AND", "OR", "IN", "NOT", "ALL", "ANY", "SOME", "NONE", "LIKE", "MATCHES", "CONTAINS", "BEGINSWITH",
    "ENDSWITH", "BETWEEN", "NULL", "NIL", "SELF", "TRUE", "YES", "FALSE", "NO", "SUBQUERY", "TERNARY",
    "TRUEPREDICATE", "FALSEPREDICATE", "UNION", "INTERSECT", "MINUS", "ANYKEY",
  ]

  /// The warning about a property whose name is a reserved word; nil for other names.
  static func warning(about name: String) -> String? {
    guard words.contains(name.uppercased()) else { return nil }
    return
      "\"\(name)\" is a word of the predicate language. Write #\(name) for the property in format strings, "
      + "or rename it."
  }
}
