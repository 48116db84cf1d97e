// Splits text into tokens, one at a time.
//
// The lexer works on UTF-8 and never reads beyond the end. Bytes of 0x80 and above belong to names,
// so property names can be in any script. Offsets are in bytes; errors convert them to columns, in
// characters.

struct Token: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    case word(String)
    /// `#word` or `\word`: a name, even if the word is reserved.
    case escapedWord(String)
    /// `#"any text"`: a name of any characters.
    case quotedWord(String)
    case variable(String)
    case collectionOperator(String)
    case text(String)
    case number(String)
    case specifier(String)
    case symbol(String)
    case end
  }
  var kind: Kind
  var offset: Int
}

struct PredicateLexer {
  let bytes: [UInt8]
  /// The index of the next byte.
  var position = 0

  init(_ format: String) {
    bytes = Array(format.utf8)
  }

  /// The next token. At the end of the text, always `.end`.
  mutating func next() throws(PredicateSyntaxError) -> Token {
    skipSpace()
    let start = position
    guard let byte = peek() else { return Token(kind: .end, offset: start) }
    let kind: Token.Kind
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "'"): kind = .text(try readText())
    case UInt8(ascii: "%"): kind = .specifier(try readSpecifier())
    case UInt8(ascii: "$"): kind = .variable(try readVariable())
    case UInt8(ascii: "@"): kind = .collectionOperator(try readName(after: "@"))
    case UInt8(ascii: "#"), UInt8(ascii: "\\"): kind = try readEscapedWord()
    case _ where Self.startsNumber(byte, then: peek(1)): kind = .number(readNumber())
    case _ where Self.isNameStart(byte): kind = .word(readWord())
    default: kind = .symbol(try readSymbol())
    }
    return Token(kind: kind, offset: start)
  }

  /// Reads the rest of a selector, such as `:name:`, up to an opening parenthesis. Returns nil, and
  /// reads nothing, if the text does not continue in this form.
  mutating func readSelectorRest() -> String? {
    var end = position
    guard end < bytes.count, bytes[end] == UInt8(ascii: ":") else { return nil }
    while end < bytes.count, bytes[end] == UInt8(ascii: ":") || Self.isNamePart(bytes[end]) { end += 1 }
    var paren = end
    while paren < bytes.count, Self.isSpace(bytes[paren]) { paren += 1 }
    guard bytes[end - 1] == UInt8(ascii: ":"), paren < bytes.count, bytes[paren] == UInt8(ascii: "(") else {
      return nil
    }
    defer { position = end }
    return String(decoding: bytes[position..<end], as: UTF8.self)
  }

  /// Moves back to a token, so that it is read again.
  mutating func rewind(to token: Token) {
    position = token.offset
  }
}

// MARK: Characters

extension PredicateLexer {
  func peek(_ ahead: Int = 0) -> UInt8? {
    position + ahead < bytes.count ? bytes[position + ahead] : nil
  }

  mutating func advance(_ count: Int = 1) {
    position += count
  }

  private mutating func skipSpace() {
    while let byte = peek(), Self.isSpace(byte) { advance() }
  }

  static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte)
  }

  static func isDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte)
  }

  static func isNameStart(_ byte: UInt8) -> Bool {
    (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x5F || byte >= 0x80
  }

  static func isNamePart(_ byte: UInt8) -> Bool {
    isNameStart(byte) || isDigit(byte)
  }

  private static func startsNumber(_ byte: UInt8, then next: UInt8?) -> Bool {
    isDigit(byte) || (byte == UInt8(ascii: ".") && next.map(isDigit) == true)
  }
}

// MARK: Tokens

