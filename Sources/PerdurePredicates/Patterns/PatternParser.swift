// Parses the text of a pattern into a tree of alternatives, sequences, repetitions and groups.
// Escapes are in PatternParser+Escapes.swift, sets in brackets in PatternParser+Sets.swift.

struct PatternParser {
  let text: [Character]
  /// The index of the next character; at most `text.count`.
  var position = 0
  var options: Options
  private var depth = 0

  /// The options that `(?ims)` sets until the end of the group.
  struct Options {
    var ignoresCase: Bool
    var dotTakesNewlines = false
    var anchorsAtLines = false
  }

  init(_ pattern: String, ignoresCase: Bool) {
    text = Array(pattern)
    options = Options(ignoresCase: ignoresCase)
  }

  mutating func parse() throws(PatternError) -> PatternNode {
    let node = try parseAlternatives()
    if peek() != nil { throw PatternError("has a ) that nothing opens") }
    return node
  }

  func peek(_ ahead: Int = 0) -> Character? {
    position + ahead < text.count ? text[position + ahead] : nil
  }

  mutating func next() -> Character? {
    guard let character = peek() else { return nil }
    position += 1
    return character
  }

  mutating func accept(_ character: Character) -> Bool {
    guard peek() == character else { return false }
    position += 1
    return true
  }

  mutating func accept(_ characters: String) -> Bool {
    guard isAt(characters) else { return false }
    position += characters.count
    return true
  }

  func isAt(_ characters: String) -> Bool { text[position...].starts(with: characters) }

  /// Reads characters up to a closing one, which is read too.
  ///
  /// - Parameter opening: What the closing character ends, for the message.
  mutating func textUp(to closing: Character, after opening: String) throws(PatternError) -> String {
    var text = ""
    while let character = next() {
      if character == closing { return text }
      text.append(character)
    }
    throw PatternError("has a \(opening) that nothing closes")
  }

  /// Enters a nesting level; the caller leaves it with `ascend()`.
  mutating func descend() throws(PatternError) {
    depth += 1
    guard depth <= RegularExpression.nestingLimit else {
      throw PatternError("is nested deeper than \(RegularExpression.nestingLimit)")
    }
  }

  mutating func ascend() { depth -= 1 }

  // MARK: Structure

  private mutating func parseAlternatives() throws(PatternError) -> PatternNode {
    let outside = options
    defer { options = outside }
    var alternatives = [try parseSequence()]
    while accept("|") { alternatives.append(try parseSequence()) }
    return alternatives.count == 1 ? alternatives[0] : .alternatives(alternatives)
  }

  private mutating func parseSequence() throws(PatternError) -> PatternNode {
    var parts: [PatternNode] = []
    while let character = peek(), character != "|", character != ")" {
      guard let part = try parseAtom() else { continue }
      parts.append(try parseRepetition(of: part))
    }
    return parts.count == 1 ? parts[0] : .sequence(parts)
  }

  private mutating func parseRepetition(of part: PatternNode) throws(PatternError) -> PatternNode {
    guard let (min, max) = try parseCounts() else { return part }
    // Skips a lazy quantifier's `?`: it does not change whether the text matches.
    if !accept("?"), accept("+") { throw PatternError.unsupported("a possessive quantifier") }
    guard try parseCounts() == nil else { throw PatternError("has a quantifier after a quantifier") }
    return .repeated(part, min: min, max: max)
  }

  private mutating func parseCounts() throws(PatternError) -> (min: Int, max: Int?)? {
    if accept("*") { return (0, nil) }
    if accept("+") { return (1, nil) }
    if accept("?") { return (0, 1) }
    let start = position
    guard accept("{") else { return nil }
    let low = parseNumber()
    var high = low
    let isOpen = accept(",")
    if isOpen { high = parseNumber() }
    guard accept("}"), low != nil || high != nil else {
      // A brace that begins no count is a character.
      position = start
      return nil
    }
    if let low, let high, low > high { throw PatternError("has a repetition {\(low),\(high)}") }
    return (low ?? 0, high)
  }

  private mutating func parseNumber() -> Int? {
    var digits = ""
    while let character = peek(), character.isASCII, character.isNumber {
      digits.append(character)
      position += 1
    }
    // A larger count exceeds the limit of a program in any case.
    return digits.isEmpty ? nil : Int(digits.prefix(9))
  }

  /// Parses one character, set, group or assertion; nil for a comment or an option such as `(?i)`.
  private mutating func parseAtom() throws(PatternError) -> PatternNode? {
    guard let character = next() else { return nil }
    switch character {
    case "(": return try parseGroup()
    case "[": return test(try parseSet())
    case ".": return test(options.dotTakesNewlines ? .any : .not(.newline))
    case "^": return .assertion(options.anchorsAtLines ? .lineStart : .textStart)
    case "$": return .assertion(options.anchorsAtLines ? .lineEnd : .textEnd)
    case "\\": return try parseEscape()
    case "*", "+", "?": throw PatternError("has the quantifier \(character) after nothing to repeat")
    default: return test(literal(character))
    }
  }

  func test(_ test: CharacterTest) -> PatternNode { .test(PreparedTest(test)) }

  func literal(_ character: Character) -> CharacterTest {
    .character(character, lowercased: options.ignoresCase ? character.lowercased() : nil)
  }

  // MARK: Groups

  private mutating func parseGroup() throws(PatternError) -> PatternNode? {
    guard accept("?") else { return try parseRestOfGroup() }
    if accept(":") { return try parseRestOfGroup() }
    if accept("=") { return .lookahead(try parseRestOfGroup(), isNegative: false) }
    if accept("!") { return .lookahead(try parseRestOfGroup(), isNegative: true) }
    if accept("<=") || accept("<!") { throw PatternError.unsupported("a lookbehind") }
    if accept(">") { throw PatternError.unsupported("an atomic group") }
    if accept("<") || accept("P<") {
      _ = try textUp(to: ">", after: "(?<")
      return try parseRestOfGroup()
    }
    if accept("#") {
      _ = try textUp(to: ")", after: "(?#")
      return nil
    }
    return try parseOptionGroup()
  }

  /// Parses the rest of a group, after its opening.
  private mutating func parseRestOfGroup() throws(PatternError) -> PatternNode {
    try descend()
    defer { ascend() }
    let node = try parseAlternatives()
    guard accept(")") else { throw PatternError("has a ( that nothing closes") }
    return node
  }

  /// Parses `(?i)`, which applies until the end of the group around it, or `(?i:…)`.
  private mutating func parseOptionGroup() throws(PatternError) -> PatternNode? {
    let outside = options
    var isOn = true
    while let character = next() {
      switch character {
      case "-": isOn = false
      case "i": options.ignoresCase = isOn
      case "s": options.dotTakesNewlines = isOn
      case "m": options.anchorsAtLines = isOn
      case ")": return nil
      case ":":
        let node = try parseRestOfGroup()
        options = outside
        return node
      default: throw PatternError("has a group (?\(character), which is not known")
      }
    }
    throw PatternError("has a ( that nothing closes")
  }
}
