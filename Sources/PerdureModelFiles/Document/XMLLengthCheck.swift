/// Refuses tags, texts and comments that are too long for the parser. The parser reports other
/// mistakes for such parts, for example quotes that are not closed.
enum XMLLengthCheck {
  /// The maximum number of bytes from a tag or comment to the next one. The parser reads at most
  /// 10,000,000 bytes in one piece.
  static let lengthMaxBytes = 8 << 20

  /// - Throws: `ModelFileError` with the line of the first part that is too long.
  /// - Complexity: O(n) for n bytes.
  static func check(
    _ bytes: [UInt8], file: String, lengthMaxBytes: Int = lengthMaxBytes
  ) throws(ModelFileError) {
    var start = bytes.startIndex
    while start < bytes.endIndex {
      let (name, end) = part(at: start, in: bytes)
      if end - start > lengthMaxBytes {
        throw ModelFileError(
          .syntax, file: file, line: bytes[..<start].count { $0 == 0x0A } + 1,
          "The \(name) has \(end - start) bytes.",
          "Make it shorter: \(lengthMaxBytes) bytes are the limit for a tag with the text after it, and for a comment."
        )
      }
      start = end
    }
  }

  /// The part that begins at an offset: its name for messages, and its end.
  private static func part(at start: Int, in bytes: [UInt8]) -> (name: String, end: Int) {
    let rest = bytes[start...]
    for (name, opening, closing) in XMLText.markup where rest.starts(with: opening.utf8) {
      return (name, rest.firstRange(of: closing.utf8)?.upperBound ?? rest.endIndex)
    }
    let less = UInt8(ascii: "<")
    let end = rest.dropFirst().firstIndex(of: less) ?? rest.endIndex
    guard rest.first == less else { return ("text", end) }
    let name = rest.dropFirst().prefix(60).prefix { !XMLText.isSpace($0) && $0 != UInt8(ascii: ">") }
    return ("tag <\(String(decoding: name, as: UTF8.self))> with the text after it", end)
  }
}
