/// The position of a checkpoint's root block: bytes 104..<124 of a superblock. FORMAT.md,
/// "Checkpoints".
package struct CheckpointReference: Hashable, Sendable {
  static let length = 20

  /// The number in the index file's name.
  package var indexFile: UInt64
  /// The block's offset in that file, in units of 64 bytes.
  package var rootSlot: UInt32
  /// The length of the block in bytes.
  package var rootLength: UInt32
  /// The checksum of all bytes of the block.
  package var rootChecksum: UInt32

  package init(indexFile: UInt64, rootSlot: UInt32, rootLength: UInt32, rootChecksum: UInt32) {
    self.indexFile = indexFile
    self.rootSlot = rootSlot
    self.rootLength = rootLength
    self.rootChecksum = rootChecksum
  }

  func write(to bytes: UnsafeMutableRawBufferPointer, at offset: Int) {
    bytes.setInteger(indexFile, at: offset)
    bytes.setInteger(rootSlot, at: offset + 8)
    bytes.setInteger(rootLength, at: offset + 12)
    bytes.setInteger(rootChecksum, at: offset + 16)
  }

  /// Returns nil if all bytes are zero, which means that there is no checkpoint.
  init?(reading bytes: UnsafeRawBufferPointer, at offset: Int) throws(FormatError) {
    if bytes.isZero(in: offset..<(offset + Self.length)) { return nil }
    indexFile = bytes.integer(at: offset)
    rootSlot = bytes.integer(at: offset + 8)
    rootLength = bytes.integer(at: offset + 12)
    rootChecksum = bytes.integer(at: offset + 16)
    func wrong(_ place: Int) -> FormatError {
      FormatError(.illegalField, in: "superblock", at: offset + place)
    }
    guard indexFile > 0 else { throw wrong(0) }
    guard rootSlot > 0 else { throw wrong(8) }
    guard rootLength >= UInt32(CheckpointRoot.headLength) else { throw wrong(12) }
  }
}
