// Sets in brackets: `[a-z]`, `[^,;]`, `[\w&&[^_]]`, `[[:alpha:]]`.

extension PatternParser {
  /// Parses the rest of a set, after its opening bracket.
  mutating func parseSet() throws(PatternError) -> CharacterTest {
    try descend()
    defer { ascend() }
    let isInverted = accept("^")
    var result = try parseMembers(isFirst: true)
    while !accept("]") {
      // Operators apply from left to right.
      if accept("&&") {
        result = .intersection(result, try parseMembers())
      } else if accept("--") {
        result = .intersection(result, .not(try parseMembers()))
      } else {
        throw PatternError(
          "has a [ that is not closed. Write ] at the end of the set, or \\[ for the character")
      }
    }
    return isInverted ? .not(result) : result
  }

  /// Parses members up to an operator or the end of the set, neither of which is read.
  ///
  /// - Parameter isFirst: Whether these are the first members of the set. If true, a `]` is a
  ///   member.
  private mutating func parseMembers(isFirst: Bool = false) throws(PatternError) -> CharacterTest {
    var isFirst = isFirst
    var tests: [CharacterTest] = []
    while let scalar = peek(), isFirst || scalar != "]", !isAt("&&"), !isAt("--") {
      tests.append(try parseMember())
      isFirst = false
    }
    return .union(tests)
  }

  private mutating func parseMember() throws(PatternError) -> CharacterTest {
    if accept("[:") { return try parsePosix() }
    if accept("[") { return try parseSet() }
    guard let low = try parseEnd() else {
      guard let test = try parseClass() else {
        throw PatternError("ends in a backslash. Write \\\\ for the character")
      }
      return test
    }
    guard peek() == "-", let after = peek(1), after != "]", after != "-", after != "[" else {
      return .union(member(low))
    }
    position += 1
    guard let high = try parseEnd() else {
      throw PatternError("has a range that ends in a class. Write a character at each end of the range")
    }
    guard let first = scalar(low), let last = scalar(high), first <= last else {
      throw PatternError(
        "has the invalid range \(low)-\(high). Write two single characters, the smaller one first")
    }
    return .range(first...last, ignoresCase: options.ignoresCase)
  }

  /// The tests for a character of a set. A set with CR LF also contains CR and LF.
  private func member(_ character: Character) -> [CharacterTest] {
    character == "\r\n" ? [literal("\r"), literal("\n")] : folded(String(character)).map(literal)
  }

  /// Parses a character that may begin or end a range, and the scalars that are joined to it. For a
  /// class such as `\d`, reads the backslash and returns nil.
  ///
  /// If a fold removes a diacritic between two scalars, they may become one character: 🇪, an accent
  /// and 🇪 become one flag.
  private mutating func parseEnd() throws(PatternError) -> Character? {
    guard let first = try parseEndScalar() else { return nil }
    var text = String(Character(first))
    while let next = peek(), next != "]", !isAt("&&"), !isAt("--") {
      let start = position
      guard let scalar = try parseEndScalar() else {
        position = start
        break
      }
      text.unicodeScalars.append(scalar)
      if folded(text).count > 1 {
        text.unicodeScalars.removeLast()
        position = start
        break
      }
    }
    // Diacritics alone are a character that no folded text has.
    return folded(text).first ?? text.first
  }

  private mutating func parseEndScalar() throws(PatternError) -> Unicode.Scalar? {
    guard accept("\\") else { return next() }
    switch peek() {
    case "d", "D", "w", "W", "s", "S", "h", "H", "v", "V", "R", "N", "p", "P": return nil
    case "b":
      position += 1
      return "\u{8}"
    default: return try parseEscapedScalar()
    }
  }

  /// The only scalar of a character that begins or ends a range; nil if it has several.
  private func scalar(_ character: Character) -> UInt32? {
    let characters = folded(String(character))
    let scalars = (characters.count == 1 ? characters[0] : character).unicodeScalars
    return scalars.count == 1 ? scalars.first?.value : nil
  }

  /// Parses the rest of a class such as `[:alpha:]`, after its `[:`.
  private mutating func parsePosix() throws(PatternError) -> CharacterTest {
    let isInverted = accept("^")
    var name = ""
    while !accept(":]") {
      guard let character = next() else {
        throw PatternError("has a [: that is not closed. Write :] at the end of the class")
      }
      name.unicodeScalars.append(character)
    }
    guard let test = CharacterTest(posix: name) else {
      throw PatternError("has the unknown class [:\(name.shortened):]. Write a class such as [:alpha:]")
    }
    return isInverted ? .not(test) : test
  }
}
