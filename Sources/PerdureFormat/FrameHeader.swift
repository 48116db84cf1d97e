/// The 64 bytes before a frame's records. FORMAT.md, "Frame".
///
/// A commit is a chain of frames; only the last one (`commitEnd`) completes it. The header's
/// checksum covers the store, the segment and the offset as well, so that a stale, misdirected or
/// copied frame is invalid. It is checked before the length is used.
@usableFromInline package struct FrameHeader: Hashable, Sendable {
  @inlinable package static var length: Int { 64 }
  @inlinable static var magic: UInt32 { 0x314D_5246 }  // "FRM1"

  package enum Kind: UInt8, Sendable {
    /// A part of a commit that continues in the next frame.
    case commitPart = 1
    /// The last (or only) part of a commit.
    case commitEnd = 2
    /// No records, between commits: only the promise in `syncedOffset`.
    case mark = 3
  }

  package var kind: Kind
  /// The place of this frame in its commit, from 0.
  package var part: UInt32
  /// The commit's number: one more than that of the commit before. In a mark: the number of
  /// the last commit, 0 before the first.
  package var sequence: UInt64
  /// The bytes after the header that belong to the frame, a multiple of 8.
  package var payloadLength: UInt32
  package var recordCount: UInt32
  /// CRC32C over the checksums of the records, in order.
  package var recordDigest: UInt32
  /// CRC32C over the record digests of the commit's parts up to and including this one.
  package var chainDigest: UInt32
  /// All of this segment before this offset was synced when the frame was written. At least the
  /// segment's header was.
  package var syncedOffset: UInt64

  package init(
    kind: Kind, part: UInt32, sequence: UInt64, payloadLength: UInt32, recordCount: UInt32,
    recordDigest: UInt32, chainDigest: UInt32, syncedOffset: UInt64
  ) {
    self.kind = kind
    self.part = part
    self.sequence = sequence
    self.payloadLength = payloadLength
    self.recordCount = recordCount
    self.recordDigest = recordDigest
    self.chainDigest = chainDigest
    self.syncedOffset = syncedOffset
  }

  package func write(
    to bytes: UnsafeMutableRawBufferPointer, store: StoreID, position: LogPosition
  ) {
    precondition(bytes.count >= Self.length, "A frame header does not fit into the buffer.")
    bytes.setInteger(Self.magic, at: 0)
    bytes.setInteger(kind.rawValue, at: 8)
    bytes.setInteger(UInt8(0), at: 9)
    bytes.setInteger(UInt16(0), at: 10)
    bytes.setInteger(part, at: 12)
    bytes.setInteger(sequence, at: 16)
    bytes.setInteger(payloadLength, at: 24)
    bytes.setInteger(recordCount, at: 28)
    bytes.setInteger(recordDigest, at: 32)
    bytes.setInteger(chainDigest, at: 36)
    bytes.setInteger(syncedOffset, at: 40)
    bytes.setInteger(UInt64(0), at: 48)
    bytes.setInteger(UInt64(0), at: 56)
    bytes.setInteger(Self.checksum(UnsafeRawBufferPointer(bytes), store, position), at: 4)
  }

  private static func checksum(
    _ bytes: UnsafeRawBufferPointer, _ store: StoreID, _ position: LogPosition
  ) -> UInt32 {
    let words = (
      store.high.littleEndian, store.low.littleEndian, position.segment.littleEndian,
      position.offset.littleEndian
    )
    let place = withUnsafeBytes(of: words) { Checksum.crc32c($0) }
    return Checksum.crc32c(bytes.part(8, length - 8), continuing: place)
  }

  /// Reads the header that must be at `position`; `bytes` starts there.
  package init(
    reading bytes: UnsafeRawBufferPointer, store: StoreID, position: LogPosition
  ) throws(FormatError) {
    try Self.checkMagic(bytes)
    guard bytes.integer(at: 4, as: UInt32.self) == Self.checksum(bytes, store, position) else {
      throw Self.wrong(.wrongChecksum, 4)
    }
    try self.init(fields: bytes, at: position)
  }

  /// Reads bytes that look like a header, without its checksum, which binds it to a store and a
  /// position that are unknown or wrong. For salvage: the fields need other proof.
  package init(
    readingUnproven bytes: UnsafeRawBufferPointer, position: LogPosition
  ) throws(FormatError) {
    try Self.checkMagic(bytes)
    try self.init(fields: bytes, at: position)
  }

  private static func wrong(_ reason: FormatError.Reason, _ offset: Int) -> FormatError {
    FormatError(reason, in: "frame header", at: offset)
  }

  private static func checkMagic(_ bytes: UnsafeRawBufferPointer) throws(FormatError) {
    guard bytes.count >= Self.length else { throw wrong(.incomplete, bytes.count) }
    guard bytes.integer(at: 0, as: UInt32.self) == Self.magic else { throw wrong(.wrongMagic, 0) }
  }

  private init(fields bytes: UnsafeRawBufferPointer, at position: LogPosition) throws(FormatError) {
    func wrong(_ reason: FormatError.Reason, _ offset: Int) -> FormatError { Self.wrong(reason, offset) }
    guard let kind = Kind(rawValue: bytes[8]) else { throw wrong(.unsupported, 8) }
    if let place = bytes.firstNonZero(in: 9..<12) { throw wrong(.unsupported, place) }
    self.kind = kind
    part = bytes.integer(at: 12)
    sequence = bytes.integer(at: 16)
    payloadLength = bytes.integer(at: 24)
    recordCount = bytes.integer(at: 28)
    recordDigest = bytes.integer(at: 32)
    chainDigest = bytes.integer(at: 36)
    syncedOffset = bytes.integer(at: 40)
    guard part < UInt32(FormatLimits.commitPartsMax) else { throw wrong(.illegalField, 12) }
    guard sequence <= FormatLimits.counterMax else { throw wrong(.illegalField, 16) }
    guard payloadLength <= UInt32(FormatLimits.framePayloadMax), payloadLength % 8 == 0 else {
      throw wrong(.illegalField, 24)
    }
    if kind == .mark {
      guard part == 0 else { throw wrong(.illegalField, 12) }
      if let place = bytes.firstNonZero(in: 24..<40) { throw wrong(.illegalField, place) }
    } else {
      guard sequence > 0 else { throw wrong(.illegalField, 16) }
    }
    guard (UInt64(SegmentHeader.length)...max(position.offset, 128)).contains(syncedOffset) else {
      throw wrong(.illegalField, 40)
    }
    if let place = bytes.firstNonZero(in: 48..<64) { throw wrong(.unsupported, place) }
  }
}

