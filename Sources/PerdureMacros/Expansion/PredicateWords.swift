/// Words that a format string of a predicate reads as its own.
enum PredicateWords {
  /// As `ReservedWords.strict` of PerdurePredicates has them, which a compiler plugin does not
  /// link. A test compares them.
  private static let words: Set<String> = [
    "AND", "OR", "IN", "NOT", "ALL", "ANY", "SOME", "NONE", "LIKE", "MATCHES", "CONTAINS", "BEGINSWITH",
    "ENDSWITH", "BETWEEN", "NULL", "NIL", "SELF", "TRUE", "YES", "FALSE", "NO", "SUBQUERY", "TERNARY",
    "TRUEPREDICATE", "FALSEPREDICATE", "UNION", "INTERSECT", "MINUS", "ANYKEY",
  ]

  /// What to say of a property with such a name; nil for other names.
  static func warning(about name: String) -> String? {
    guard words.contains(name.uppercased()) else { return nil }
    return
      "\"\(name)\" is a word of the predicate language. Write #\(name) for the property in format strings, "
      + "or rename it."
  }
}
