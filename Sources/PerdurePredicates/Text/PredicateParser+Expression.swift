// Parses expressions: binary operators by precedence (all associate to the left), then signs, then
// primaries with the suffixes `[index]` and `.path`.
//
//   UNION INTERSECT MINUS   1 (loosest)
//   |                       2
//   ^                       3
//   &                       4
//   << >>                   5
//   + -                     6
//   * /                     7
//   **                      8
//   sign, ~                 9
//
// The bitwise operators have the same precedence among each other as in C. They bind less tightly
// than arithmetic and more tightly than comparisons: `flags & 4 != 0` is `(flags & 4) != 0`.

extension PredicateParser {
  private typealias Binary = (precedence: Int, build: (FetchExpression, FetchExpression) -> FetchExpression)

  // The recursive functions are small, as in PredicateParser.swift: rare cases are in separate
  // functions, so the recursion uses small stack frames.

  /// Reads an expression.
  mutating func parseExpression(minimum: Int = 1) throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    let left = try isSymbol("-") || isSymbol("~") ? parseSigned() : parsePostfixed()
    return startsOperator ? try parseOperators(after: left, minimum: minimum) : left
  }

  /// Reads an expression whose first operand was in parentheses and was already read.
  mutating func parseExpression(
    startingWith first: Grown<FetchExpression>
  ) throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    try parseOperators(after: try parsePostfix(first), minimum: 1)
  }

  private mutating func parseOperators(
    after first: Grown<FetchExpression>, minimum: Int
  ) throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    var left = first
    while let binary = binaryOperator(), binary.precedence >= minimum {
      try advance()
      let right = try parseExpression(minimum: binary.precedence + 1)
      left = try grow(binary.build(left.node, right.node), over: [left.height, right.height])
    }
    return left
  }

  private var startsOperator: Bool { binaryOperator() != nil }

  private func binaryOperator() -> Binary? {
    switch token.kind {
    case .symbol(let symbol):
      guard let (precedence, function) = Self.infixFunctions[symbol] else { return nil }
      return (precedence, { .function(function, [$0, $1]) })
    case .word(let word):
      guard let operation = FetchExpression.SetOperation(rawValue: word.uppercased()) else { return nil }
      return (1, { .set(operation, $0, $1) })
    default: return nil
    }
  }

  private static let infixFunctions: [String: (precedence: Int, function: FetchFunction)] = [
    "|": (2, .bitwiseOr), "^": (3, .bitwiseXor), "&": (4, .bitwiseAnd), "<<": (5, .leftShift),
    ">>": (5, .rightShift), "+": (6, .add), "-": (6, .subtract), "*": (7, .multiply), "/": (7, .divide),
    "**": (8, .raise),
  ]

  /// Parses signs and their operand. A minus directly before a number belongs to the number (FE3 in
  /// FetchExpression.swift).
  private mutating func parseSigned() throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    var signs: [FetchFunction] = []
    while isSymbol("-") || isSymbol("~") {
      signs.append(isSymbol("-") ? .negate : .onesComplement)
      try advance()
    }
    var expression: Grown<FetchExpression>
    if case .number(let digits) = token.kind, signs.last == .negate {
      signs.removeLast()
      expression = try parsePostfix(try parseNumber(digits, isNegative: true))
    } else {
      expression = try parsePostfixed()
    }
    for sign in signs.reversed() {
      expression = try grow(.function(sign, [expression.node]), over: [expression.height])
    }
    return expression
  }

  private mutating func parsePostfixed() throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    let primary = try parsePrimaryExpression()
    return isSymbol(".") || isSymbol("[") ? try parsePostfix(primary) : primary
  }

  private mutating func parseNumber(
    _ digits: String, isNegative: Bool
  ) throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    guard let number = FetchExpression(number: digits, isNegative: isNegative) else {
      throw failure(
        .badLiteral, expected: "a number such as 12, 0x1F, 1.5 or 1e10", found: foundToken,
        remedy: "Put text in quotes; a property name cannot begin with a digit unless escaped with #.")
    }
    try advance()
    return leaf(number)
  }

  private func leaf(_ expression: FetchExpression) -> Grown<FetchExpression> {
    Grown(node: expression, height: 1)
  }
}

// MARK: Primaries

extension PredicateParser {
  /// Selects the parser of a primary. It is part of the recursion, so its stack frame must stay
  /// small.
  private mutating func parsePrimaryExpression() throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    if isSymbol("(") { return try parseParenthesizedExpression() }
    if isSymbol("{") { return try parseList() }
    if case .word(let word) = token.kind { return try parseWord(word) }
    return try parseLeaf()
  }

  private mutating func parseLeaf() throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    switch token.kind {
    case .number(let digits): return try parseNumber(digits, isNegative: false)
    case .escapedWord, .quotedWord, .collectionOperator, .specifier("K"):
      return try apply(try parseSegments(), to: leaf(.evaluatedObject))
    case .specifier(let specifier): return try parseConstant(try parseArgument(specifier))
    case .text(let text): return try parseConstant(.string(text))
    case .variable(let name):
      try advance()
      if isSymbol(":=") { throw unsupported("An assignment to a variable") }
      return leaf(.variable(name))
    default:
      throw unexpected(
        "a value, a property or a function", remedy: "Write a number, text in quotes, a property or %@.")
    }
  }

  /// Reads the token of a constant.
  private mutating func parseConstant(_ value: Value) throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    try advance()
    return leaf(.constant(value))
  }

  private mutating func parseParenthesizedExpression() throws(PredicateSyntaxError) -> Grown<FetchExpression>
  {
    try advance()
    try descend()
    let expression = try parseExpression()
    try expectSymbol(")")
    depth -= 1
    return expression
  }

  private mutating func parseList() throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    try advance()
    let elements = try parseElements(until: "}")
    return try grow(.list(elements.map(\.node)), over: elements.map(\.height))
  }

  /// Reads expressions that are separated by commas, including the closing symbol.
  mutating func parseElements(until close: String) throws(PredicateSyntaxError) -> [Grown<FetchExpression>] {
    try descend()
    defer { depth -= 1 }
    if try acceptSymbol(close) { return [] }
    var elements = [try parseExpression()]
    while try acceptSymbol(",") {
      elements.append(try parseExpression())
    }
    try expectSymbol(close)
    return elements
  }

  private mutating func parseWord(_ word: String) throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    if let constant = Self.constants[word.uppercased()] { return try parseConstant(constant) }
    if let name = try acceptCall(word) { return try parseCall(name) }
    return try parseName(word)
  }

  private static let constants: [String: Value] = [
    "TRUE": .bool(true), "YES": .bool(true), "FALSE": .bool(false), "NO": .bool(false), "NULL": .null,
    "NIL": .null,
  ]

  private mutating func parseName(_ word: String) throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    let upper = word.uppercased()
    if upper == "ANYKEY" { throw unsupported("ANYKEY") }
    if upper != "SELF", ReservedWords.strict.contains(upper) {
      throw unexpected(
        "a value, a property or a function", remedy: "If it is a property's name, write #\(word).")
    }
    return try apply(try parseSegments(), to: leaf(.evaluatedObject))
  }
}

