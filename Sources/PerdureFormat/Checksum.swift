public import CPerdureShims

/// CRC32C (Castagnoli), the only checksum of the format.
@usableFromInline package enum Checksum {
  /// The checksum of `bytes`, continuing from `previous` (0 to begin).
  @inlinable package static func crc32c(
    _ bytes: UnsafeRawBufferPointer, continuing previous: UInt32 = 0
  ) -> UInt32 {
    guard let base = bytes.baseAddress else { return previous }
    return perdure_crc32c(previous, base, bytes.count)
  }

  /// Continues `previous` over the four little-endian bytes of `word`.
  @inlinable package static func crc32c(word: UInt32, continuing previous: UInt32) -> UInt32 {
    withUnsafeBytes(of: word.littleEndian) { crc32c($0, continuing: previous) }
  }

  /// The checksum of `bytes`, continued over the eight little-endian bytes of `word`.
  @inlinable package static func crc32c(_ bytes: UnsafeRawBufferPointer, thenWord word: UInt64) -> UInt32 {
    guard let base = bytes.baseAddress else { return crc32c(word64: word, continuing: 0) }
    return perdure_crc32c_word(0, base, bytes.count, word)
  }

  /// Continues `previous` over the eight little-endian bytes of `word`.
  @inlinable package static func crc32c(word64 word: UInt64, continuing previous: UInt32) -> UInt32 {
    perdure_crc32c_word(previous, nil, 0, word)
  }

  /// The inverse of `crc32c(_:continuing:)`: returns the value of `previous` that gives `checksum`
  /// for `bytes`.
  ///
  /// It works bit by bit: each step of the division is reversible, because the polynomial's highest
  /// bit is set.
  package static func rewound(_ checksum: UInt32, over bytes: UnsafeRawBufferPointer) -> UInt32 {
    var state = ~checksum
    for byte in bytes.reversed() {
      for _ in 0..<8 {
        let wasDivided = state & 1 << 31 != 0
        state = wasDivided ? (state ^ 0x82F6_3B78) << 1 | 1 : state << 1
      }
      state ^= UInt32(byte)
    }
    return ~state
  }
}
