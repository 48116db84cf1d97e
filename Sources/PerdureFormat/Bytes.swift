// Little-endian integers in raw memory. On every platform the bytes on disk are the same.

extension UnsafeRawBufferPointer {
  /// Reads a little-endian integer; the caller has checked the bounds.
  @inlinable package func integer<T: FixedWidthInteger>(at offset: Int, as type: T.Type = T.self) -> T {
    T(littleEndian: loadUnaligned(fromByteOffset: offset, as: T.self))
  }

  /// A view of a part of these bytes; the caller has checked the bounds.
  @inlinable package func part(_ offset: Int, _ length: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[offset..<(offset &+ length)])
  }

  /// Whether all bytes of the range are zero.
  package func isZero(in range: Range<Int>) -> Bool {
    range.allSatisfy { self[$0] == 0 }
  }
}

extension UnsafeMutableRawBufferPointer {
  /// Writes a little-endian integer; the caller has checked the bounds.
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
