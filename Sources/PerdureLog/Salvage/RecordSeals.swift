import PerdureFormat

// Decides which bytes of a damaged segment are a record, by their checksum.
//
// In a segment with bound records, a checksum also covers the address at which the record was first
// written (`RecordCheck`). The segment's header says whether records are bound. The map of a
// rewritten segment has the original offsets of its records. Salvage may lack the header or the
// map. Then it guesses the address, and the checksum confirms the guess:
//
//  RS1  Without a header both kinds of checksum are accepted.
//  RS2  A damaged map is used too: an address from it is accepted if the checksum fits.
//  RS3  If no map has the address, the checksum implies one. It is accepted if a neighbour confirms
//       it: the record before or after must imply an address a short distance before or after. Only
//       the offset in an address word is unknown. So damaged bytes imply an address in one of 128
//       cases, and that address is hardly ever the right one.

/// Distinguishes the records of one segment from other bytes.
struct RecordSeals {
  private enum Kind {
    case unbound, bound, unknown
  }

  private let segment: UInt64
  private let kind: Kind
  /// The map of a rewritten segment, from current offsets to original offsets. It may be damaged.
  /// RS2
  private let map: OffsetMap?
  /// The end of the original segment; nil if the segment was certainly not rewritten. RS3
  private let originalEnd: Int?

  /// The value for segments in which each record's checksum covers only the record.
  static let unbound = RecordSeals(segment: 0, kind: .unbound, map: nil, originalEnd: nil)

  private init(segment: UInt64, kind: Kind, map: OffsetMap?, originalEnd: Int?) {
    self.segment = segment
    self.kind = kind
    self.map = map
    self.originalEnd = originalEnd
  }

  /// - Parameter map: The map of a rewritten segment, damaged or not; nil if there is none.
  init(of segment: SalvageSource.SourceSegment, _ map: OffsetMap?) {
    let kind: Kind = segment.header.map { $0.bindsRecords ? .bound : .unbound } ?? .unknown
    let mayBeRewritten = segment.isRewritten || segment.header == nil
    let end = segment.footer.map { Int($0.originalEnd) } ?? FormatLimits.segmentCapacityMax
    self.init(
      segment: segment.number, kind: kind, map: map, originalEnd: mayBeRewritten ? end : nil)
  }

  /// The original offset of `record`, which is now at `place` in the segment. RS1, RS2
  ///
  /// - Parameter alone: The checksum over the record alone.
  /// - Returns: Nil if the record is damaged, or if its original offset is not known.
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

  /// The original offset that the checksum of `record` implies; nil if it implies none, or if
  /// compaction cannot have moved the record from there. RS3
  func implied(by record: Record, alone: UInt32, at place: Int) -> Int? {
    guard kind != .unbound, let originalEnd, let implied = impliedOffset(of: record, alone: alone),
      implied >= place, implied + record.header.paddedLength <= originalEnd
    else { return nil }
    return implied
  }

  /// Whether a record with the original offset `original` may follow a record whose original end
  /// was `end`. Compaction may have removed a few records between them.
  static func mayFollow(_ original: Int, on end: Int) -> Bool {
    original >= end && original - end <= neighbourDistanceMax
  }

  private static let neighbourDistanceMax = 64 << 10

  /// The lowest original offset of a record in a segment.
  static let firstOriginal = SegmentHeader.length + FrameHeader.length

  /// Checks that a frame has the records for which its header was written.
  ///
  /// - Parameter start: The offset of the payload in the segment.
  /// - Returns: The original end of the last record; nil if a record is damaged, or if the records
  ///   do not match the header.
  func end(of header: FrameHeader, _ payload: UnsafeRawBufferPointer, at start: Int) -> Int? {
    guard FramePayload.hasDigest(of: header, payload) else { return nil }
    // The digest covers all checksums. So the records are undamaged if each checksum implies an
    // address, and the addresses ascend.
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

  /// The offset for which the record's checksum is valid; nil if there is none. RS3
  ///
  /// A CRC can be computed backwards over known bytes. Over four bytes it is a one-to-one function,
  /// so it determines the low half of the address word.
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
