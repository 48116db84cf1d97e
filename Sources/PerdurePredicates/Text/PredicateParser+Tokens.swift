// Reads tokens and arguments, limits the height of the tree, and makes errors.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension PredicateParser {
  mutating func advance() throws(PredicateSyntaxError) {
    token = try lexer.next()
  }

  func isWord(_ word: String) -> Bool {
    guard case .word(let found) = token.kind, found.utf8.count == word.utf8.count else { return false }
    return found.uppercased() == word
  }

  func isSymbol(_ symbol: String) -> Bool {
    guard case .symbol(let found) = token.kind else { return false }
    return found == symbol
  }

  mutating func acceptWord(_ word: String) throws(PredicateSyntaxError) -> Bool {
    guard isWord(word) else { return false }
    try advance()
    return true
  }

  mutating func acceptSymbol(_ symbol: String) throws(PredicateSyntaxError) -> Bool {
    guard isSymbol(symbol) else { return false }
    try advance()
    return true
  }

  mutating func accept(word: String, symbol: String) throws(PredicateSyntaxError) -> Bool {
    guard isWord(word) || isSymbol(symbol) else { return false }
    try advance()
    return true
  }

  mutating func expectSymbol(_ symbol: String) throws(PredicateSyntaxError) {
    guard try acceptSymbol(symbol) else {
      throw unexpected(
        "'\(symbol)'",
        remedy: "Insert '\(symbol)' here, or close the bracket or quotation mark that is still open.")
    }
  }
}

// MARK: Height (PR2)

extension PredicateParser {
  /// Enters a nesting level of the text. The caller must decrease `depth` at its end.
  mutating func descend() throws(PredicateSyntaxError) {
    depth += 1
    guard depth <= Self.depthLimit else { throw tooDeep() }
  }

  /// A node whose parts have the given heights. Throws if the tree is then too high.
  func grow<Node>(_ node: Node, over heights: [Int]) throws(PredicateSyntaxError) -> Grown<Node> {
    let height = (heights.max() ?? 0) + 1
    guard height <= Self.depthLimit else { throw tooDeep() }
    return Grown(node: node, height: height)
  }

  /// The error for a path with too many names.
  func longPath() -> PredicateSyntaxError {
    failure(
      .tooDeep, expected: "fewer than \(FetchPredicate.levelMax) names in a path", found: "more",
      remedy: "Shorten the path, or split it with SUBQUERY.")
  }

  private func tooDeep() -> PredicateSyntaxError {
    failure(
      .tooDeep, expected: "at most \(Self.depthLimit) levels of nesting", found: "more",
      remedy: "Join many alternatives in one flat OR, or use IN with a list.")
  }
}

// MARK: Arguments

extension PredicateParser {
  /// The next argument, for the specifier in `token`.
  mutating func takeArgument(_ specifier: String) throws(PredicateSyntaxError) -> Value {
    guard argumentsUsed < arguments.count else {
      throw failure(
        .argumentMissing, expected: "an argument for %\(specifier)", found: "only \(arguments.count)",
        remedy: "Pass one argument for every specifier in the text.")
    }
    argumentsUsed += 1
    return arguments[argumentsUsed - 1]
  }

  /// The constant for a specifier other than `%K`.
  mutating func parseArgument(_ specifier: String) throws(PredicateSyntaxError) -> Value {
    let value = try takeArgument(specifier)
    guard let expected = Self.mismatch(of: value, specifier: specifier) else { return value }
    throw failure(
      .argumentType, expected: "\(expected) for %\(specifier)", found: value.kindName,
      remedy: "Use %@, which takes any value, or pass an argument of that type.")
  }

  /// The kind that the specifier requires, if the value has another kind; otherwise nil.
  private static func mismatch(of value: Value, specifier: String) -> String? {
    switch (specifier.last, value) {
    case ("@", _): nil
    case ("s", .string), ("S", .string), ("c", .string), ("C", .string): nil
    case ("s", _), ("S", _): "text"
    case ("f", let number), ("F", let number), ("e", let number), ("E", let number), ("g", let number),
      ("G", let number), ("a", let number), ("A", let number):
      isNumber(number) ? nil : "a number"
    case (_, .integer), (_, .bool): nil
    case (_, .decimal(let decimal)) where decimal >= 0 && decimal <= Decimal(UInt64.max): nil
    default: "a whole number"
    }
  }

  private static func isNumber(_ value: Value) -> Bool {
    switch value {
    case .bool, .integer, .double, .decimal: true
    default: false
    }
  }
}

// MARK: Errors

extension PredicateParser {
  func failure(
    _ code: PredicateSyntaxError.Code, at place: Token? = nil, expected: String, found: String,
    remedy: String
  ) -> PredicateSyntaxError {
    lexer.failure(
      code, at: (place ?? token).offset, expected: expected, found: found, remedy: remedy)
  }

  func unexpected(_ expected: String, remedy: String) -> PredicateSyntaxError {
    failure(.unexpectedToken, expected: expected, found: foundToken, remedy: remedy)
  }

  func unsupported(_ what: String) -> PredicateSyntaxError {
    failure(
      .unsupported, expected: "a part of the language that Perdure supports", found: foundToken,
      remedy: "\(what) is not supported in predicates.")
  }

  /// The token in words.
  var foundToken: String {
    switch token.kind {
    case .word(let word): "'\(word)'"
    case .escapedWord(let word), .quotedWord(let word): "'#\(word)'"
    case .variable(let name): "'$\(name)'"
    case .collectionOperator(let name): "'@\(name)'"
    case .text: "text in quotes"
    case .number(let digits): "'\(digits)'"
    case .specifier(let letters): "'%\(letters)'"
    case .symbol(let symbol): "'\(symbol)'"
    case .end: "the end"
    }
  }
}
