// Little-endian integers in raw memory. The bytes on disk are the same on every platform.
//
// Functions that run for every record are inlined into the engine. `@inlinable` alone is not enough
// for that. The `package` type of the function and the stored properties that the function uses
// must be `@usableFromInline`. Otherwise the compiler emits a call.

extension UnsafeRawBufferPointer {
  /// Reads a little-endian integer. The caller must have checked the bounds.
  @inlinable package func integer<T: FixedWidthInteger>(at offset: Int, as type: T.Type = T.self) -> T {
    T(littleEndian: loadUnaligned(fromByteOffset: offset, as: T.self))
  }

  /// A view of a part of these bytes. The caller must have checked the bounds.
  @inlinable package func part(_ offset: Int, _ length: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[offset..<(offset &+ length)])
  }

  /// The offset of the first nonzero byte in the range; nil if all bytes are zero.
  @inlinable package func firstNonZero(in range: Range<Int>) -> Int? {
    var offset = range.lowerBound
    while offset &+ 8 <= range.upperBound, loadUnaligned(fromByteOffset: offset, as: UInt64.self) == 0 {
      offset &+= 8
    }
    while offset < range.upperBound {
      if self[offset] != 0 { return offset }
      offset &+= 1
    }
    return nil
  }

  /// Whether all bytes of the range are zero.
  @inlinable package func isZero(in range: Range<Int>) -> Bool { firstNonZero(in: range) == nil }
}

extension UnsafeRawBufferPointer {
  /// Checks the magic and the checksum of a structure at the beginning or the end of a file.
  ///
  /// The structure is the first `length` bytes of this buffer. Its first eight bytes are the magic,
  /// and its last four are the checksum of all bytes before them.
  ///
  /// - Parameter place: The value from which the checksum continues.
  func checkSeal(
    of structure: String, _ magic: [UInt8], length: Int, continuing place: UInt32 = 0
  ) throws(FormatError) {
    guard count >= length else { throw FormatError(.incomplete, in: structure, at: count) }
    guard part(0, 8).elementsEqual(magic) else { throw FormatError(.wrongMagic, in: structure, at: 0) }
    let end = length - 4
    guard integer(at: end, as: UInt32.self) == Checksum.crc32c(part(0, end), continuing: place) else {
      throw FormatError(.wrongChecksum, in: structure, at: end)
    }
  }
}

extension UnsafeMutableRawBufferPointer {
  /// Writes a little-endian integer. The caller must have checked the bounds.
  @inlinable package func setInteger<T: FixedWidthInteger>(_ value: T, at offset: Int) {
    storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
  }
}

extension UnsafeRawPointer {
  /// Reads a little-endian integer.
  @inlinable package func integer<T: FixedWidthInteger>(at offset: Int, as type: T.Type = T.self) -> T {
    T(littleEndian: loadUnaligned(fromByteOffset: offset, as: T.self))
  }
}
