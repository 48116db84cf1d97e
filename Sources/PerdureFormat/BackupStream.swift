/// The first 64 bytes of a backup stream. FORMAT.md, "Backup stream".
package struct BackupStreamHeader: Hashable, Sendable {
  package static let length = 64
  static let magic: [UInt8] = [0x89, 0x50, 0x42, 0x4B, 0x50, 0x0D, 0x0A, 0x1A]

  package var store: StoreID

  package init(store: StoreID) { self.store = store }

  package func write(to bytes: UnsafeMutableRawBufferPointer) {
    precondition(bytes.count >= Self.length, "A stream's header does not fit into the buffer.")
    for i in 0..<Self.length { bytes[i] = 0 }
    bytes.copyBytes(from: Self.magic)
    bytes.setInteger(FormatVersion.major, at: 8)
    bytes.setInteger(FormatVersion.minor, at: 10)
    bytes.setInteger(UInt32(Self.length), at: 12)
    store.write(to: bytes, at: 16)
    bytes.setInteger(Checksum.crc32c(UnsafeRawBufferPointer(bytes).part(0, 60)), at: 60)
  }

  package init(reading bytes: UnsafeRawBufferPointer) throws(FormatError) {
    func wrong(_ reason: FormatError.Reason, _ offset: Int) -> FormatError {
      FormatError(reason, in: "backup stream header", at: offset)
    }
    try bytes.checkSeal(of: "backup stream header", Self.magic, length: Self.length)
    guard bytes.integer(at: 8, as: UInt16.self) == FormatVersion.major else { throw wrong(.unsupported, 8) }
    guard bytes.integer(at: 12, as: UInt32.self) == UInt32(Self.length) else { throw wrong(.unsupported, 12) }
    store = StoreID(reading: bytes, at: 16)
    if let place = bytes.firstNonZero(in: 32..<60) { throw wrong(.unsupported, place) }
  }
}

/// The header of a chunk: the 32 bytes before each piece of a file in a backup stream.
///
/// The checksum also covers the store's id, the chunk's ordinal and the payload. So it detects a
/// missing chunk, a repeated chunk, and a chunk of another store's backup.
package struct BackupChunk: Hashable, Sendable {
  package static let length = 32

  package enum Kind: UInt8, Sendable {
    case superblock = 1
    case segment = 2
    case blob = 3
    /// The end of the stream.
    case end = 4
  }

  package var kind: Kind
  /// Whether this is the last chunk of its file.
  package var isLast: Bool
  package var payloadLength: UInt32
  /// The number in the file's name; 0 for the superblock. In the `end` chunk, the number of files.
  package var number: UInt64
  /// The offset of the payload in the file. In the `end` chunk, the total length of all payloads.
  package var offset: UInt64

  package init(kind: Kind, isLast: Bool, payloadLength: UInt32, number: UInt64, offset: UInt64) {
    self.kind = kind
    self.isLast = isLast
    self.payloadLength = payloadLength
    self.number = number
    self.offset = offset
  }

  /// - Parameter place: The number of chunks before this one.
  package func write(
    to bytes: UnsafeMutableRawBufferPointer, _ payload: UnsafeRawBufferPointer, store: StoreID, place: UInt64
  ) {
    precondition(bytes.count >= Self.length, "A chunk's header does not fit into the buffer.")
    for i in 0..<Self.length { bytes[i] = 0 }
    bytes.setInteger(payloadLength, at: 4)
    bytes[8] = kind.rawValue
    bytes[9] = isLast ? 1 : 0
    bytes.setInteger(number, at: 16)
    bytes.setInteger(offset, at: 24)
    bytes.setInteger(
      Self.checksum(UnsafeRawBufferPointer(bytes), payload, store: store, place: place), at: 0)
  }

  /// The length of the payload after a header. It is read before the checksum can be verified.
  package static func payloadLength(
    in header: UnsafeRawBufferPointer
  ) throws(FormatError) -> Int {
    guard header.count >= length else {
      throw FormatError(.incomplete, in: "backup stream chunk", at: header.count)
    }
    let length: UInt32 = header.integer(at: 4)
    guard length <= UInt32(FormatLimits.backupChunkMax) else {
      throw FormatError(.illegalField, in: "backup stream chunk", at: 4)
    }
    return Int(length)
  }

  package init(
    reading bytes: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer, store: StoreID, place: UInt64
  ) throws(FormatError) {
    func wrong(_ reason: FormatError.Reason, _ offset: Int) -> FormatError {
      FormatError(reason, in: "backup stream chunk", at: offset)
    }
    guard try Self.payloadLength(in: bytes) == payload.count else {
      throw wrong(.incomplete, Self.length + payload.count)
    }
    let expected = Self.checksum(bytes, payload, store: store, place: place)
    guard bytes.integer(at: 0, as: UInt32.self) == expected else { throw wrong(.wrongChecksum, 0) }
    guard let kind = Kind(rawValue: bytes[8]) else { throw wrong(.unsupported, 8) }
    guard bytes[9] <= 1 else { throw wrong(.illegalField, 9) }
    if let place = bytes.firstNonZero(in: 10..<16) { throw wrong(.unsupported, place) }
    self.kind = kind
    isLast = bytes[9] == 1
    payloadLength = UInt32(payload.count)
    number = bytes.integer(at: 16)
    offset = bytes.integer(at: 24)
    guard Self.isLegal(number, kind) else { throw wrong(.illegalField, 16) }
    guard offset <= UInt64(Int64.max) else { throw wrong(.illegalField, 24) }
    guard kind != .end || payload.isEmpty && isLast else { throw wrong(.illegalField, 4) }
  }

  private static func isLegal(_ number: UInt64, _ kind: Kind) -> Bool {
    switch kind {
    case .superblock: number == 0
    case .segment: (1...FormatLimits.segmentNumberMax).contains(number)
    case .blob: (1..<FormatLimits.counterMax).contains(number)
    case .end: true
    }
  }

  private static func checksum(
    _ header: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer, store: StoreID, place: UInt64
  ) -> UInt32 {
    var checksum: UInt32 = 0
    for word in [store.high, store.low, place] {
      withUnsafeBytes(of: word.littleEndian) { checksum = Checksum.crc32c($0, continuing: checksum) }
    }
    checksum = Checksum.crc32c(header.part(4, length - 4), continuing: checksum)
    return Checksum.crc32c(payload, continuing: checksum)
  }
}