extension FrameHeader {
  /// The length of the payload of a frame that was checked, or written just now.
  package static func payloadLength(of bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
    Int(bytes.integer(at: offset + 24, as: UInt32.self))
  }

  /// Whether a frame's mark is at `offset`: a cheap check before `init(reading:)`.
  @inlinable package static func mayStart(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Bool {
    bytes.integer(at: offset, as: UInt32.self) == magic
  }
}

extension FrameHeader {
  /// A store for which the header at the start of `bytes` would be valid at `position`, whatever
  /// its fields contain.
  ///
  /// A header's checksum contains 32 bits of a store's identity, which can be computed from it.
  /// Headers that are valid for the same store at their positions give the same result, and others
  /// do not. The result replaces the store's identity for frames and footers only. For salvage.
  package static func storeImplied(by bytes: UnsafeRawBufferPointer, at position: LogPosition) -> StoreID {
    var checksum = Checksum.rewound(bytes.integer(at: 4), over: bytes.part(8, length - 8))
    withUnsafeBytes(of: (position.segment.littleEndian, position.offset.littleEndian)) {
      checksum = Checksum.rewound(checksum, over: $0)
    }
    // Twelve zero bytes, and the four that lead from there to the checksum's value after the
    // identity.
    let zeros = [UInt8](repeating: 0, count: 12)
    return zeros.withUnsafeBytes { zeros in
      let word = Checksum.crc32c(zeros) ^ Checksum.rewound(checksum, over: zeros.part(0, 4))
      return StoreID(high: 0, low: UInt64(word) << 32)
    }
  }

  /// The position at which the header at the start of `bytes` would be valid, whatever its fields
  /// contain. It is in a store's segment, at the offset that is this number xor `placeSeed`, if the
  /// segment is long enough. For salvage.
  ///
  /// A checksum covers store, segment and offset first. Its value after the offset can be computed;
  /// and over four bytes (the upper four of an offset are zeros) it is one to one.
  package static func placeImplied(by bytes: UnsafeRawBufferPointer) -> UInt32 {
    let checksum = Checksum.rewound(bytes.integer(at: 4), over: bytes.part(8, length - 8))
    return withUnsafeBytes(of: 0 as UInt64) { Checksum.rewound(checksum, over: $0) }
  }

  /// The result of `placeImplied(by:)` for headers at the beginning of a segment.
  package static func placeSeed(_ store: StoreID, segment: UInt64) -> UInt32 {
    withUnsafeBytes(of: (store.high.littleEndian, store.low.littleEndian, segment.littleEndian)) {
      Checksum.crc32c($0)
    }
  }
}
