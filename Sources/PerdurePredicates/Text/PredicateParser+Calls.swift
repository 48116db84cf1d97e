// Words followed by parentheses: functions, SUBQUERY, TERNARY, CAST, FUNCTION and typed literals.

extension PredicateParser {
  /// Reads a call when a parenthesis follows the word in `token`; otherwise reads nothing.
  mutating func parseCall(_ word: String) throws(PredicateSyntaxError) -> Grown<FetchExpression>? {
    let start = token
    var spelling = word
    if let rest = lexer.readSelectorRest() { spelling += rest }
    try advance()
    guard isSymbol("(") else {
      lexer.rewind(to: start)
      try advance()
      return nil
    }
    try advance()
    switch spelling.uppercased() {
    case "SUBQUERY": return try parseSubquery()
    case "TERNARY": return try parseTernary()
    case "FETCH": throw unsupported("FETCH")
    case "FUNCTION": return try parseArguments(of: .call, at: start)
    case _ where ReservedWords.literalTypes.contains(spelling): return try parseTypedLiteral(spelling)
    default: break
    }
    guard let function = FetchFunction(spelling: spelling) else {
      throw failure(
        .unknownName, at: start, expected: "a function", found: "'\(spelling.prefix(40))'",
        remedy: "Functions are sum:, count:, min:, max:, average:, abs:, lowercase:, length: and their kin.")
    }
    return try parseArguments(of: function, at: start)
  }

  private mutating func parseArguments(
    of function: FetchFunction, at start: Token
  ) throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    let elements = try parseElements(until: ")")
    guard function.argumentCounts.contains(elements.count) else {
      let counts = function.argumentCounts
      throw failure(
        .unexpectedToken, at: start,
        expected: counts.count == 1 ? "\(counts.lowerBound) arguments" : "at least \(counts.lowerBound)",
        found: "\(elements.count)", remedy: "Give \(function.rawValue) as many arguments as it takes.")
    }
    return try grow(.function(function, elements.map(\.node)), over: elements.map(\.height))
  }

  private mutating func parseSubquery() throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    try descend()
    defer { depth -= 1 }
    let collection = try parseExpression()
    try expectSymbol(",")
    guard case .variable(let name) = token.kind else {
      throw unexpected("a variable such as $x", remedy: "Write SUBQUERY(collection, $x, $x.name == \"a\").")
    }
    try advance()
    try expectSymbol(",")
    let predicate = try parseWholePredicate()
    try expectSymbol(")")
    return try grow(
      .subquery(collection: collection.node, variable: name, predicate: predicate.node),
      over: [collection.height, predicate.height])
  }

  private mutating func parseTernary() throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    try descend()
    defer { depth -= 1 }
    let predicate = try parseWholePredicate()
    try expectSymbol(",")
    let first = try parseExpression()
    try expectSymbol(",")
    let second = try parseExpression()
    try expectSymbol(")")
    return try grow(
      .conditional(predicate.node, first.node, second.node),
      over: [predicate.height, first.height, second.height])
  }

  /// `DATE("0.5")` and its kin.
  private mutating func parseTypedLiteral(
    _ type: String
  ) throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    guard case .text(let text) = token.kind else {
      throw unexpected("text in quotes", remedy: "Write \(type)(\"…\"), or pass the value as an argument.")
    }
    guard let value = Value(literalType: type, text: text) else {
      throw failure(
        .badLiteral, expected: "a \(type) in text", found: "\"\(text.prefix(40))\"",
        remedy: "Pass the value as an argument instead.")
    }
    try advance()
    try expectSymbol(")")
    return Grown(node: .constant(value), height: 1)
  }
}
