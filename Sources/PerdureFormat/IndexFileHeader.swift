/// The first 64 bytes of an index file. FORMAT.md, "Checkpoints".
///
/// The file has its own version. Its content can be derived from the log, so a reader that does not
/// support the version rebuilds the index.
package struct IndexFileHeader: Hashable, Sendable {
  package static let length = 64
  /// The unit of lengths and offsets in the file, in bytes.
  package static let unitLength = 64
  static let magic: [UInt8] = [0x89, 0x50, 0x49, 0x44, 0x58, 0x0D, 0x0A, 0x1A]
  static let version: UInt32 = 3

  package var store: StoreID
  package var number: UInt64

  package init(store: StoreID, number: UInt64) {
    self.store = store
    self.number = number
  }

  package func write(to bytes: UnsafeMutableRawBufferPointer) {
    precondition(bytes.count >= Self.length, "An index file header does not fit into the buffer.")
    for i in 0..<Self.length { bytes[i] = 0 }
    bytes.copyBytes(from: Self.magic)
    bytes.setInteger(Self.version, at: 8)
    bytes.setInteger(UInt32(Self.unitLength), at: 12)
    store.write(to: bytes, at: 16)
    bytes.setInteger(number, at: 32)
    bytes.setInteger(Checksum.crc32c(UnsafeRawBufferPointer(bytes).part(0, 60)), at: 60)
  }

  package init(reading bytes: UnsafeRawBufferPointer) throws(FormatError) {
    func wrong(_ reason: FormatError.Reason, _ offset: Int) -> FormatError {
      FormatError(reason, in: "index file header", at: offset)
    }
    try bytes.checkSeal(of: "index file header", Self.magic, length: Self.length)
    guard bytes.integer(at: 8, as: UInt32.self) == Self.version else { throw wrong(.unsupported, 8) }
    guard bytes.integer(at: 12, as: UInt32.self) == UInt32(Self.unitLength) else {
      throw wrong(.unsupported, 12)
    }
    store = StoreID(reading: bytes, at: 16)
    number = bytes.integer(at: 32)
    guard number > 0 else { throw wrong(.illegalField, 32) }
    if let place = bytes.firstNonZero(in: 40..<60) { throw wrong(.unsupported, place) }
  }

  /// Throws unless the header contains the id of this store and the number in the file's name.
  package func check(store: StoreID, number: UInt64) throws(FormatError) {
    guard self.store == store else { throw FormatError(.misplaced, in: "index file header", at: 16) }
    guard self.number == number else { throw FormatError(.misplaced, in: "index file header", at: 32) }
  }
}
