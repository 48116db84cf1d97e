extension File {
  /// The default implementation, which writes bytes.
  public func allocate(_ length: UInt64) throws(FileIOError) { try allocateByWriting(length) }

  /// Allocates like `allocate(_:)`, by writing bytes. The bytes are incompressible, so a
  /// compressing file system also reserves the full length.
  func allocateByWriting(_ length: UInt64) throws(FileIOError) {
    var offset = try size()
    let noise = Noise.bytes(count: Int(min(Noise.pieceLength, length - min(offset, length))))
    while offset < length {
      let count = Int(min(UInt64(noise.count), length - offset))
      try noise.withUnsafeBufferPointer { bytes throws(FileIOError) in
        try write(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[..<count])), at: offset)
      }
      offset += UInt64(count)
    }
  }
}

private enum Noise {
  static let pieceLength: UInt64 = 1 << 20

  /// Pseudorandom bytes, the same each time, from an xorshift generator. Only incompressibility
  /// matters.
  static func bytes(count: Int) -> [UInt8] {
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    return (0..<count).map { _ in
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return UInt8(truncatingIfNeeded: state >> 32)
    }
  }
}
