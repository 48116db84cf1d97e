extension Lexer {
  /// A string with any number of `#` around it, an extended regular expression, or a word with `#`.
  mutating func scanPoundOrString() -> Token.Kind {
    var pounds = 0
    while byte(pounds) == UInt8(ascii: "#") { pounds += 1 }
    if byte(pounds) == UInt8(ascii: "\"") {
      offset += pounds
      skipString(pounds: pounds)
      return .literal
    }
    if pounds > 0, byte(pounds) == UInt8(ascii: "/") {
      offset += pounds
      return scanRegex(pounds: pounds)
    }
    offset += 1
    guard pounds == 1, isWordHead(byte()) else { return .punctuation }
    skipWord()
    return .pound
  }

  /// Skips a string from its opening quotes to behind its closing `#`.
  mutating func skipString(pounds: Int) {
    let isMultiline = at("\"\"\"")
    let quotes = isMultiline ? 3 : 1
    offset += quotes
    while offset < bytes.count {
      if closes(quotes: quotes, pounds: pounds) {
        offset += quotes + pounds
        return
      }
      if !isMultiline, byte() == 0x0a { return }
      if isEscape(pounds: pounds) {
        offset += 1 + pounds
        if byte() == UInt8(ascii: "(") { skipInterpolation() } else { offset += 1 }
      } else {
        offset += 1
      }
    }
  }

  private func isEscape(pounds: Int) -> Bool {
    byte() == UInt8(ascii: "\\") && (0..<pounds).allSatisfy { byte(1 + $0) == UInt8(ascii: "#") }
  }

  private func closes(quotes: Int, pounds: Int) -> Bool {
    (0..<quotes).allSatisfy { byte($0) == UInt8(ascii: "\"") }
      && (0..<pounds).allSatisfy { byte(quotes + $0) == UInt8(ascii: "#") }
  }

  /// Skips `(` to the matching `)`, strings inside included.
  private mutating func skipInterpolation() {
    var depth = 0
    repeat {
      var pounds = 0
      while byte(pounds) == UInt8(ascii: "#") { pounds += 1 }
      if byte(pounds) == UInt8(ascii: "\"") {
        offset += pounds
        skipString(pounds: pounds)
        continue
      }
      if byte() == UInt8(ascii: "(") { depth += 1 }
      if byte() == UInt8(ascii: ")") { depth -= 1 }
      offset += 1
    } while depth > 0 && offset < bytes.count
  }

  /// Whether a `/` begins a regular expression: an expression may begin here, no space follows, and
  /// another `/` stands on the line.
  var isRegexStart: Bool {
    guard byte(1) != 0x20, byte(1) != 0x09, byte(1) != UInt8(ascii: "/"), byte(1) != UInt8(ascii: "*") else {
      return false
    }
    if let last = tokens.last {
      let opens = ["(", "[", "{", ",", ":", ";", "=", "return", "in", "try", "await", "case", "if", "while"]
      guard last.kind == .operation || opens.contains(last.text) else { return false }
    }
    var distance = 1
    while offset + distance < bytes.count, byte(distance) != 0x0a {
      if byte(distance) == UInt8(ascii: "/") { return true }
      distance += byte(distance) == UInt8(ascii: "\\") ? 2 : 1
    }
    return false
  }

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
