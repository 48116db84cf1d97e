// Sets in brackets: `[a-z]`, `[^,;]`, `[\w&&[^_]]`, `[[:alpha:]]`.

extension PatternParser {
  /// Parses the rest of a set, after its opening bracket.
  mutating func parseSet() throws(PatternError) -> CharacterTest {
    try descend()
    defer { ascend() }
    let isInverted = accept("^")
    var tests: [CharacterTest] = []
    var isFirst = true
    while isFirst || !accept("]") {
      // The members before the operator are its left side; the rest of the set is its right side.
      if accept("&&") {
        return result(.intersection(.union(tests), try parseRightSide()), isInverted)
      }
      if accept("--") {
        return result(.intersection(.union(tests), .not(try parseRightSide())), isInverted)
      }
      guard peek() != nil else { throw PatternError("has a [ that nothing closes") }
      tests.append(try parseMember())
      isFirst = false
    }
    return result(.union(tests), isInverted)
  }

  private func result(_ test: CharacterTest, _ isInverted: Bool) -> CharacterTest {
    isInverted ? .not(test) : test
  }

  /// Parses the right side of `&&` or `--`, up to the end of the set.
  private mutating func parseRightSide() throws(PatternError) -> CharacterTest {
    var tests: [CharacterTest] = []
    while !accept("]") {
      guard peek() != nil else { throw PatternError("has a [ that nothing closes") }
      tests.append(try parseMember())
    }
    return .union(tests)
  }

  private mutating func parseMember() throws(PatternError) -> CharacterTest {
    if accept("[:") { return try parsePosix() }
    if accept("[") { return try parseSet() }
    guard let low = try parseEnd() else { return try parseEscapedTest() }
    guard peek() == "-", let after = peek(1), after != "]", after != "-", after != "[" else {
      return literal(low)
    }
    position += 1
    guard let high = try parseEnd() else { throw PatternError("has a range that ends in a class") }
    guard let first = scalar(low), let last = scalar(high), first <= last else {
      throw PatternError("has the range \(low)-\(high)")
    }
    return .range(first...last, ignoresCase: options.ignoresCase)
  }

  /// Parses a character that may begin or end a range. Returns nil at a class such as `\d`, after
  /// reading its backslash.
  private mutating func parseEnd() throws(PatternError) -> Character? {
    guard accept("\\") else { return next() }
    switch peek() {
    case "d", "D", "w", "W", "s", "S", "h", "H", "v", "V", "R", "N", "p", "P": return nil
    case "b":
      position += 1
      return "\u{8}"
    default:
      guard let character = next() else { throw PatternError("ends in a backslash") }
      return try escapedCharacter(character)
    }
  }

  private func scalar(_ character: Character) -> UInt32? {
    let scalars = character.unicodeScalars
    return scalars.count == 1 ? scalars.first?.value : nil
  }

  /// Parses the rest of a class such as `[:alpha:]`, after its `[:`.
  private mutating func parsePosix() throws(PatternError) -> CharacterTest {
    let isInverted = accept("^")
    var name = ""
    while !accept(":]") {
      guard let character = next() else { throw PatternError("has a [: that nothing closes") }
      name.append(character)
    }
    guard let test = CharacterTest(posix: name) else {
      throw PatternError("has [:\(name.shortened):], which is not known")
    }
    return isInverted ? .not(test) : test
  }
}
