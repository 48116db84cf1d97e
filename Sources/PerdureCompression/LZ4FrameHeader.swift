// The header of an LZ4 frame (LZ4 Frame Format 1.6.x):
//
//   offset  size  name
//   0       4     magic 0x184D2204, little-endian (read before this)
//   4       1     FLG: version (bits 7-6, 01) | independent blocks | block checksums | content size |
//                 content checksum | reserved 0 | dictionary id
//   5       1     BD: reserved 0 | block size class (bits 6-4: 4 = 64 KiB ... 7 = 4 MiB) | reserved 0 (4 bits)
//   6       8     content size, if FLG says so
//   .       4     dictionary id, if FLG says so
//   .       1     HC: second byte of xxHash32 over FLG up to here

/// What an LZ4 frame says about itself.
struct LZ4FrameHeader: Equatable {
  static let magic: UInt32 = 0x184D_2204
  /// Sixteen magic numbers start frames that a reader passes over.
  static let skippableMagics: ClosedRange<UInt32> = 0x184D_2A50...0x184D_2A5F
  /// The longest descriptor: FLG, BD, content size, dictionary id, HC.
  static let descriptorSizeLimit = 15

  var hasIndependentBlocks: Bool
  var hasBlockChecksums: Bool
  var hasContentChecksum: Bool
  /// No block holds more bytes, compressed or not.
  var blockSizeLimit: Int
  /// How many bytes the frame's blocks hold together, if it was known to the writer.
  var contentSize: UInt64?

  /// The size of the descriptor (FLG to HC) that starts with `flags`.
  static func descriptorSize(flags: UInt8) -> Int {
    3 + (flags & 0b1000 != 0 ? 8 : 0) + (flags & 0b1 != 0 ? 4 : 0)
  }

  /// Reads a whole descriptor that starts at byte `offset` of the stream.
  init(descriptor bytes: UnsafeRawBufferPointer, at offset: Int) throws(CompressionError) {
    precondition(
      bytes.count >= 3 && bytes.count == Self.descriptorSize(flags: bytes[0]),
      "A descriptor is read whole, in the length that its flags give.")
    let flags = bytes[0]
    let blockDescriptor = bytes[1]
    let covered = UnsafeRawBufferPointer(rebasing: bytes.dropLast())
    guard flags >> 6 == 0b01 else {
      throw CompressionError(.unsupported, at: offset, "The LZ4 frame has version \(flags >> 6), not 1")
    }
    guard bytes[bytes.count - 1] == UInt8(truncatingIfNeeded: XXHash32.hash(covered) >> 8) else {
      throw CompressionError(
        .damaged, at: offset + bytes.count - 1, "The checksum of the LZ4 frame header does not match")
    }
    guard flags & 0b10 == 0, blockDescriptor & 0b1000_1111 == 0 else {
      throw CompressionError(.unsupported, at: offset, "The LZ4 frame header uses reserved bits")
    }
    guard flags & 0b1 == 0 else {
      throw CompressionError(.unsupported, at: offset, "The LZ4 frame needs a dictionary")
    }
    let sizeClass = Int(blockDescriptor >> 4)
    guard sizeClass >= 4 else {
      throw CompressionError(.damaged, at: offset + 1, "The LZ4 frame has block size class \(sizeClass)")
    }
    hasIndependentBlocks = flags & 0b10_0000 != 0
    hasBlockChecksums = flags & 0b1_0000 != 0
    hasContentChecksum = flags & 0b100 != 0
    blockSizeLimit = 1 << (8 + 2 * sizeClass)
    contentSize =
      flags & 0b1000 != 0
      ? UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self)) : nil
  }
}
