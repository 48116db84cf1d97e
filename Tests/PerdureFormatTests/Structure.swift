import PerdureFormat
import Testing

/// A structure of the format, for tests. It has an encoded sample, a decoder, and a function that
/// corrects the checksum after a change.
struct Structure: Sendable, CustomTestStringConvertible {
  var name: String
  var sample: [UInt8]
  /// Decodes the bytes and encodes the result.
  var roundTrip: @Sendable (UnsafeRawBufferPointer) throws(FormatError) -> [UInt8]
  var repair: @Sendable (inout [UInt8]) -> Void
  /// The offset that errors report for the first byte.
  var firstPlace = 0

  var testDescription: String { name }

  func decode(_ bytes: [UInt8]) throws(FormatError) -> [UInt8] {
    try withBytes(bytes, roundTrip)
  }

  /// The error of decoding the changed sample with a corrected checksum; nil if decoding succeeds.
  func error(after change: (inout [UInt8]) -> Void) -> FormatError? {
    var bytes = sample
    change(&bytes)
    repair(&bytes)
    return errorOfDecoding(bytes)
  }

  /// The error of decoding; nil if decoding succeeds.
  func errorOfDecoding(_ bytes: [UInt8]) -> FormatError? {
    do {
      _ = try decode(bytes)
      return nil
    } catch {
      return error
    }
  }
}

/// Calls `body` with an aligned copy of the bytes. Unlike `withUnsafeBytes`, it keeps the type of
/// the error.
func withBytes<R>(
  _ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(FormatError) -> R
) throws(FormatError) -> R {
  let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
  defer { copy.deallocate() }
  copy.copyBytes(from: bytes)
  return try body(UnsafeRawBufferPointer(copy))
}

/// The `length` bytes that `write` has written. All bytes are 0xAA before the call. Bytes that
/// `write` omits are therefore visible in the result.
func encoded(_ length: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) -> [UInt8] {
  var bytes = [UInt8](repeating: 0xAA, count: length)
  bytes.withUnsafeMutableBytes { write($0) }
  return bytes
}

/// CRC32C of a part of `bytes`.
func checksum(_ bytes: [UInt8], _ range: Range<Int>) -> UInt32 {
  bytes.withUnsafeBytes { Checksum.crc32c(UnsafeRawBufferPointer(rebasing: $0[range])) }
}

extension [UInt8] {
  mutating func set<T: FixedWidthInteger>(_ value: T, at offset: Int) {
    withUnsafeMutableBytes { $0.setInteger(value, at: offset) }
  }

  func integer<T: FixedWidthInteger>(at offset: Int, as type: T.Type = T.self) -> T {
    withUnsafeBytes { $0.integer(at: offset, as: T.self) }
  }

  /// The little-endian integer in the range.
  func integer(in range: Range<Int>) -> UInt64 {
    self[range].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  mutating func setInteger(_ value: UInt64, in range: Range<Int>) {
    for (index, offset) in range.enumerated() {
      self[offset] = UInt8(truncatingIfNeeded: value >> (8 * UInt64(index)))
    }
  }
}
