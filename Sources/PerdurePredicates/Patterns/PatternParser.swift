// Parses the text of a pattern into a tree of alternatives, sequences, repetitions and groups.
// Escapes are in PatternParser+Escapes.swift, sets in brackets in PatternParser+Sets.swift.

/// A part of a pattern. Scalars that form one character are not joined yet.
enum PatternAtom {
  /// A literal or escaped scalar.
  case scalar(Unicode.Scalar)
  /// The text of `\Q…\E`, which a quantifier repeats as a whole.
  case quoted(String)
  case node(PatternNode)
}

struct PatternParser {
  /// The scalars of the pattern. Characters are not used here: in a character, a combining mark
  /// after an escape is joined to the escape's last letter.
  let text: [Unicode.Scalar]
  /// The index of the next scalar; at most `text.count`.
  var position = 0
  var options: Options
  private let foldsDiacritics: Bool
  private var depth = 0

  /// The options that `(?ims)` sets until the end of the group.
  struct Options {
    var ignoresCase: Bool
    var dotTakesNewlines = false
    var anchorsAtLines = false
  }

  /// Makes a parser. If `foldsDiacritics` is set, the pattern must be folded. The parser then folds
  /// the characters of escapes.
  init(_ pattern: String, ignoresCase: Bool, foldsDiacritics: Bool = false) {
    text = Array(pattern.unicodeScalars)
    options = Options(ignoresCase: ignoresCase)
    self.foldsDiacritics = foldsDiacritics
  }

  mutating func parse() throws(PatternError) -> PatternNode {
    let node = try parseAlternatives()
    if peek() != nil {
      throw PatternError("has a ) without a (. Write the missing (, or \\) for the character")
    }
    return node
  }

  func peek(_ ahead: Int = 0) -> Unicode.Scalar? {
    position + ahead < text.count ? text[position + ahead] : nil
  }

  mutating func next() -> Unicode.Scalar? {
    guard let scalar = peek() else { return nil }
    position += 1
    return scalar
  }

  mutating func accept(_ scalar: Unicode.Scalar) -> Bool {
    guard peek() == scalar else { return false }
    position += 1
    return true
  }

  mutating func accept(_ characters: String) -> Bool {
    guard isAt(characters) else { return false }
    position += characters.unicodeScalars.count
    return true
  }

  func isAt(_ characters: String) -> Bool { text[position...].starts(with: characters.unicodeScalars) }

  /// Reads characters up to and including a closing one. Returns them without it.
  ///
  /// - Parameter opening: The construct that the closing character ends, for the message.
  mutating func textUp(to closing: Unicode.Scalar, after opening: String) throws(PatternError) -> String {
    var text = ""
    while let scalar = next() {
      if scalar == closing { return text }
      text.unicodeScalars.append(scalar)
    }
    throw PatternError("has a \(opening) that is not closed. Write the missing \(closing)")
  }

  /// Enters a nesting level; the caller leaves it with `ascend()`.
  mutating func descend() throws(PatternError) {
    depth += 1
    guard depth <= RegularExpression.nestingLimit else {
      throw PatternError(
        "is nested deeper than \(RegularExpression.nestingLimit) levels. Use fewer nested groups and sets")
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

  /// Parses atoms up to the end of an alternative. Joins literal and escaped scalars to characters:
  /// CR and LF are one character of a text, and so are a letter and a combining mark.
  private mutating func parseSequence() throws(PatternError) -> PatternNode {
    var parts: [PatternNode] = []
    var literals = ""
    while let character = peek(), character != "|", character != ")" {
      let outside = options
      let atom = try parseAtom()
      let counts = atom == nil ? nil : try parseQuantifier()
      switch atom {
      case .scalar(let scalar):
        literals.unicodeScalars.append(scalar)
        // A quantifier repeats the last character, after joining.
        if let counts {
          var nodes = literalNodes(literals)
          if let last = nodes.popLast() {
            parts += nodes + [.repeated(last, min: counts.min, max: counts.max)]
          }
          literals = ""
        }
      case .quoted(let text) where counts == nil: literals += text
      case .quoted(let text): parts += repeated(.sequence(literalNodes(text)), counts, after: &literals)
      case .node(let node): parts += repeated(node, counts, after: &literals)
      case nil:
        // An option such as (?i) applies from this position.
        let inside = options
        options = outside
        parts += literalNodes(literals)
        (options, literals) = (inside, "")
      }
    }
    parts += literalNodes(literals)
    return parts.count == 1 ? parts[0] : .sequence(parts)
  }

  /// The nodes of the preceding literals, followed by a node with its quantifier.
  private func repeated(
    _ node: PatternNode, _ counts: (min: Int, max: Int?)?, after literals: inout String
  ) -> [PatternNode] {
    defer { literals = "" }
    let last = counts.map { PatternNode.repeated(node, min: $0.min, max: $0.max) } ?? node
    return literalNodes(literals) + [last]
  }

  /// The tests of the characters of a text.
  private func literalNodes(_ text: String) -> [PatternNode] { folded(text).map { test(literal($0)) } }

  /// The characters of a text. If the pattern ignores diacritics, they are removed.
  func folded(_ text: String) -> [Character] {
    guard foldsDiacritics else { return Array(text) }
    return Array(StringFolding.folded(text, options: .diacriticInsensitive))
  }

  private mutating func parseQuantifier() throws(PatternError) -> (min: Int, max: Int?)? {
    guard let counts = try parseCounts() else { return nil }
    // Skips a lazy quantifier's `?`: it does not change whether the text matches.
    if !accept("?"), accept("+") { throw PatternError.unsupported("a possessive quantifier") }
    guard try parseCounts() == nil else {
      throw PatternError(
        "has a quantifier after a quantifier. Write a group around the first, such as (?:a*)+")
    }
    return counts
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
      // A brace that does not begin a count is a literal character.
      position = start
      return nil
    }
    if let low, let high, low > high {
      throw PatternError("has the repetition {\(low),\(high)}. Write the smaller count first")
    }
    return (low ?? 0, high)
  }

  private mutating func parseNumber() -> Int? {
    var digits = ""
    while let digit = peek(), "0"..."9" ~= digit {
      digits.unicodeScalars.append(digit)
      position += 1
    }
    // A larger count exceeds the limit of a program in any case.
    return digits.isEmpty ? nil : Int(digits.prefix(9))
  }

  /// Parses one character, set, group or assertion; nil for a comment or an option such as `(?i)`.
  private mutating func parseAtom() throws(PatternError) -> PatternAtom? {
    guard let character = next() else { return nil }
    switch character {
    case "(": return try parseGroup().map(PatternAtom.node)
    case "[": return .node(test(try parseSet()))
    case ".": return .node(test(options.dotTakesNewlines ? .any : .not(.newline)))
    case "^": return .node(.assertion(options.anchorsAtLines ? .lineStart : .textStart))
    case "$": return .node(.assertion(options.anchorsAtLines ? .lineEnd : .textEnd))
    case "\\": return try parseEscape()
    case "*", "+", "?":
      throw PatternError(
        "has the quantifier \(character) without an element to repeat. Write \\\(character) for the character"
      )
    default: return .scalar(character)
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
    guard accept(")") else {
      throw PatternError("has a ( that is not closed. Write the missing ), or \\( for the character")
    }
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
      default: throw PatternError("has the unknown group (?\(character). Write (?: for a plain group")
      }
    }
    throw PatternError("has a ( that is not closed. Write the missing ), or \\( for the character")
  }
}
