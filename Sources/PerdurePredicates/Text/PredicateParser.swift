// Parses text into a tree by recursive descent. Predicates are here, and expressions are in
// `PredicateParser+Expression.swift`.
//
//   or         ::= and { OR and }            OR binds loosest, then AND, then NOT
//   and        ::= not { AND not }
//   not        ::= { NOT } primary
//   primary    ::= TRUEPREDICATE | FALSEPREDICATE | "(" or ")" | comparison
//   comparison ::= [ANY | SOME | ALL | NONE] expression operator [options] expression
//
// Invariants
//   PR1. After "(" a predicate or an expression may follow. One function reads both forms, and
//        returns the form that it found (`Part`). Only single tokens are read again (`acceptCall`),
//        so reading is linear in the length of the text.
//   PR2. Neither the recursion nor the height of the tree exceeds `depthLimit`. So no text
//        overflows the stack in the parser or in code that traverses the tree. Chains of operators
//        (`1+1+1+…`) count too: the parser reads them in a loop, but each one adds a level.

/// A tree and its height.
struct Grown<Node> {
  var node: Node
  var height: Int
}

/// The content of parentheses.
enum Part {
  case predicate(Grown<FetchPredicate>)
  case expression(Grown<FetchExpression>)
}

struct PredicateParser {
  static let depthLimit = 50

  var lexer: PredicateLexer
  /// The current token. The lexer is positioned after it.
  var token: Token
  var arguments: [Value]
  var argumentsUsed = 0
  var depth = 0

  init(_ format: String, arguments: [Value]) throws(PredicateSyntaxError) {
    lexer = PredicateLexer(format)
    self.arguments = arguments
    token = try lexer.next()
  }

  /// Reads the whole text as a predicate.
  mutating func parsePredicate() throws(PredicateSyntaxError) -> FetchPredicate {
    let predicate = try parseWholePredicate()
    try finish(expected: "AND, OR or the end")
    return predicate.node
  }

  /// Reads the whole text as an expression.
  mutating func parseWholeExpression() throws(PredicateSyntaxError) -> FetchExpression {
    let expression = try parseExpression()
    try finish(expected: "an arithmetic operator or the end")
    return expression.node
  }

  private func finish(expected: String) throws(PredicateSyntaxError) {
    guard token.kind == .end else {
      throw unexpected(expected, remedy: "Join predicates with AND or OR, and close all brackets.")
    }
    guard argumentsUsed == arguments.count else {
      throw failure(
        .argumentsLeft, expected: "\(argumentsUsed) arguments, one for each specifier",
        found: "\(arguments.count)",
        remedy: "Drop the extra arguments. A % inside quotes is literal text, not a specifier.")
    }
  }
}

// MARK: Logic

extension PredicateParser {
  /// Reads a predicate, and throws for an expression.
  mutating func parseWholePredicate() throws(PredicateSyntaxError) -> Grown<FetchPredicate> {
    let part = try parseOr()
    return try requirePredicate(part)
  }

  // At every level of parentheses, the functions below call each other for their first operand.
  // Separate functions read the rest, to keep the stack frames of the recursion small.

  private mutating func parseOr() throws(PredicateSyntaxError) -> Part {
    let first = try parseAnd()
    return isWord("OR") || isSymbol("||") ? try parseAlternatives(after: first) : first
  }

  private mutating func parseAlternatives(after first: Part) throws(PredicateSyntaxError) -> Part {
    var parts = [try requirePredicate(first)]
    while try accept(word: "OR", symbol: "||") {
      let part = try parseAnd()
      parts.append(try requirePredicate(part))
    }
    return .predicate(try grow(.or(parts.map(\.node)), over: parts.map(\.height)))
  }

  private mutating func parseAnd() throws(PredicateSyntaxError) -> Part {
    let first = try parseNot()
    return isWord("AND") || isSymbol("&&") ? try parseConditions(after: first) : first
  }

  private mutating func parseConditions(after first: Part) throws(PredicateSyntaxError) -> Part {
    var parts = [try requirePredicate(first)]
    while try accept(word: "AND", symbol: "&&") {
      let part = try parseNot()
      parts.append(try requirePredicate(part))
    }
    return .predicate(try grow(.and(parts.map(\.node)), over: parts.map(\.height)))
  }

  private mutating func parseNot() throws(PredicateSyntaxError) -> Part {
    var count = 0
    while try accept(word: "NOT", symbol: "!") { count += 1 }
    let part = try parsePrimary()
    return count == 0 ? part : try negate(part, times: count)
  }

  private func negate(_ part: Part, times count: Int) throws(PredicateSyntaxError) -> Part {
    var predicate = try requirePredicate(part)
    for _ in 0..<count {
      predicate = try grow(.not(predicate.node), over: [predicate.height])
    }
    return .predicate(predicate)
  }

  private mutating func parsePrimary() throws(PredicateSyntaxError) -> Part {
    let start = token
    let modifier = try parseModifier()
    guard try acceptSymbol("(") else {
      if modifier == nil, let constant = try parseConstantPredicate() { return constant }
      return try parseComparison(modifier, left: nil)
    }
    try descend()
    let part = try parseOr()
    try expectSymbol(")")
    depth -= 1
    return try parseRest(after: part, modifier, from: start)
  }

  private mutating func parseConstantPredicate() throws(PredicateSyntaxError) -> Part? {
    if try acceptWord("TRUEPREDICATE") { return .predicate(Grown(node: .true, height: 1)) }
    if try acceptWord("FALSEPREDICATE") { return .predicate(Grown(node: .false, height: 1)) }
    return nil
  }

