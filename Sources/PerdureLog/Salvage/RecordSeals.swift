import PerdureFormat

// Which checksums make bytes of a damaged segment a record.
//
// The idea: in a segment that binds its records a checksum continues over the address that the
// record was first written at (`RecordCheck`). Salvage may have lost what says so: the segment's
// header says whether records are bound, and the map of a rewritten segment says where they were
// first written. What is left is a guess that the checksum itself confirms:
//
//  B1  Without a header both kinds of checksum are accepted.
//  B2  A map that is damaged is asked all the same: an address that it gives is accepted if the checksum fits.
//  B3  Where no map gives the address, the one that the checksum implies is accepted if a neighbour confirms it:
//      the record before or behind must imply an address a short way before or behind. All but the
//      offset of a word is known, so damaged bytes imply some address in one case of 128, and the
//      right one hardly ever.

/// How the records of one segment are told from other bytes.
struct RecordSeals {
  private enum Kind {
    case unbound, bound, unknown
  }

  private let segment: UInt64
  private let kind: Kind
  /// Of a rewritten segment: what leads back to the first offsets. It may be damaged. B2
  private let map: OffsetMap?
  /// Where records may have been first written, of a segment that may have been rewritten. B3
  private let originalEnd: Int?

  /// Records whose checksums cover nothing but themselves.
  static let unbound = RecordSeals(segment: 0, kind: .unbound, map: nil, originalEnd: nil)

  private init(segment: UInt64, kind: Kind, map: OffsetMap?, originalEnd: Int?) {
    self.segment = segment
    self.kind = kind
    self.map = map
    self.originalEnd = originalEnd
  }

  /// - Parameter map: That of a rewritten segment, if there is something of it.
  init(of segment: SalvageSource.SourceSegment, _ map: OffsetMap?) {
    let kind: Kind = segment.header.map { $0.bindsRecords ? .bound : .unbound } ?? .unknown
    let mayBeRewritten = segment.isRewritten || segment.header == nil
    let end = segment.footer.map { Int($0.originalEnd) } ?? FormatLimits.segmentCapacityMax
    self.init(
      segment: segment.number, kind: kind, map: map, originalEnd: mayBeRewritten ? end : nil)
  }

  /// Whether `record`, at `place` in the segment, is as it was written, by what is
  /// known of it. B1, B2
  ///
  /// - Parameter alone: The checksum over the record alone.
  /// - Returns: Where it was first written; nil: it is not, or that is not known.
  func original(of record: Record, alone: UInt32, at place: Int) -> Int? {
    if kind != .bound, alone == record.checksum { return place }
    if kind == .unbound { return nil }
    for offset in [map?.originalOffset(of: place), place] {
      guard let offset else { continue }
      if Checksum.crc32c(word64: word(of: record, at: offset), continuing: alone) == record.checksum {
        return offset
      }
    }
    return nil
  }

  /// Where `record` would have been first written, if compaction can have moved it from there. B3
  func implied(by record: Record, alone: UInt32, at place: Int) -> Int? {
    guard kind != .unbound, let originalEnd, let implied = impliedOffset(of: record, alone: alone),
      implied >= place, implied + record.header.paddedLength <= originalEnd
    else { return nil }
    return implied
  }

  /// Whether one record may follow on another: between them compaction has removed little.
  static func mayFollow(_ original: Int, on end: Int) -> Bool {
    original >= end && original - end <= neighbourDistanceMax
  }

  private static let neighbourDistanceMax = 64 << 10

  /// Where the first record of a segment may have been first written.
  static let firstOriginal = SegmentHeader.length + FrameHeader.length

  /// Whether the frame's records are the ones that its header was written for.
  ///
  /// - Parameter start: Where its payload begins in the segment.
  /// - Returns: Where the last of them ended when it was first written; nil if they are not.
  func end(of header: FrameHeader, _ payload: UnsafeRawBufferPointer, at start: Int) -> Int? {
    guard FramePayload.hasDigest(of: header, payload) else { return nil }
    // The digest vouches for all checksums: where each implies an address in the right order,
    // nothing is damaged.
    var end = 0
    var records = SealedRecords(in: payload)
    while let next = try? records.next() {
      let alone = Checksum.crc32c(payload.part(next.offset + 4, next.record.header.unpaddedLength - 4))
      let place = start + next.offset
      guard
        let original = original(of: next.record, alone: alone, at: place)
          ?? implied(by: next.record, alone: alone, at: place), original >= end
      else { return nil }
      end = original + next.length
    }
    return end
  }

  private func word(of record: Record, at offset: Int) -> UInt64 {
    RecordAddress(
      segment: segment, offset: offset, recordLength: record.header.paddedLength,
      isBlob: record.header.kind == .blob
    ).rawValue
  }

  /// The offset at which the record would have its checksum, if there is one. B3
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
