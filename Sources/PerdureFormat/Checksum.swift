import CPerdureShims

/// CRC32C (Castagnoli), the only checksum of the format.
package enum Checksum {
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
}