  /// Reads the part after parentheses. An expression in parentheses may begin a comparison.
  private mutating func parseRest(
    after part: Part, _ modifier: ReadModifier?, from start: Token
  ) throws(PredicateSyntaxError) -> Part {
    switch part {
    case .expression(let expression): return try parseComparison(modifier, left: expression)
    case .predicate where modifier == nil: return part
    case .predicate:
      throw failure(
        .unexpectedToken, at: start, expected: "an expression after ANY, ALL or NONE", found: "a predicate",
        remedy: "Write ANY path == value, or use SUBQUERY for several conditions on one element.")
    }
  }

  private func requirePredicate(_ part: Part) throws(PredicateSyntaxError) -> Grown<FetchPredicate> {
    switch part {
    case .predicate(let predicate): return predicate
    case .expression(let expression):
      throw unexpected(
        "a comparison operator such as == or IN", remedy: remedy(forLone: expression.node))
    }
  }

  private func remedy(forLone expression: FetchExpression) -> String {
    let text = expression.printed.prefix(40)
    if case .word(let word) = token.kind, word.uppercased() == "IS" {
      return "There is no IS: write \(text) == NULL or \(text) != NULL."
    }
    if let misspeltOperator { return misspeltOperator }
    let start = "An expression alone is not a predicate:"
    switch expression {
    case .keyPath, .member: return "\(start) write \(text) == TRUE for a truth value, or another comparison."
    case .constant(.bool(let bool)): return "\(start) write \(bool ? "TRUEPREDICATE" : "FALSEPREDICATE")."
    default: return "\(start) compare \(text) with a property."
    }
  }

  /// A suggestion for a word that is similar to an operator; otherwise nil.
  private var misspeltOperator: String? {
    guard case .word(let word) = token.kind else { return nil }
    let near = NearMisses.of(word, in: Self.wordOperators.keys)
    return near.isEmpty ? nil : "Put an operator here." + NearMisses.question(near)
  }
}

// MARK: Comparisons

extension PredicateParser {
  enum ReadModifier {
    case any, all, none
  }

  private mutating func parseModifier() throws(PredicateSyntaxError) -> ReadModifier? {
    if try acceptWord("ANY") { return .any }
    if try acceptWord("SOME") { return .any }
    if try acceptWord("ALL") { return .all }
    return try acceptWord("NONE") ? ReadModifier.none : nil
  }

  private mutating func parseComparison(
    _ modifier: ReadModifier?, left given: Grown<FetchExpression>?
  ) throws(PredicateSyntaxError) -> Part {
    let left = if let given { try parseExpression(startingWith: given) } else { try parseExpression() }
    guard let op = try parseOperator() else {
      if modifier == nil { return .expression(left) }
      throw unexpected(
        "a comparison operator such as == or IN", remedy: misspeltOperator ?? "Write ANY path == value.")
    }
    let options = try parseOptions()
    let right = try parseExpression()
    var comparison = FetchComparison(left.node, op, right.node, options: options)
    comparison.modifier = modifier.map { $0 == .all ? .all : .any } ?? .direct
    let grown = try grow(FetchPredicate.comparison(comparison), over: [left.height, right.height])
    guard modifier == ReadModifier.none else { return .predicate(grown) }
    return .predicate(try grow(.not(grown.node), over: [grown.height]))
  }

  private mutating func parseOperator() throws(PredicateSyntaxError) -> FetchComparison.Operator? {
    switch token.kind {
    case .symbol(let symbol):
      guard let op = Self.symbolOperators[symbol] else { return nil }
      try advance()
      return op
    case .word(let word):
      let upper = word.uppercased()
      if upper == "NOT" {
        throw unexpected(
          "a comparison operator", remedy: "NOT is written before the comparison: NOT a IN b.")
      }
      if upper == "UTI" { throw unsupported("Uniform type identifiers") }
      guard let op = Self.wordOperators[upper] else { return nil }
      try advance()
      return op
    case .collectionOperator("selector"): throw unsupported("A comparison by a method of the objects")
    default: return nil
    }
  }

  private static let symbolOperators: [String: FetchComparison.Operator] = [
    "=": .equal, "==": .equal, "!=": .notEqual, "<>": .notEqual, "<": .lessThan, "<=": .lessThanOrEqual,
    "=<": .lessThanOrEqual, ">": .greaterThan, ">=": .greaterThanOrEqual, "=>": .greaterThanOrEqual,
  ]

  private static let wordOperators: [String: FetchComparison.Operator] = [
    "MATCHES": .matches, "LIKE": .like, "BEGINSWITH": .beginsWith, "ENDSWITH": .endsWith, "IN": .in,
    "CONTAINS": .contains, "BETWEEN": .between,
  ]

  private mutating func parseOptions() throws(PredicateSyntaxError) -> StringOptions {
    guard try acceptSymbol("[") else { return [] }
    var options: StringOptions = []
    while case .word(let letters) = token.kind {
      for letter in letters.lowercased() {
        guard let option = Self.optionLetters[letter] else {
          throw failure(
            .unknownName, expected: "the options c, d, n or l", found: "'\(letter)'",
            remedy: "c ignores case, and d ignores diacritics. "
              + "n means normalised text, and l means the rules of a language.")
        }
        options.insert(option)
      }
      try advance()
    }
    try expectSymbol("]")
    return options
  }

  private static let optionLetters: [Character: StringOptions] = [
    "c": .caseInsensitive, "d": .diacriticInsensitive, "n": .normalized, "l": .localeSensitive,
  ]
}
