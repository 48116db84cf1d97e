/// A value that is too long for the log, in a separate file. FORMAT.md, "Blob file".
///
///     header (64 bytes) | value | zero padding to 8 | one CRC32C for each 64 KiB of the value
///
/// The file and its directory entry are synced before the frame that references it is written.
package struct BlobHeader: Hashable, Sendable {
  package static let length = 64
  package static let chunkLength = 64 << 10
  static let magic: [UInt8] = [0x89, 0x50, 0x42, 0x4C, 0x42, 0x0D, 0x0A, 0x1A]

  package var store: StoreID
  package var number: UInt64
  package var valueLength: UInt64

  package init(store: StoreID, number: UInt64, valueLength: UInt64) {
    self.store = store
    self.number = number
    self.valueLength = valueLength
  }

  package var chunkCount: Int { Int((valueLength + UInt64(Self.chunkLength) - 1) / UInt64(Self.chunkLength)) }
  /// The offset of the table of checksums in the file.
  package var checksumsOffset: UInt64 { UInt64(Self.length) + (valueLength + 7) & ~7 }
  package var fileLength: UInt64 { checksumsOffset + 4 * UInt64(chunkCount) }

  package func write(to bytes: UnsafeMutableRawBufferPointer) {
    precondition(bytes.count >= Self.length, "A blob header does not fit into the buffer.")
    for i in 0..<Self.length { bytes[i] = 0 }
    bytes.copyBytes(from: Self.magic)
    bytes.setInteger(FormatVersion.major, at: 8)
    bytes.setInteger(FormatVersion.minor, at: 10)
    bytes.setInteger(UInt32(Self.chunkLength), at: 12)
    store.write(to: bytes, at: 16)
    bytes.setInteger(number, at: 32)
    bytes.setInteger(valueLength, at: 40)
    bytes.setInteger(Checksum.crc32c(UnsafeRawBufferPointer(bytes).part(0, 60)), at: 60)
  }

  package init(reading bytes: UnsafeRawBufferPointer) throws(FormatError) {
    func wrong(_ reason: FormatError.Reason, _ offset: Int) -> FormatError {
      FormatError(reason, in: "blob header", at: offset)
    }
    try bytes.checkSeal(of: "blob header", Self.magic, length: Self.length)
    guard bytes.integer(at: 8, as: UInt16.self) == FormatVersion.major else { throw wrong(.unsupported, 8) }
    guard bytes.integer(at: 12, as: UInt32.self) == UInt32(Self.chunkLength) else {
      throw wrong(.unsupported, 12)
    }
    store = StoreID(reading: bytes, at: 16)
    number = bytes.integer(at: 32)
    valueLength = bytes.integer(at: 40)
    guard number > 0 else { throw wrong(.illegalField, 32) }
    guard valueLength <= FormatLimits.blobLengthMax else { throw wrong(.illegalField, 40) }
    if let place = bytes.firstNonZero(in: 48..<60) { throw wrong(.unsupported, place) }
  }

  /// Throws unless the header contains the id of this store and the number in the file's name.
  package func check(store: StoreID, number: UInt64) throws(FormatError) {
    guard self.store == store else { throw FormatError(.misplaced, in: "blob header", at: 16) }
    guard self.number == number else { throw FormatError(.misplaced, in: "blob header", at: 32) }
  }
}

/// A reference to a blob file in the log: the value of a `blob` record.
@usableFromInline package struct BlobReference: Hashable, Sendable {
  @inlinable package static var length: Int { 24 }

  package var number: UInt64
  package var valueLength: UInt64
  /// The CRC32C of the file's table of checksums.
  package var digest: UInt32

  package init(number: UInt64, valueLength: UInt64, digest: UInt32) {
    self.number = number
    self.valueLength = valueLength
    self.digest = digest
  }

  package func write(to bytes: UnsafeMutableRawBufferPointer) {
    precondition(bytes.count >= Self.length, "A blob reference does not fit into the buffer.")
    bytes.setInteger(number, at: 0)
    bytes.setInteger(valueLength, at: 8)
    bytes.setInteger(digest, at: 16)
    bytes.setInteger(UInt32(0), at: 20)
  }

  package init(reading bytes: UnsafeRawBufferPointer) throws(FormatError) {
    guard bytes.count == Self.length else {
      throw FormatError(.incomplete, in: "blob reference", at: bytes.count)
    }
    number = bytes.integer(at: 0)
    valueLength = bytes.integer(at: 8)
    digest = bytes.integer(at: 16)
    if let place = bytes.firstNonZero(in: 20..<24) {
      throw FormatError(.unsupported, in: "blob reference", at: place)
    }
    guard (1..<FormatLimits.counterMax).contains(number) else {
      throw FormatError(.illegalField, in: "blob reference", at: 0)
    }
    guard valueLength <= FormatLimits.blobLengthMax else {
      throw FormatError(.illegalField, in: "blob reference", at: 8)
    }
  }
}
