/// Why bytes are not JSON.
struct JSONError: Error, Hashable {
  let message: String
  let offset: Int
}

/// Reads one JSON value that must fill all the bytes. It accepts any bytes, and returns a value or
/// throws an error.
struct JSONReader {
  /// The maximum nesting of arrays and objects. The compiler's messages have about six levels.
  private static let depthLimit = 100

  private let bytes: [UInt8]
  private var offset = 0

  static func read(_ bytes: [UInt8]) throws(JSONError) -> JSON {
    var reader = JSONReader(bytes: bytes)
    let value = try reader.value(depth: 0)
    reader.skipSpace()
    guard reader.offset == bytes.count else { throw reader.fail("something follows the value") }
    return value
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  private func fail(_ message: String) -> JSONError { JSONError(message: message, offset: offset) }

  private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || (0x09...0x0d).contains(byte) { offset += 1 }
  }

  private mutating func skip(_ character: Unicode.Scalar) -> Bool {
    skipSpace()
    guard next == UInt8(ascii: character) else { return false }
    offset += 1
    return true
  }

  private mutating func value(depth: Int) throws(JSONError) -> JSON {
    guard depth < Self.depthLimit else { throw fail("too many values inside each other") }
    skipSpace()
    switch next {
    case UInt8(ascii: "{"): return .object(try object(depth: depth))
    case UInt8(ascii: "["): return .array(try array(depth: depth))
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return .integer(try number())
    }
  }

  private mutating func word(_ word: String, _ value: JSON) throws(JSONError) -> JSON {
    guard bytes[offset...].starts(with: word.utf8) else { throw fail("a value was expected") }
    offset += word.utf8.count
    return value
  }

  private mutating func array(depth: Int) throws(JSONError) -> [JSON] {
    offset += 1
    var elements: [JSON] = []
    if skip("]") { return elements }
    repeat { elements.append(try value(depth: depth + 1)) } while skip(",")
    guard skip("]") else { throw fail("an array does not end") }
    return elements
  }

  private mutating func object(depth: Int) throws(JSONError) -> [String: JSON] {
    offset += 1
    var members: [String: JSON] = [:]
    if skip("}") { return members }
    repeat {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw fail("a member name was expected") }
      let name = try string()
      guard skip(":") else { throw fail("a colon was expected") }
      members[name] = try value(depth: depth + 1)
    } while skip(",")
    guard skip("}") else { throw fail("an object does not end") }
    return members
  }

  private mutating func number() throws(JSONError) -> Int {
    let start = offset
    if next == UInt8(ascii: "-") { offset += 1 }
    while let byte = next, isDigit(byte) { offset += 1 }
    guard let value = Int(String(decoding: bytes[start..<offset], as: UTF8.self)) else {
      throw fail("a value was expected")
    }
    while let byte = next, isDigit(byte) || ".eE+-".utf8.contains(byte) { offset += 1 }
    return value
  }

  private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}

// MARK: - Text

extension JSONReader {
  private mutating func string() throws(JSONError) -> String {
    offset += 1
    var text: [UInt8] = []
    while let byte = next {
      offset += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let result = String(validating: text, as: UTF8.self) else { throw fail("text is not UTF-8") }
        return result
      case UInt8(ascii: "\\"): text += try escape()
      default: text.append(byte)
      }
    }
    throw fail("text does not end")
  }

  private mutating func escape() throws(JSONError) -> [UInt8] {
    guard let byte = next else { throw fail("text does not end") }
    offset += 1
    switch byte {
    case UInt8(ascii: "n"): return [0x0a]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "r"): return [0x0d]
    case UInt8(ascii: "b"): return [0x08]
    case UInt8(ascii: "f"): return [0x0c]
    case UInt8(ascii: "u"): return Array(String(Character(try unicodeEscape())).utf8)
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
    default: throw fail("an unknown escape")
    }
  }

  private mutating func unicodeEscape() throws(JSONError) -> Unicode.Scalar {
    let first = try codeUnit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard (0xd800..<0xdc00).contains(first), next == UInt8(ascii: "\\") else {
      throw fail("a surrogate without its pair")
    }
    offset += 1
    guard next == UInt8(ascii: "u") else { throw fail("a surrogate without its pair") }
    offset += 1
    let second = try codeUnit()
    guard (0xdc00..<0xe000).contains(second) else { throw fail("a surrogate without its pair") }
    let value = 0x10000 + (first - 0xd800) << 10 + (second - 0xdc00)
    guard let scalar = Unicode.Scalar(value) else { throw fail("no character") }
    return scalar
  }

  private mutating func codeUnit() throws(JSONError) -> UInt32 {
    guard bytes.count - offset >= 4 else { throw fail("text does not end") }
    var value: UInt32 = 0
    for byte in bytes[offset..<offset + 4] {
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw fail("no hexadecimal digit")
      }
      value = value << 4 | UInt32(digit)
    }
    offset += 4
    return value
  }
}
