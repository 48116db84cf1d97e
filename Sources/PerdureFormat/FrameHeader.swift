/// The 64 bytes before a frame's records. FORMAT.md, "Frame".
///
/// A commit is a chain of frames. Only its last frame (`commitEnd`) completes it. The header's
/// checksum also covers the store, the segment and the offset, so a stale, misdirected or copied
/// frame is invalid. Readers verify the checksum before they use the length.
@usableFromInline package struct FrameHeader: Hashable, Sendable {
  @inlinable package static var length: Int { 64 }
  @inlinable static var magic: UInt32 { 0x314D_5246 }  // "FRM1"

  package enum Kind: UInt8, Sendable {
    /// A part of a commit that continues in the next frame.
    case commitPart = 1
    /// The last (or only) part of a commit.
    case commitEnd = 2
    /// A frame without records, between commits. It only carries `syncedOffset`.
    case mark = 3
  }

  package var kind: Kind
  /// The ordinal of this frame in its commit, from 0.
  package var part: UInt32
  /// The commit's number: one more than the number of the previous commit. In a mark, the number of
  /// the last commit, or 0 before the first commit.
  package var sequence: UInt64
  /// The length of the payload after the header in bytes, a multiple of 8.
  package var payloadLength: UInt32
  package var recordCount: UInt32
  /// The CRC32C of the records' checksums, in order.
  package var recordDigest: UInt32
  /// The CRC32C of the record digests of all parts of the commit, from the first part to this one.
  package var chainDigest: UInt32
  /// All bytes of this segment before this offset were synced when the frame was written. The range
  /// includes at least the segment's header.
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

  /// Reads the header at `position`. `bytes` starts there.
  package init(
    reading bytes: UnsafeRawBufferPointer, store: StoreID, position: LogPosition
  ) throws(FormatError) {
    try Self.checkMagic(bytes)
    guard bytes.integer(at: 4, as: UInt32.self) == Self.checksum(bytes, store, position) else {
      throw Self.wrong(.wrongChecksum, 4)
    }
    try self.init(fields: bytes, at: position)
  }

  /// Reads bytes that look like a header, without verifying the checksum. Salvage uses it if the
  /// store or the position, which the checksum covers, is unknown. The caller must verify the
  /// fields in another way.
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
  /// The length of the payload of a frame that was verified, or was written by this process.
  package static func payloadLength(of bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
    Int(bytes.integer(at: offset + 24, as: UInt32.self))
  }

  /// Whether a frame's magic is at `offset`: a cheap check before `init(reading:)`.
  @inlinable package static func mayStart(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Bool {
    bytes.integer(at: offset, as: UInt32.self) == magic
  }
}

extension FrameHeader {
  /// Returns a store id with which the checksum of the header at the start of `bytes` is correct at
  /// `position`. The fields are not checked.
  ///
  /// A header's checksum depends on 32 bits of information about the store, so these bits can be
  /// computed from the checksum. All valid headers of one store give the same result. Headers of
  /// other stores, and headers at wrong positions, almost always give other results. Salvage uses
  /// the result in place of the store's id. The result is valid only for frames and footers.
  package static func storeImplied(by bytes: UnsafeRawBufferPointer, at position: LogPosition) -> StoreID {
    var checksum = Checksum.rewound(bytes.integer(at: 4), over: bytes.part(8, length - 8))
    withUnsafeBytes(of: (position.segment.littleEndian, position.offset.littleEndian)) {
      checksum = Checksum.rewound(checksum, over: $0)
    }
    // The id consists of twelve zero bytes and four computed bytes. With these four bytes, the
    // checksum after the id has the required value.
    let zeros = [UInt8](repeating: 0, count: 12)
    return zeros.withUnsafeBytes { zeros in
      let word = Checksum.crc32c(zeros) ^ Checksum.rewound(checksum, over: zeros.part(0, 4))
      return StoreID(high: 0, low: UInt64(word) << 32)
    }
  }

  /// Returns a 32-bit value from which the position of the header at the start of `bytes` can be
  /// computed. The fields are not checked.
  ///
  /// If the header belongs to a given segment of a given store, its offset is the result xor the
  /// `placeSeed` of that segment. An offset outside the segment shows that the header does not
  /// belong to it. Salvage uses the value.
  ///
  /// The checksum covers the store, the segment and the offset before the other fields. So its
  /// intermediate value after the offset can be computed backward from the other fields. The upper
  /// four bytes of an offset are zero. Different values of the lower four bytes give different
  /// checksums.
  package static func placeImplied(by bytes: UnsafeRawBufferPointer) -> UInt32 {
    let checksum = Checksum.rewound(bytes.integer(at: 4), over: bytes.part(8, length - 8))
    return withUnsafeBytes(of: 0 as UInt64) { Checksum.rewound(checksum, over: $0) }
  }

  /// The result of `placeImplied(by:)` for a header at offset 0 of a segment.
  package static func placeSeed(_ store: StoreID, segment: UInt64) -> UInt32 {
    withUnsafeBytes(of: (store.high.littleEndian, store.low.littleEndian, segment.littleEndian)) {
      Checksum.crc32c($0)
    }
  }
}