// MARK: Paths and indexes

extension PredicateParser {
  enum Segment {
    case name(String)
    case collectionOperator(CollectionOperator)
    case itself
  }

  /// Reads any number of indexes and paths after an operand.
  private mutating func parsePostfix(
    _ start: Grown<FetchExpression>
  ) throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    var expression = start
    while true {
      if try acceptSymbol(".") {
        expression = try apply(try parseSegments(), to: expression)
      } else if try acceptSymbol("[") {
        expression = try parseIndex(of: expression)
      } else {
        return expression
      }
    }
  }

  private mutating func parseIndex(
    of base: Grown<FetchExpression>
  ) throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    try descend()
    defer { depth -= 1 }
    var index: FetchExpression.ElementIndex
    var height = 0
    if try acceptWord("FIRST") {
      index = .first
    } else if try acceptWord("LAST") {
      index = .last
    } else if try acceptWord("SIZE") {
      index = .size
    } else {
      let position = try parseExpression()
      index = .at(position.node)
      height = position.height
    }
    try expectSymbol("]")
    return try grow(.element(of: base.node, index), over: [base.height, height])
  }

  /// Reads `a.b.@op.c`, starting at the first segment.
  private mutating func parseSegments() throws(PredicateSyntaxError) -> [Segment] {
    var segments = try parseSegment()
    while try acceptSymbol(".") {
      segments += try parseSegment()
    }
    return segments
  }

  private mutating func parseSegment() throws(PredicateSyntaxError) -> [Segment] {
    let segments: [Segment]
    switch token.kind {
    case .quotedWord(let name): segments = [.name(name)]
    case .word(let name), .escapedWord(let name):
      segments = [name.uppercased() == "SELF" ? .itself : .name(name)]
    case .collectionOperator(let name): segments = [.collectionOperator(try collectionOperator(name))]
    case .specifier("K"): segments = try keyArgument()
    default:
      throw unexpected("a property name", remedy: "A path is property names joined by dots.")
    }
    try advance()
    return segments
  }

  private func collectionOperator(_ name: String) throws(PredicateSyntaxError) -> CollectionOperator {
    if let known = CollectionOperator(spelling: name) { return known }
    throw failure(
      .unknownName, expected: "a collection operator", found: "'@\(name.prefix(40))'",
      remedy: "Use @count, @sum, @avg, @min, @max, @unionOfObjects or @distinctUnionOfObjects."
        + NearMisses.question(
          NearMisses.of(name, in: CollectionOperator.allCases.map(\.rawValue)).map { "@" + $0 }))
  }

  /// The path in a `%K` argument. Its names are used unchanged; SELF is the only reserved word in
  /// it.
  private mutating func keyArgument() throws(PredicateSyntaxError) -> [Segment] {
    guard case .string(let path) = try takeArgument("K") else {
      throw failure(
        .argumentType, expected: "text for %K", found: arguments[argumentsUsed - 1].kindName,
        remedy: "%K takes a property path as text; use %@ for a value.")
    }
    var segments: [Segment] = []
    for name in path.split(separator: ".", omittingEmptySubsequences: false) {
      if name.isEmpty {
        throw failure(
          .argumentType, expected: "property names joined by dots for %K", found: "\"\(path.prefix(40))\"",
          remedy: "Pass a path without empty names.")
      }
      if name.hasPrefix("@") {
        segments.append(.collectionOperator(try collectionOperator(String(name.dropFirst()))))
      } else {
        segments.append(name.uppercased() == "SELF" ? .itself : .name(String(name)))
      }
    }
    return segments
  }

  /// Applies segments to an operand. The names before and after an operator belong to one path.
  private mutating func apply(
    _ segments: [Segment], to base: Grown<FetchExpression>
  ) throws(PredicateSyntaxError) -> Grown<FetchExpression> {
    var expression = base
    var path = PropertyPath()
    for segment in segments {
      switch segment {
      case .name(let name): path.names.append(name)
      case .itself: break
      case .collectionOperator(let next):
        if path.aggregate != nil {
          expression = try grow(.path(from: expression.node, path), over: [expression.height])
          path = PropertyPath()
        }
        path.aggregate = next
      }
      guard path.names.count < FetchPredicate.levelMax else { throw longPath() }
    }
    return try grow(.path(from: expression.node, path), over: [expression.height])
  }
}
