import CLogFloor

extension Shape {
  /// The length of a key in engines whose keys are byte strings.
  var keyLength: Int { keyKind == .hashed ? 16 : 8 }

  /// Calls `body` with the bytes of a key. The order of the bytes is the order of the keys, so ids
  /// are big-endian.
  @inline(__always)
  func withBytes<R>(of key: log_key, _ body: (UnsafeRawPointer) throws -> R) rethrows -> R {
    var key = key
    if keyKind == .dense { key.first = key.first.bigEndian }
    return try withUnsafePointer(to: &key) { try body(UnsafeRawPointer($0)) }
  }

  /// The key with these bytes.
  @inline(__always)
  func key(bytes: UnsafeRawPointer) -> log_key {
    guard keyKind == .dense else { return log_key(bytes: bytes) }
    return log_key(first: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)), second: 0)
  }
}

extension log_key {
  /// The first bytes of a hashed key as a number. Followed by zeros, they are the smallest key with
  /// this prefix.
  @inline(__always)
  func prefixWord(_ length: Int) -> UInt64 { first & (1 << UInt64(8 * length) - 1) }
}
