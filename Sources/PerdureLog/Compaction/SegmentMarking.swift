import PerdureFormat

/// The first of two walks over a segment that is compacted: what of it stays.
struct SegmentMarking {
  /// Bytes of the records that stay, by their size classes, as `SegmentUsage` counts them.
  private(set) var recordBytes: UInt64 = 0
  private(set) var tombstoneBytes: UInt64 = 0
  private(set) var recordsDropped = 0
  private(set) var tombstonesDropped = 0
  /// Bytes that the frames take when they are rewritten.
  private(set) var dataBytes = 0
  private(set) var map: OffsetMapBuilder
  /// Dead records that stay, by the oldest version that holds them, and tombstones that stay for the oldest of all.
  private var heldRecords: [HeldGarbage.Share] = []
  private var heldTombstoneBytes: UInt64 = 0

  private let keepers: Keepers
  private let cleaned: CleanedSegments
  private let segment: UInt64

  /// - Parameter cleaned: With the segment itself as it will be when it has been rewritten.
  init(_ segment: UInt64, originalEnd: Int, _ keepers: Keepers, _ cleaned: CleanedSegments) {
    self.segment = segment
    self.keepers = keepers
    self.cleaned = cleaned
    map = OffsetMapBuilder(originalEnd: originalEnd)
  }

  /// Whether anything goes.
  var dropsAnything: Bool { recordsDropped > 0 || tombstonesDropped > 0 }

  mutating func visit(_ part: LogScan.Part) throws(FormatError) {
    var keptBytes = 0
    var records = SealedRecords(in: part.payload)
    while let (record, offset, length) = try records.next() {
      guard let original = part.recordOffset(at: offset) else {
        throw FormatError(.illegalField, in: "offset map", at: 0)
      }
      if try keeps(record, original, part.header.sequence) {
        map.keep(original, length: length)
        keptBytes += length
      }
    }
    guard keptBytes > 0 else { return }
    guard let header = part.recordOffset(at: -FrameHeader.length) else {
      throw FormatError(.illegalField, in: "offset map", at: 0)
    }
    map.keep(header, length: FrameHeader.length)
    dataBytes += FrameHeader.length + keptBytes
  }

  private mutating func keeps(_ record: Record, _ original: Int, _ sequence: UInt64) throws(FormatError)
    -> Bool
  {
    let address = RecordAddress(
      segment: segment, offset: original, recordLength: record.header.paddedLength,
      isBlob: record.header.kind == .blob)
    let bytes = UInt64(address.recordLengthMax)
    if record.header.kind == .tombstone {
      let shadowed = try Tombstone(reading: record.value).shadowed?.segment ?? segment
      if cleaned.areClean(upTo: shadowed, at: sequence) {
        tombstonesDropped += 1
        return false
      }
      tombstoneBytes += bytes
      if sequence > keepers.cleanedThrough { heldTombstoneBytes += bytes }
    } else {
      switch keepers.sight(of: record, at: address, of: sequence) {
      case .newest: break
      case .holder(let version): note(bytes, heldBy: version)
      case .nobody:
        recordsDropped += 1
        return false
      }
    }
    recordBytes += bytes
    return true
  }

  /// Records stand in the order of their commits, so that one version follows another.
  private mutating func note(_ bytes: UInt64, heldBy version: UInt64) {
    let share = HeldGarbage.Share(version: version, bytes: HeldGarbage.Bytes(dead: bytes))
    if let last = heldRecords.indices.last, heldRecords[last].version == version {
      heldRecords[last].bytes += share.bytes
    } else {
      heldRecords.append(share)
    }
  }

  /// What stays for snapshots alone.
  var held: [HeldGarbage.Share] {
    guard let oldest = keepers.oldestHolder, heldTombstoneBytes > 0 else { return heldRecords }
    let tombstones = HeldGarbage.Bytes(tombstones: heldTombstoneBytes)
    return heldRecords + [HeldGarbage.Share(version: oldest, bytes: tombstones)]
  }

  /// Bytes of the rewritten file; after `finish()`.
  var fileLength: Int {
    RewrittenFooter(
      generation: 1, originalEnd: 0, dataEnd: UInt64(SegmentHeader.length + dataBytes), recordBytes: 0,
      tombstoneBytes: 0, lineCount: UInt32(map.withLines { $0.count / OffsetMap.lineLength }), mapDigest: 0
    ).fileLength
  }

  /// Makes the map ready to be written.
  mutating func finish() {
    let units = map.finish()
    precondition(8 * units == dataBytes, "O1: the map keeps what was counted")
  }
}
