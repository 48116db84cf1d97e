extension Lexer {
  /// Reads a string with any number of `#` around it, an extended regular expression, or a word
  /// with `#`.
  mutating func scanPoundOrString() -> Token.Kind {
    let pounds = countPounds()
    if byte(pounds) == UInt8(ascii: "\"") {
      skipString()
      return .literal
    }
    if pounds > 0, byte(pounds) == UInt8(ascii: "/") {
      offset += pounds
      return scanRegex(pounds: pounds)
    }
    offset += pounds
    guard pounds == 1, isWordHead() else { return .punctuation }
    skipWord()
    return .pound
  }

  private func countPounds() -> Int {
    var pounds = 0
    while byte(pounds) == UInt8(ascii: "#") { pounds += 1 }
    return pounds
  }

  /// A string that has begun. `depth` is the number of open parentheses in the current
  /// interpolation; 0 means that the lexer is in the string's text.
  private struct OpenString {
    let quotes: Int
    let pounds: Int
    var depth = 0
  }

  /// Skips a string from its opening `#` or quotes to the position after its end. Nested strings in
  /// interpolations are kept in a list, so nesting does not use the stack.
  mutating func skipString() {
    var open = [beginString()]
    while let string = open.last, offset < bytes.count {
      if string.depth == 0 {
        skipText(&open)
      } else if byte(countPounds()) == UInt8(ascii: "\"") {
        open.append(beginString())
      } else {
        open[open.count - 1].depth += skipCode()
      }
    }
  }

  private mutating func beginString() -> OpenString {
    let pounds = countPounds()
    offset += pounds
    let isOnLine = pounds > 0 && at("\"\"\"") && endsOnLine(pounds: pounds)
    let quotes = at("\"\"\"") && !isOnLine ? 3 : 1
    offset += quotes
    return OpenString(quotes: quotes, pounds: pounds)
  }

  /// Whether a possible beginning of a multi-line string is a raw string on one line: `#"""#`.
  private mutating func endsOnLine(pounds: Int) -> Bool {
    if offset >= lineOfQuotes.end { lookForQuotes() }
    return pounds < lineOfQuotes.last.count && lineOfQuotes.last[pounds] > offset
  }

  /// Scans the rest of the line once, for all strings that begin on it.
  private mutating func lookForQuotes() {
    var last: [Int] = []
    var end = offset
    while end < bytes.count, bytes[end] != 0x0a, bytes[end] != 0x0d {
      let quote = end
      end += 1
      guard bytes[quote] == UInt8(ascii: "\"") else { continue }
      while end < bytes.count, bytes[end] == UInt8(ascii: "#") { end += 1 }
      let pounds = end - quote - 1
      for count in 0..<min(pounds + 1, last.count) { last[count] = quote }
      while last.count <= pounds { last.append(quote) }
    }
    lookedAhead += end - offset
    lineOfQuotes = (end, last)
  }

  /// Skips a character of the innermost string's text, or the end of the text.
  private mutating func skipText(_ open: inout [OpenString]) {
    let string = open[open.count - 1]
    if closes(quotes: string.quotes, pounds: string.pounds) {
      offset += string.quotes + string.pounds
      open.removeLast()
    } else if string.quotes == 1, byte() == 0x0a || byte() == 0x0d {
      open.removeLast()
    } else if isEscape(pounds: string.pounds) {
      offset += 1 + string.pounds
      if byte() == UInt8(ascii: "(") { open[open.count - 1].depth = 1 }
      offset = min(offset + 1, bytes.count)
    } else {
      offset += 1
    }
  }

  /// Skips a character of an interpolation, or a comment. Returns the change of the number of open
  /// parentheses.
  private mutating func skipCode() -> Int {
    if at("//") || at("/*") {
      _ = skipTrivia()
      return 0
    }
    let character = byte()
    offset += max(1, countPounds())
    return character == UInt8(ascii: "(") ? 1 : character == UInt8(ascii: ")") ? -1 : 0
  }

  private func isEscape(pounds: Int) -> Bool {
    byte() == UInt8(ascii: "\\") && (0..<pounds).allSatisfy { byte(1 + $0) == UInt8(ascii: "#") }
  }

  private func closes(quotes: Int, pounds: Int) -> Bool {
    (0..<quotes).allSatisfy { byte($0) == UInt8(ascii: "\"") }
      && (0..<pounds).allSatisfy { byte(quotes + $0) == UInt8(ascii: "#") }
  }

  /// Whether a `/` begins a regular expression.
  ///
  /// It does if all of this is true: An expression can begin here. No space follows the `/`. The
  /// next `/` of the line has no space before it. No unmatched `)` is between the two.
  mutating func startsRegex() -> Bool {
    guard byte(1) != 0x20, byte(1) != 0x09, byte(1) != UInt8(ascii: "/"), byte(1) != UInt8(ascii: "*") else {
      return false
    }
    if let last = tokens.last {
      guard last.kind == .operation || Self.beforeExpressions.contains(last.text) else { return false }
    }
    var distance = 1
    var depth = 0
    defer { lookedAhead += distance }
    while offset + distance < bytes.count, byte(distance) != 0x0a, byte(distance) != 0x0d {
      switch byte(distance) {
      case UInt8(ascii: "/"): return byte(distance - 1) != 0x20 && byte(distance - 1) != 0x09
      case UInt8(ascii: "("): depth += 1
      case UInt8(ascii: ")") where depth == 0: return false
      case UInt8(ascii: ")"): depth -= 1
      case UInt8(ascii: "\\"): distance += 1
      default: break
      }
      distance += 1
    }
    return false
  }

  private static let beforeExpressions: Set<String> = [
    "(", "[", "{", ",", ":", ";", "return", "in", "try", "await", "case", "if", "while", "throw", "else",
    "guard",
    "switch", "where", "is", "as",
  ]

  mutating func scanRegex(pounds: Int) -> Token.Kind {
    offset += 1
    while offset < bytes.count {
      if byte() == UInt8(ascii: "\\") {
        offset += 2
      } else if byte() == UInt8(ascii: "/"),
        (0..<pounds).allSatisfy({ byte(1 + $0) == UInt8(ascii: "#") })
      {
        offset += 1 + pounds
        break
      } else {
        offset += 1
      }
    }
    offset = min(offset, bytes.count)
    return .literal
  }
}
