// Quoted text and its escapes. An unknown escape is an error: `"\d"` is probably a part of a
// regular expression, and without the backslash it means something else.

extension PredicateLexer {
  /// Reads text in single or double quotes. The position must be at the opening quote.
  mutating func readText() throws(PredicateSyntaxError) -> String {
    let start = position
    let quote = bytes[position]
    advance()
    var text: [UInt8] = []
    while let byte = peek() {
      if byte == quote {
        advance()
        return String(decoding: text, as: UTF8.self)
      }
      if byte == UInt8(ascii: "\\") {
        text.append(contentsOf: try readEscape())
      } else {
        text.append(byte)
        advance()
      }
    }
    throw failure(
      .unclosedText, at: start, expected: "a closing quote", found: "the end",
      remedy: "Close the quote opened here, or write \\\" for a quote inside text.")
  }

  private mutating func readEscape() throws(PredicateSyntaxError) -> [UInt8] {
    let start = position
    advance()
    let byte = peek()
    advance()
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"): return [byte!]
    case UInt8(ascii: "n"): return [0x0A]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "r"): return [0x0D]
    case UInt8(ascii: "u"):
      if let scalar = readUnicodeEscape() { return Array(String(scalar).utf8) }
    default: break
    }
    position = start
    throw failure(
      .badLiteral, at: start, expected: "one of \\\" \\' \\\\ \\n \\t \\r \\u0041", found: foundHere(2),
      remedy: "Write \\\\ for a backslash, or pass the text as an argument.")
  }

  /// Four hexadecimal digits, or two such groups that form a surrogate pair.
  private mutating func readUnicodeEscape() -> Unicode.Scalar? {
    guard let high = readHexadecimal() else { return nil }
    guard (0xD800...0xDBFF).contains(high) else { return Unicode.Scalar(high) }
    guard peek() == UInt8(ascii: "\\"), peek(1) == UInt8(ascii: "u") else { return nil }
    advance(2)
    guard let low = readHexadecimal(), (0xDC00...0xDFFF).contains(low) else { return nil }
    return Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
  }

  private mutating func readHexadecimal() -> UInt32? {
    guard position + 4 <= bytes.count else { return nil }
    var value: UInt32 = 0
    for byte in bytes[position..<position + 4] {
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
      value = value << 4 | UInt32(digit)
    }
    advance(4)
    return value
  }
}
