// Parses escapes: a backslash and the characters after it.

extension PatternParser {
  /// Parses an escape outside of a set, from the character after the backslash.
  mutating func parseEscape() throws(PatternError) -> PatternNode? {
    switch peek() {
    case "b": return assertion(.wordBoundary)
    case "B": return assertion(.noWordBoundary)
    case "A": return assertion(.textStart)
    case "z": return assertion(.textEnd)
    case "Z": return assertion(.lastLineEnd)
    case "Q": return parseQuoted()
    case "X":
      position += 1
      return test(.any)
    case .some(let digit) where digit.isASCII && digit.isNumber && digit != "0":
      throw PatternError.unsupported("the backreference \\\(digit)")
    case "k", "g": throw PatternError.unsupported("a backreference")
    default: return test(try parseEscapedTest())
    }
  }

  private mutating func assertion(_ assertion: PatternAssertion) -> PatternNode {
    position += 1
    return .assertion(assertion)
  }

  /// `\Q…\E`: literal characters.
  private mutating func parseQuoted() -> PatternNode {
    position += 1
    var parts: [PatternNode] = []
    while !accept("\\E"), let character = next() { parts.append(test(literal(character))) }
    return .sequence(parts)
  }

  /// Parses an escape that takes one character, from the character after the backslash.
  mutating func parseEscapedTest() throws(PatternError) -> CharacterTest {
    guard let character = next() else { throw PatternError("ends in a backslash") }
    switch character {
    case "d": return .digit
    case "D": return .not(.digit)
    case "w": return .word
    case "W": return .not(.word)
    case "s": return .whitespace
    case "S": return .not(.whitespace)
    case "h": return .horizontalSpace
    case "H": return .not(.horizontalSpace)
    case "v", "R": return .newline
    case "V", "N": return .not(.newline)
    case "p", "P": return try parseProperty(isNegative: character == "P")
    default: return literal(try escapedCharacter(character))
    }
  }

  /// The control character that a backslash and a character name; nil if they name none.
  func controlCharacter(_ character: Character) -> Character? {
    switch character {
    case "t": "\t"
    case "n": "\n"
    case "r": "\r"
    case "f": "\u{C}"
    case "e": "\u{1B}"
    case "a": "\u{7}"
    case "0": "\0"
    default: nil
    }
  }

  mutating func escapedCharacter(_ character: Character) throws(PatternError) -> Character {
    if let control = controlCharacter(character) { return control }
    switch character {
    case "x": return try parseScalar(digits: 2)
    case "u": return try parseScalar(digits: 4)
    case "U": return try parseScalar(digits: 8)
    case _ where character.isASCII && (character.isLetter || character.isNumber):
      throw PatternError("has \\\(character), which is not known")
    default: return character
    }
  }

  /// `\u00e9` or `\u{e9}`.
  private mutating func parseScalar(digits count: Int) throws(PatternError) -> Character {
    var digits = ""
    if accept("{") {
      digits = try textUp(to: "}", after: "\\u{")
    } else {
      while digits.count < count, let character = peek(), character.isHexDigit {
        digits.append(character)
        position += 1
      }
    }
    guard let scalar = UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init) else {
      throw PatternError("has an escape without the number of a character")
    }
    return Character(scalar)
  }

  /// `\p{Lu}` or `\pL`.
  private mutating func parseProperty(isNegative: Bool) throws(PatternError) -> CharacterTest {
    var name = ""
    if accept("{") {
      name = try textUp(to: "}", after: "\\p{")
    } else if let character = next() {
      name.append(character)
    }
    let isInverted = name.hasPrefix("^")
    guard let test = CharacterTest(property: isInverted ? String(name.dropFirst()) : name) else {
      throw PatternError("has \\p{\(name.shortened)}: only general categories such as Lu are known")
    }
    return isNegative != isInverted ? .not(test) : test
  }
}
