import PerdureLog
import PerdureText

/// Keys and values in readable form: text unchanged, other bytes as `0x` and hexadecimal digits.
enum KeyText {
  /// The argument is not a key.
  struct Illegible: Error, CustomStringConvertible {
    let description: String
  }

  /// Converts an argument to a key of a keyspace of byte strings.
  static func bytes(_ text: String) throws -> [UInt8] {
    guard text.hasPrefix("0x") else { return Array(text.utf8) }
    guard let bytes = Hexadecimal.bytes(text.dropFirst(2)) else {
      throw Illegible(description: "\(text) must have an even number of hexadecimal digits after 0x")
    }
    return bytes
  }

  /// Converts an argument to a key of a dense keyspace. The argument is a decimal number, or a
  /// hexadecimal one with `0x`.
  static func id(_ text: String) throws -> UInt64 {
    let number = text.hasPrefix("0x") ? UInt64(text.dropFirst(2), radix: 16) : UInt64(text)
    guard let number else { throw Illegible(description: "\(text) is not an id: give a number") }
    return number
  }

  /// The text of a key. `bytes` converts the text back to the key.
  static func key(_ bytes: [UInt8]) -> String {
    let text = String(decoding: bytes, as: UTF8.self)
    let isPlain = !bytes.isEmpty && bytes.allSatisfy { (0x21...0x7E).contains($0) } && !text.hasPrefix("0x")
    return isPlain ? text : "0x" + Hexadecimal.digits(bytes)
  }

  /// The number of bytes at the end that belong to an incomplete UTF-8 sequence.
  private static func cutLength(of bytes: [UInt8]) -> Int {
    for length in 1...3 where length <= bytes.count {
      let byte = bytes[bytes.count - length]
      if byte & 0xC0 == 0x80 { continue }
      let whole = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
      return length < whole ? length : 0
    }
    return 0
  }

  /// A value on one line: text in quotes, or bytes in hexadecimal. A value of more than `limit`
  /// bytes is cut.
  static func value(_ bytes: [UInt8], limit: Int) -> String {
    let shown = Array(bytes.prefix(limit))
    let isCut = bytes.count > shown.count
    let more = isCut ? "… (\(bytes.count) bytes)" : ""
    let whole = Array(shown.dropLast(isCut ? cutLength(of: shown) : 0))
    let text = whole.isEmpty && !shown.isEmpty ? nil : JSONText.bytes(whole).plain
    return (text ?? "0x" + Hexadecimal.digits(shown)) + more
  }
}

extension JSONText {
  /// The JSON text of a string; nil for any other value.
  fileprivate var plain: String? {
    if case .string = self { text } else { nil }
  }
}
