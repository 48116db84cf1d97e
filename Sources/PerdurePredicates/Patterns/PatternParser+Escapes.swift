// Parses escapes: a backslash and the characters after it.

extension PatternParser {
  /// Parses an escape outside of a set, from the character after the backslash.
  mutating func parseEscape() throws(PatternError) -> PatternAtom {
    switch peek() {
    case "b": return assertion(.wordBoundary)
    case "B": return assertion(.noWordBoundary)
    case "A": return assertion(.textStart)
    case "z": return assertion(.textEnd)
    case "Z": return assertion(.lastLineEnd)
    case "Q": return parseQuoted()
    case "X":
      position += 1
      return .node(test(.any))
    case .some(let digit) where "1"..."9" ~= digit:
      throw PatternError.unsupported("the backreference \\\(digit)")
    case "k", "g": throw PatternError.unsupported("a backreference")
    default:
      if let test = try parseClass() { return .node(self.test(test)) }
      return .scalar(try parseEscapedScalar())
    }
  }

  private mutating func assertion(_ assertion: PatternAssertion) -> PatternAtom {
    position += 1
    return .node(.assertion(assertion))
  }

  /// `\Q…\E`: literal characters.
  private mutating func parseQuoted() -> PatternAtom {
    position += 1
    var text = ""
    while !accept("\\E"), let scalar = next() { text.unicodeScalars.append(scalar) }
    return .quoted(text)
  }

  /// Parses a class such as `\d`, from the character after the backslash. Returns nil, and reads
  /// nothing, if the character does not begin a class.
  mutating func parseClass() throws(PatternError) -> CharacterTest? {
    guard let character = peek() else { return nil }
    let test: CharacterTest
    switch character {
    case "d": test = .digit
    case "D": test = .not(.digit)
    case "w": test = .word
    case "W": test = .not(.word)
    case "s": test = .whitespace
    case "S": test = .not(.whitespace)
    case "h": test = .horizontalSpace
    case "H": test = .not(.horizontalSpace)
    case "v", "R": test = .newline
    case "N" where peek(1) == "{":
      throw PatternError(
        "has \\N{, a character by its name, which is not supported. Write its number: \\u{…}")
    case "V", "N": test = .not(.newline)
    case "p", "P":
      position += 1
      return try parseProperty(isNegative: character == "P")
    default: return nil
    }
    position += 1
    return test
  }

  /// Parses an escape for one scalar, from the character after the backslash.
  mutating func parseEscapedScalar() throws(PatternError) -> Unicode.Scalar {
    guard let character = next() else {
      throw PatternError("ends in a backslash. Write \\\\ for the character")
    }
    switch character {
    case "t": return "\t"
    case "n": return "\n"
    case "r": return "\r"
    case "f": return "\u{C}"
    case "e": return "\u{1B}"
    case "a": return "\u{7}"
    case "0": return "\0"
    case "x": return try parseScalar(digits: 2)
    case "u": return try parseScalar(digits: 4)
    case "U": return try parseScalar(digits: 8)
    case "a"..."z", "A"..."Z", "0"..."9":
      throw PatternError(
        "has the unknown escape \\\(character). Remove the backslash if the character itself is meant")
    default: return character
    }
  }

  /// `\u00e9`, `\u{e9}`, or the two halves of a surrogate pair.
  private mutating func parseScalar(digits count: Int) throws(PatternError) -> Unicode.Scalar {
    var code = try parseCode(digits: count)
    if let high = code, 0xD800..<0xDC00 ~= high, accept("\\u"), let low = try parseCode(digits: 4),
      0xDC00..<0xE000 ~= low
    {
      code = 0x10000 + (high - 0xD800) << 10 + (low - 0xDC00)
    }
    guard let scalar = code.flatMap(Unicode.Scalar.init) else {
      throw PatternError("has an escape without the number of a character. Write a number such as \\u{E9}")
    }
    return scalar
  }

  private mutating func parseCode(digits count: Int) throws(PatternError) -> UInt32? {
    var digits = ""
    if accept("{") {
      digits = try textUp(to: "}", after: "\\u{")
    } else {
      while digits.count < count, let digit = peek(), digit.isASCII, digit.properties.isASCIIHexDigit {
        digits.unicodeScalars.append(digit)
        position += 1
      }
    }
    return UInt32(digits, radix: 16)
  }

  /// `\p{Lu}` or `\pL`.
  private mutating func parseProperty(isNegative: Bool) throws(PatternError) -> CharacterTest {
    var name = ""
    if accept("{") {
      name = try textUp(to: "}", after: "\\p{")
    } else if let character = next() {
      name.unicodeScalars.append(character)
    }
    let isInverted = name.hasPrefix("^")
    guard let test = CharacterTest(property: isInverted ? String(name.dropFirst()) : name) else {
      throw PatternError(
        "has \\p{\(name.shortened)}, which is not supported. Write a general category such as \\p{Lu}")
    }
    return isNegative != isInverted ? .not(test) : test
  }
}
