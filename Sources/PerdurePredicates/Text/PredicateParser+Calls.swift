// Words followed by parentheses: functions, SUBQUERY, TERNARY, CAST, FUNCTION and typed literals.

extension PredicateParser {
  /// The name of a call and its token.
  struct CallName {
    var spelling: String
    var token: Token
  }

  /// Reads the name of a call, which begins with the word in `token`, and the opening parenthesis
  /// after it. Returns nil, and reads nothing, if there is no parenthesis.
  mutating func acceptCall(_ word: String) throws(PredicateSyntaxError) -> CallName? {
    let start = token
    let spelling = word + (lexer.readSelectorRest() ?? "")
    try advance()
    if try acceptSymbol("(") { return CallName(spelling: spelling, token: start) }
    lexer.rewind(to: start)
    try advance()
    return nil
  }

  /// Reads the rest of a call, after its opening parenthesis.
  mutating func parseCall(_ name: CallName) throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    let upper = name.spelling.uppercased()
    if upper == "SUBQUERY" { return try parseSubquery() }
    if upper == "TERNARY" { return try parseTernary() }
    if ReservedWords.literalTypes.contains(name.spelling) { return try parseTypedLiteral(name.spelling) }
    let function = try function(name)
    let arguments = try parseElements(until: ")")
    return try call(function, arguments, at: name.token)
  }

  private func function(_ name: CallName) throws(PredicateSyntaxError) -> FetchFunction {
    switch name.spelling.uppercased() {
    case "FETCH": throw unsupported("FETCH")
    case "FUNCTION": return .call
    default: break
    }
    if let function = FetchFunction(spelling: name.spelling) { return function }
    throw failure(
      .unknownName, at: name.token, expected: "a function", found: "'\(name.spelling.prefix(40))'",
      remedy: "Use a function such as sum:, count:, min:, max:, average:, abs:, lowercase: or length:."
        + NearMisses.question(
          name.spelling, in: FetchFunction.spellings(comparableWith: name.spelling)))
  }

  private func call(
    _ function: FetchFunction, _ arguments: [Grown<FetchExpression>], at place: Token
  ) throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    let counts = function.argumentCounts
    guard counts.contains(arguments.count) else {
      throw failure(
        .unexpectedToken, at: place,
        expected: "\(counts.count == 1 ? "" : "at least ")\(counts.lowerBound) arguments",
        found: "\(arguments.count)", remedy: "Write \(Self.example(of: function)).")
    }
    return try grow(.function(function, arguments.map(\.node)), over: arguments.map(\.height))
  }

  /// A call with the least number of arguments, as in `add:to:(a, b)`.
  private static func example(of function: FetchFunction) -> String {
    let arguments = ["a", "b"].prefix(function.argumentCounts.lowerBound).joined(separator: ", ")
    return "\(function.rawValue)(\(arguments))"
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

  /// Parses a typed literal such as `DATE("0.5")`.
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
