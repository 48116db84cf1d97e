import PerdureFormat

/// The first of two walks over a segment that is compacted. It decides which records stay.
///
/// Records are looked up in batches (`KeeperSearch`), because a lookup in the index is a cache miss
/// on every level. So the totals of a frame are known only after all of its records were looked up.
/// After `visit` has returned, only the keys in a frame's bytes are read, and only if the bytes
/// stay valid (`keysStay`).
struct SegmentMarking {
  /// The total length of the records that stay. As in `SegmentUsage`, each record counts with the
  /// maximum length of its size class.
  private(set) var recordBytes: UInt64 = 0
  private(set) var tombstoneBytes: UInt64 = 0
  private(set) var recordsDropped = 0
  private(set) var tombstonesDropped = 0
  /// The number of bytes of the rewritten frames.
  private(set) var dataBytes = 0
  private(set) var map: OffsetMapBuilder
  /// Dead records that stay, by the oldest version that holds them. `heldTombstoneBytes` counts the
  /// tombstones that stay because of the oldest version of all.
  private var heldRecords: [HeldGarbage.Share] = []
  private var heldTombstoneBytes: UInt64 = 0
  /// Frames with records that were not looked up yet.
  private var frames: [Frame] = []
  private var search: KeeperSearch

  private let keepers: Keepers
  private let cleaned: CleanedSegments
  private let segment: UInt64
  private let keysStay: Bool
  private let keepsTombstones: Bool

  private struct Frame {
    /// The original offset of its header.
    var place: Int
    /// The total length of the records that stay.
    var keptBytes: Int
    /// The number of records that were not looked up yet.
    var openCount: Int
  }

  /// - Parameter cleaned: Includes the segment itself in its rewritten form.
  /// - Parameter keysStay: Whether the bytes of a frame are valid until all frames were visited.
  /// - Parameter keepsTombstones: False drops all tombstones. This is incorrect, and only the proof
  ///   uses it.
  init(
    _ segment: UInt64, originalEnd: Int, _ keepers: Keepers, _ cleaned: CleanedSegments, keysStay: Bool,
    keepsTombstones: Bool
  ) {
    self.keepsTombstones = keepsTombstones
    self.segment = segment
    self.keepers = keepers
    self.cleaned = cleaned
    self.keysStay = keysStay
    search = KeeperSearch(keepers)
    map = OffsetMapBuilder(originalEnd: originalEnd)
  }

  /// Whether any record is dropped.
  var dropsAnything: Bool { recordsDropped > 0 || tombstonesDropped > 0 }

  mutating func visit(_ part: LogScan.Part) throws(FormatError) {
    guard let place = part.recordOffset(at: -FrameHeader.length) else {
      throw FormatError(.illegalField, in: "offset map", at: 0)
    }
    // Frames that contain only tombstones need no lookups, but must also be finished.
    if frames.count >= KeeperSearch.countMax { judge() }
    frames.append(Frame(place: place, keptBytes: 0, openCount: 0))
    var records = SealedRecords(in: part.payload)
    while let (record, offset, length) = try records.next() {
      guard let original = part.recordOffset(at: offset) else {
        throw FormatError(.illegalField, in: "offset map", at: 0)
      }
      try visit(record, original, length, part.header.sequence)
    }
    if !keysStay { judge() }
  }

  private mutating func visit(
    _ record: Record, _ original: Int, _ length: Int, _ sequence: UInt64
  ) throws(FormatError) {
    // An opening from a checkpoint has not read this segment, so the key may have a wrong length.
    guard keepers.canHoldKey(of: record.header) else {
      throw FormatError(.illegalField, in: "record", at: 6)
    }
    let address = RecordAddress(
      segment: segment, offset: original, recordLength: record.header.paddedLength,
      isBlob: record.header.kind == .blob)
    let last = frames.count - 1
    if record.header.kind == .tombstone {
      guard try keeps(tombstone: record, UInt64(address.recordLengthMax), sequence) else { return }
      map.keep(original, length: length)
      frames[last].keptBytes += length
    } else {
      frames[last].openCount += 1
      search.add(record, at: address, length: length, of: sequence)
      if search.isFull { judge() }
    }
  }

  private mutating func keeps(
    tombstone: Record, _ bytes: UInt64, _ sequence: UInt64
  ) throws(FormatError) -> Bool {
    let shadowed = try Tombstone(reading: tombstone.value).shadowed?.segment ?? segment
    if cleaned.areClean(upTo: shadowed, at: sequence) || !keepsTombstones {
      tombstonesDropped += 1
      return false
    }
    tombstoneBytes += bytes
    recordBytes += bytes
    if sequence > keepers.cleanedThrough { heldTombstoneBytes += bytes }
    return true
  }

  /// Looks up the records that were visited but not looked up yet, and decides which of them stay.
  private mutating func judge() {
    search.find()
    var next = 0
    for index in frames.indices {
      for record in search.candidates[next..<(next + frames[index].openCount)] {
        guard stays(record) else { continue }
        map.keep(record.address.offset, length: record.length)
        frames[index].keptBytes += record.length
      }
      next += frames[index].openCount
      frames[index].openCount = 0
    }
    precondition(next == search.candidates.count, "each record must be in one frame")
    search.removeAll()
    // More records of the last frame may follow.
    for frame in frames.dropLast() { end(frame) }
    frames.removeFirst(max(0, frames.count - 1))
  }

  private mutating func end(_ frame: Frame) {
    guard frame.keptBytes > 0 else { return }
    map.keep(frame.place, length: FrameHeader.length)
    dataBytes += FrameHeader.length + frame.keptBytes
  }

  private mutating func stays(_ record: KeeperSearch.Candidate) -> Bool {
    let bytes = UInt64(record.address.recordLengthMax)
    switch record.sight {
    case .newest: break
    case .holder(let version): note(bytes, heldBy: version)
    case .nobody:
      recordsDropped += 1
      return false
    }
    recordBytes += bytes
    return true
  }

  /// Decides about the remaining records, after all frames were visited. The totals are known then.
  mutating func endVisits() {
    judge()
    for frame in frames { end(frame) }
    frames = []
  }

  /// Records are in the order of their commits, so records held by one version are adjacent. That
  /// version's share is the last one.
  private mutating func note(_ bytes: UInt64, heldBy version: UInt64) {
    let share = HeldGarbage.Share(version: version, bytes: HeldGarbage.Bytes(dead: bytes))
    if let last = heldRecords.indices.last, heldRecords[last].version == version {
      heldRecords[last].bytes += share.bytes
    } else {
      heldRecords.append(share)
    }
  }

  /// The garbage that only snapshots keep.
  var held: [HeldGarbage.Share] {
    guard let oldest = keepers.oldestHolder, heldTombstoneBytes > 0 else { return heldRecords }
    let tombstones = HeldGarbage.Bytes(tombstones: heldTombstoneBytes)
    return heldRecords + [HeldGarbage.Share(version: oldest, bytes: tombstones)]
  }

  /// The length of the rewritten file, after `finish()`.
  var fileLength: Int {
    RewrittenFooter(
      generation: 1, originalEnd: 0, dataEnd: UInt64(SegmentHeader.length + dataBytes), recordBytes: 0,
      tombstoneBytes: 0, lineCount: UInt32(map.withLines { $0.count / OffsetMap.lineLength }), mapDigest: 0
    ).fileLength
  }

  /// Prepares the map for being written.
  mutating func finish() {
    let units = map.finish()
    precondition(8 * units == dataBytes, "OM1: the map keeps the counted bytes")
  }
}
