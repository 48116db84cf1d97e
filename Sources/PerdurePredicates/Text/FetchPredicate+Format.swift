// Predicates and expressions from text.

extension FetchPredicate {
  /// Reads a predicate from text.
  ///
  ///     try FetchPredicate(format: "name BEGINSWITH[c] %@ AND age > %d", "Li", 30)
  ///
  /// Arguments take the places of specifiers in order: `%K` a property path, `%d`, `%i`, `%u` and their kin
  /// a whole number, `%f` and its kin any number, `%s` text, `%@` any value or nil. A specifier in quotes
  /// is plain text. Put what comes from a user into arguments, never into the text.
  ///
  /// - Throws: an error with the column, what was expected there and what to do. Any text either gives a
  ///   predicate or throws; nesting beyond 50 levels throws.
  /// - Complexity: linear in the length of the text.
  public init(
    format: String, _ arguments: (any PredicateArgument)?...
  ) throws(PredicateSyntaxError) {
    try self.init(format: format, argumentArray: arguments)
  }

  /// Reads a predicate from text, with the arguments in an array.
  ///
  /// - Throws: as ``init(format:_:)``.
  public init(
    format: String, argumentArray: [(any PredicateArgument)?]
  ) throws(PredicateSyntaxError) {
    var parser = try PredicateParser(
      format, arguments: argumentArray.map { $0?.argumentValue ?? .null })
    self = try parser.parsePredicate()
  }
}

extension FetchExpression {
  /// Reads an expression from text, such as `salary * 12` or `sum:(orders.price)`.
  ///
  /// - Throws: as ``FetchPredicate/init(format:_:)``.
  public init(
    format: String, _ arguments: (any PredicateArgument)?...
  ) throws(PredicateSyntaxError) {
    var parser = try PredicateParser(format, arguments: arguments.map { $0?.argumentValue ?? .null })
    self = try parser.parseWholeExpression()
  }
}
