import PerdureFormat

// Which checksums make bytes of a damaged segment a record.
//
// The idea: in a segment that binds its records a checksum continues over the address that the record was first
// written at (`RecordCheck`). Salvage may have lost what says so: the segment's header says whether records are
// bound, and the map of a rewritten segment says where they were first written. Where one is lost:
//
//  B1  Without a header both kinds of checksum are accepted.
//  B2  Without a map the address that a checksum implies is accepted, within a frame whose header is right and if
//      compaction can have moved the record from there. Of the word's 58 bits all but the offset are known, so one
//      damaged record in 128 or fewer passes; the digest of a whole frame vouches for its checksums as well.

/// How the records of one segment are told from other bytes.
struct RecordSeals {
  private enum Kind {
    case unbound, bound, unknown
  }

  private let segment: UInt64
  private let kind: Kind
  /// Of a rewritten segment: what leads back to the first offsets.
  private let map: OffsetMap?
  /// Up to where a record may have been first written; nil: where it stands, or where the map says.
  private let originalEnd: Int?

  /// Records whose checksums cover nothing but themselves.
  static let unbound = RecordSeals(segment: 0, kind: .unbound, map: nil, originalEnd: nil)

  private init(segment: UInt64, kind: Kind, map: OffsetMap?, originalEnd: Int?) {
    self.segment = segment
    self.kind = kind
    self.map = map
    self.originalEnd = originalEnd
  }

  /// - Parameter map: That of a rewritten segment, if it is whole.
  init(of segment: SalvageSource.SourceSegment, _ map: OffsetMap?) {
    let kind: Kind = segment.header.map { $0.bindsRecords ? .bound : .unbound } ?? .unknown
    let mayBeRewritten = segment.isRewritten || segment.header == nil
    let end = segment.footer.map { Int($0.originalEnd) } ?? FormatLimits.segmentCapacityMax
    self.init(
      segment: segment.number, kind: kind, map: map,
      originalEnd: mayBeRewritten && map == nil ? end : nil)
  }

  /// Whether `record`, which stands at `place` in the segment, is as it was written.
  ///
  /// - Parameters:
  ///   - alone: The checksum over the record alone.
  ///   - isInFrame: Whether the header of its frame is right.
  func accept(_ record: Record, alone: UInt32, at place: Int, isInFrame: Bool) -> Bool {
    if kind != .bound, alone == record.checksum { return true }
    if kind == .unbound { return false }
    let known = map == nil ? place : map?.originalOffset(of: place)
    if let known, Checksum.crc32c(word64: word(of: record, at: known), continuing: alone) == record.checksum {
      return true
    }
    guard isInFrame, let originalEnd else { return false }
    guard let implied = impliedOffset(of: record, alone: alone) else { return false }
    return implied >= place && implied + record.header.paddedLength <= originalEnd
  }

  /// Whether the frame's records are the ones that its header was written for.
  ///
  /// - Parameter start: Where its payload begins in the segment.
  func accept(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer, at start: Int) -> Bool {
    guard FramePayload.hasDigest(of: header, payload) else { return false }
    var records = SealedRecords(in: payload)
    while let next = try? records.next() {
      let covered = payload.part(next.offset + 4, next.record.header.unpaddedLength - 4)
      let alone = Checksum.crc32c(covered)
      guard accept(next.record, alone: alone, at: start + next.offset, isInFrame: true) else { return false }
    }
    return true
  }

  private func word(of record: Record, at offset: Int) -> UInt64 {
    RecordAddress(
      segment: segment, offset: offset, recordLength: record.header.paddedLength,
      isBlob: record.header.kind == .blob
    ).rawValue
  }

  /// The offset at which the record would have its checksum, if there is one. B2
  ///
  /// A checksum can be rewound over bytes that are known, and over four bytes it is one to one.
  private func impliedOffset(of record: Record, alone: UInt32) -> Int? {
    let word = word(of: record, at: 0)
    let behindLow = withUnsafeBytes(of: UInt32(word >> 32).littleEndian) {
      Checksum.rewound(record.checksum, over: $0)
    }
    let low = withUnsafeBytes(of: 0 as UInt32) { alone ^ Checksum.rewound(behindLow, over: $0) }
    let address = RecordAddress(rawValue: word & ~0xFFFF_FFFF | UInt64(low))
    return address.segment == segment ? address.offset : nil
  }
}
