/// Why reading a stream of messages failed.
enum MessageError: Error, Hashable {
  /// The stream ends inside a message.
  case truncated
  /// A message claims more bytes than any message can have.
  case tooLong(UInt64)
  /// The content is not JSON.
  case notJSON(JSONError)

  var sentence: String {
    switch self {
    case .truncated: "The compiler's message ends early."
    case .tooLong(let count): "A message of \(count) bytes is not a message of the compiler."
    case .notJSON(let error): "The compiler's message is not JSON at byte \(error.offset): \(error.message)."
    }
  }
}

/// Reads messages from a stream: eight bytes of length, little-endian, then the JSON with that
/// length. A length of 0 ends the conversation.
struct MessageReader {
  /// The maximum length of a message, far above any source file.
  static let lengthLimitBytes: UInt64 = 256 << 20
  private static let pieceSizeBytes = 64 << 10

  /// Reads at most the requested number of bytes. Returns none at the end.
  let read: (Int) -> [UInt8]

  /// The next message, or nil at the end of the conversation.
  func next() throws(MessageError) -> JSON? {
    let header = take(8)
    if header.isEmpty { return nil }
    guard header.count == 8 else { throw .truncated }
    var length: UInt64 = 0
    for byte in header.reversed() { length = length << 8 | UInt64(byte) }
    if length == 0 { return nil }
    guard length <= Self.lengthLimitBytes else { throw .tooLong(length) }
    let content = take(Int(length))
    guard content.count == Int(length) else { throw .truncated }
    do throws(JSONError) {
      return try JSONReader.read(content)
    } catch {
      throw .notJSON(error)
    }
  }

  /// Reads up to `count` bytes in pieces, so that a large length alone allocates no memory.
  private func take(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      let piece = read(min(count - bytes.count, Self.pieceSizeBytes))
      if piece.isEmpty { break }
      bytes += piece
    }
    return bytes
  }

  /// The bytes of a message to the compiler.
  static func frame(_ message: JSON) -> [UInt8] {
    let content = message.encoded
    let length = UInt64(content.count)
    return (0..<8).map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) } + content
  }
}
