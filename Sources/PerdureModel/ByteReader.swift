/// Reads the parts of a stored model from front to back, little-endian. For any bytes, the reader
/// returns a value or throws an error with an offset. It checks that enough bytes follow a count
/// before it uses the count.
struct ByteReader {
  private let bytes: [UInt8]
  private(set) var offset = 0
  private let end: Int
  /// The version of the format that is being read.
  var version: UInt16 = 1

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    end = bytes.count
  }

  private init(_ whole: ByteReader, from offset: Int, to end: Int) {
    bytes = whole.bytes
    version = whole.version
    self.offset = offset
    self.end = end
  }

  var remainingCount: Int { end - offset }

  /// The unread bytes.
  var rest: ArraySlice<UInt8> { bytes[offset..<end] }

  /// The bytes from the offset `start` to the next unread byte.
  func read(from start: Int) -> ArraySlice<UInt8> { bytes[start..<offset] }

  func fail(_ what: String) -> ModelError { .unreadable(what, at: offset) }

  mutating func bytes(_ count: Int) throws(ModelError) -> ArraySlice<UInt8> {
    guard count >= 0, count <= remainingCount else { throw fail("\(count) bytes expected, the end found") }
    defer { offset += count }
    return bytes[offset..<offset + count]
  }

  /// Returns a reader of the next `count` bytes, and skips them. The offsets of the new reader
  /// refer to the whole data.
  mutating func part(_ count: Int) throws(ModelError) -> ByteReader {
    let start = offset
    _ = try bytes(count)
    return ByteReader(self, from: start, to: offset)
  }

  mutating func integer<T: FixedWidthInteger>(_ type: T.Type) throws(ModelError) -> T {
    var value: T = 0
    for (position, byte) in try bytes(T.bitWidth / 8).enumerated() {
      value |= T(truncatingIfNeeded: byte) << T(position * 8)
    }
    return value
  }

  /// Reads the count of items that need at least `minimumSizeBytes` each.
  mutating func count(minimumSizeBytes: Int = 1) throws(ModelError) -> Int {
    let value = Int(clamping: try integer(UInt32.self))
    guard value <= remainingCount / minimumSizeBytes else { throw fail("a count of \(value) is impossible") }
    return value
  }

  mutating func bool() throws(ModelError) -> Bool {
    switch try integer(UInt8.self) {
    case 0: return false
    case 1: return true
    case let other: throw fail("\(other) is neither true nor false")
    }
  }

  mutating func string() throws(ModelError) -> String {
    let content = try bytes(try count())
    guard let text = String(validating: content, as: UTF8.self) else { throw fail("text is not UTF-8") }
    return text
  }

  mutating func optional<T>(
    _ read: (inout ByteReader) throws(ModelError) -> T
  ) throws(ModelError) -> T? {
    try bool() ? try read(&self) : nil
  }

  mutating func list<T>(
    minimumSizeBytes: Int = 1, _ read: (inout ByteReader) throws(ModelError) -> T
  ) throws(ModelError) -> [T] {
    let count = try count(minimumSizeBytes: minimumSizeBytes)
    var result: [T] = []
    result.reserveCapacity(count)
    for _ in 0..<count { result.append(try read(&self)) }
    return result
  }
}
