extension Lexer {
  /// Reads an operator, or one character of any other kind. An operator can contain dots only if it
  /// begins with a dot.
  mutating func scanOperator() -> Token.Kind {
    let begin = offset
    if byte() == UInt8(ascii: ".") {
      let isOperator = byte(1) == UInt8(ascii: ".") || (operatorLength(1) > 0 && !isMark(byte(1)))
      while isOperator, !at("//"), !at("/*") {
        let length = byte() == UInt8(ascii: ".") ? 1 : operatorLength()
        if length == 0 { break }
        offset += length
      }
    } else if !isMark(byte()) || !isBoundToTheLeft {
      while !at("//"), !at("/*") {
        let length = operatorLength()
        if length == 0 { break }
        offset += length
      }
    }
    if offset > begin { return .operation }
    offset += 1
    while offset < bytes.count, byte() & 0xc0 == 0x80 { offset += 1 }
    return .punctuation
  }

  private func isMark(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "?") || byte == UInt8(ascii: "!") }

  /// Whether a postfix mark at this position can belong to the previous token.
  private var isBoundToTheLeft: Bool {
    offset > 0 && !" \t\n\r\u{0}([{,;:".utf8.contains(bytes[offset - 1])
  }

  /// The number of bytes of the operator character at a distance; 0 if there is no operator
  /// character.
  func operatorLength(_ distance: Int = 0) -> Int {
    let first = byte(distance)
    if first < 0x80 { return "+-*/%=<>&|^~!?".utf8.contains(first) ? 1 : 0 }
    // Non-ASCII operator characters have two or three bytes.
    let length = first < 0xe0 ? 2 : 3
    guard first >= 0xc2, first < 0xf0, offset + distance + length <= bytes.count else { return 0 }
    var scalar = UInt32(first & (length == 2 ? 0x1f : 0x0f))
    for index in 1..<length { scalar = scalar << 6 | UInt32(byte(distance + index) & 0x3f) }
    return Self.operators.contains { $0.contains(scalar) } ? length : 0
  }

  /// The non-ASCII part of `operator-head` in the language's grammar.
  private static let operators: [ClosedRange<UInt32>] = [
    0xa1...0xa7, 0xa9...0xa9, 0xab...0xac, 0xae...0xae, 0xb0...0xb1, 0xb6...0xb6, 0xbb...0xbb, 0xbf...0xbf,
    0xd7...0xd7, 0xf7...0xf7, 0x2016...0x2017, 0x2020...0x2027, 0x2030...0x203e, 0x2041...0x2053,
    0x2055...0x205e, 0x2190...0x23ff, 0x2500...0x2775, 0x2794...0x2bff, 0x2e00...0x2e7f, 0x3001...0x3003,
    0x3008...0x3020, 0x3030...0x3030,
  ]
}
