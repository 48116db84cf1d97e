/// Splits Swift source into tokens.
///
/// The source has passed the compiler's parser, so it is well formed. But the lexer accepts any
/// bytes: an unterminated comment or string ends with the source.
struct Lexer {
  let bytes: [UInt8]
  var offset = 0
  private(set) var tokens: [Token] = []
  /// The number of bytes read ahead. A test compares it with the length of the source.
  var lookedAhead = 0
  /// The line that was last searched for the ends of raw strings. `end` is the end of the line.
  /// `last[n]` is the offset of its last quote with at least n `#` after it.
  var lineOfQuotes: (end: Int, last: [Int]) = (0, [])

  static func tokens(of source: String) -> [Token] { Lexer(source).tokens }

  init(_ source: String) {
    bytes = Array(source.utf8)
    run()
  }

  func byte(_ distance: Int = 0) -> UInt8 {
    offset + distance < bytes.count ? bytes[offset + distance] : 0
  }

  func at(_ text: StaticString, _ distance: Int = 0) -> Bool {
    let start = offset + distance
    guard start + text.utf8CodeUnitCount <= bytes.count else { return false }
    return (0..<text.utf8CodeUnitCount).allSatisfy { bytes[start + $0] == text.utf8Start[$0] }
  }

  private mutating func run() {
    var startsLine = true
    var hasSpace = true
    while offset < bytes.count {
      switch skipTrivia() {
      case .none: break
      case .space: hasSpace = true
      case .line:
        startsLine = true
        hasSpace = true
      }
      guard offset < bytes.count else { return }
      let start = offset
      let kind = scanToken()
      offset = min(max(offset, start + 1), bytes.count)
      tokens.append(
        Token(
          kind: kind, range: start..<offset, text: String(decoding: bytes[start..<offset], as: UTF8.self),
          startsLine: startsLine, hasSpaceBefore: hasSpace))
      (startsLine, hasSpace) = (false, false)
    }
  }

  private mutating func scanToken() -> Token.Kind {
    let first = byte()
    if isWordHead() || first == UInt8(ascii: "$") {
      skipWord()
      return .word
    }
    if first == UInt8(ascii: "`") {
      offset += 1
      while offset < bytes.count, byte() != UInt8(ascii: "`") { offset += 1 }
      offset += 1
      return .word
    }
    if isDigit(first) {
      skipNumber()
      return .number
    }
    if first == UInt8(ascii: "\"") || first == UInt8(ascii: "#") { return scanPoundOrString() }
    if first == UInt8(ascii: "/"), startsRegex() { return scanRegex(pounds: 0) }
    return scanOperator()
  }

  func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  /// Whether a word can begin with the next byte. Non-ASCII characters that are not operators
  /// belong to words.
  func isWordHead() -> Bool {
    let byte = byte()
    if byte >= 0x80 { return operatorLength() == 0 }
    return byte == UInt8(ascii: "_") || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }

  mutating func skipWord() {
    repeat { offset += 1 } while isWordHead() || isDigit(byte()) || byte() == UInt8(ascii: "$")
  }

  private mutating func skipNumber() {
    while isWordHead() || isDigit(byte()) || (byte() == UInt8(ascii: ".") && isDigit(byte(1))) {
      let isExponent = byte() | 0x20 == UInt8(ascii: "e") || byte() | 0x20 == UInt8(ascii: "p")
      offset += 1
      if isExponent, byte() == UInt8(ascii: "-") || byte() == UInt8(ascii: "+"), isDigit(byte(1)) {
        offset += 1
      }
    }
  }
}

// MARK: - Between tokens

extension Lexer {
  enum Trivia { case none, space, line }

  mutating func skipTrivia() -> Trivia {
    var found = Trivia.none
    while offset < bytes.count {
      if byte() == 0x0a || byte() == 0x0d {
        offset += 1
        found = .line
      } else if byte() == 0x20 || byte() == 0x09 || byte() == 0x0b || byte() == 0x0c || byte() == 0 {
        offset += 1
        if found == .none { found = .space }
      } else if at("\u{feff}") {
        offset += 3
      } else if at("//") {
        while offset < bytes.count, byte() != 0x0a, byte() != 0x0d { offset += 1 }
        if found == .none { found = .space }
      } else if at("/*") {
        if skipBlockComment() { found = .line } else if found == .none { found = .space }
      } else {
        break
      }
    }
    return found
  }

  /// Skips a comment, including nested comments. Returns true if it spans lines.
  private mutating func skipBlockComment() -> Bool {
    var depth = 0
    var spansLines = false
    repeat {
      if at("/*") {
        depth += 1
        offset += 2
      } else if at("*/") {
        depth -= 1
        offset += 2
      } else {
        if byte() == 0x0a { spansLines = true }
        offset += 1
      }
    } while depth > 0 && offset < bytes.count
    return spansLines
  }
}