extension PredicateLexer {
  private mutating func readWord() -> String {
    let start = position
    while let byte = peek(), Self.isNamePart(byte) { advance() }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  private mutating func readName(after mark: String) throws(PredicateSyntaxError) -> String {
    advance()
    guard let byte = peek(), Self.isNamePart(byte) else {
      throw failure(
        .unexpectedToken, at: position, expected: "a name after \(mark)", found: foundHere(),
        remedy: "Write \(mark) directly before a name.")
    }
    return readWord()
  }

  /// `$name`, or `$"any text"` for names of any characters.
  private mutating func readVariable() throws(PredicateSyntaxError) -> String {
    guard peek(1) == UInt8(ascii: "\"") || peek(1) == UInt8(ascii: "'") else {
      return try readName(after: "$")
    }
    advance()
    return try readText()
  }

  private mutating func readEscapedWord() throws(PredicateSyntaxError) -> Token.Kind {
    if peek(1) == UInt8(ascii: "\"") || peek(1) == UInt8(ascii: "'") {
      let start = position
      advance()
      let name = try readText()
      if !name.isEmpty { return .quotedWord(name) }
      throw failure(
        .unexpectedToken, at: start, expected: "a property name in quotes", found: "no name",
        remedy: "Put the name of the property between the quotes.")
    }
    return .escapedWord(try readName(after: peek() == UInt8(ascii: "#") ? "#" : "\\"))
  }

  /// Reads digits, letters, points before digits, and the sign of an exponent. The parser checks
  /// later whether they form a number.
  private mutating func readNumber() -> String {
    let start = position
    let isRadix = peek() == UInt8(ascii: "0") && peek(1).map { "xXoObB".utf8.contains($0) } == true
    while let byte = peek() {
      let isExponentSign =
        !isRadix && (byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+")) && position > start
        && bytes[position - 1] | 0x20 == UInt8(ascii: "e") && peek(1).map(Self.isDigit) == true
      let isPoint = byte == UInt8(ascii: ".") && !isRadix && peek(1).map(Self.isDigit) == true
      guard Self.isNamePart(byte) || isPoint || isExponentSign else { break }
      advance()
    }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  private mutating func readSymbol() throws(PredicateSyntaxError) -> String {
    let two = peek(1).flatMap { next in
      Self.pairs.first { $0.0 == bytes[position] && $0.1 == next }
    }
    if let two {
      advance(2)
      return String(decoding: [two.0, two.1], as: UTF8.self)
    }
    guard Self.singles.contains(bytes[position]) else {
      throw failure(
        .unexpectedToken, at: position, expected: "a part of a predicate", found: foundHere(),
        remedy: "Remove it, or put text in quotes or in an argument.")
    }
    defer { advance() }
    return String(decoding: [bytes[position]], as: UTF8.self)
  }

  private static let singles = Set("(){}[],.=<>!+-*/&|^~".utf8)
  private static let pairs: [(UInt8, UInt8)] = [
    "==", "!=", "<>", "<=", "=<", ">=", "=>", "&&", "||", "**", ":=", "<<", ">>",
  ].map { pair in (Array(pair.utf8)[0], Array(pair.utf8)[1]) }

  /// `@`, `K`, or the letters of a C format specifier.
  private mutating func readSpecifier() throws(PredicateSyntaxError) -> String {
    let start = position
    advance()
    if peek() == UInt8(ascii: "@") {
      advance()
      return "@"
    }
    var spelling = ""
    while let byte = peek(), Self.isNamePart(byte), spelling.utf8.count < 4 {
      spelling.unicodeScalars.append(Unicode.Scalar(byte))
      advance()
      if !Self.lengthModifiers.contains(byte) { break }
    }
    guard let last = spelling.utf8.last, Self.conversions.contains(last) else {
      position = start
      throw failure(
        .unknownName, at: start, expected: "an argument such as %@, %K or %d", found: foundHere(2),
        remedy: "Remainders are written modulus:by:(a, b); a percent sign belongs in quotes.")
    }
    return spelling
  }

  private static let lengthModifiers = Set("hlqLzjt".utf8)
  private static let conversions = Set("KdDiuUxXoOcCfFeEgGaAsS".utf8)
}

// MARK: Errors

extension PredicateLexer {
  /// The column, in characters from 1, of a byte offset.
  func column(of offset: Int) -> Int {
    String(decoding: bytes[..<min(offset, bytes.count)], as: UTF8.self).count + 1
  }

  /// The character or characters at the reading position, in quotes.
  func foundHere(_ count: Int = 1) -> String {
    guard position < bytes.count else { return "the end" }
    let rest = String(decoding: bytes[position..<min(bytes.count, position + 64)], as: UTF8.self)
    return "'\(rest.prefix(count))'"
  }

  func failure(
    _ code: PredicateSyntaxError.Code, at offset: Int, expected: String, found: String, remedy: String
  ) -> PredicateSyntaxError {
    PredicateSyntaxError(
      code: code, column: column(of: offset), expected: expected, found: found, remedy: remedy)
  }
}
