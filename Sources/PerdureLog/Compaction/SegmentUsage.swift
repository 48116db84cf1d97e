import PerdureFormat

// The live bytes of each segment, so that compaction can choose segments without reading them.
//
// Records are counted by the length in their address word (the longest record of the size class).
// So when a record is replaced, only its word is needed, and its bytes are not read.
//
// Invariants
//  SU1  `liveBytes` of a segment is the sum of the lengths in all address words of that segment in
//       the newest root.
//  SU2  `totalBytes` is the sum of the lengths of all records in the segment's file.
//       `tombstoneBytes` is the same sum for its tombstones. All other bytes that are not live are
//       dead.
//  SU3  A commit changes the counts when it is published. A refused or failed commit does not
//       change them.

/// The counts of one segment, in bytes of records.
struct SegmentUsage: Hashable, Sendable {
  /// How often the segment had been rewritten at the time of the counts.
  var generation: UInt64 = 0
  var liveBytes: UInt64 = 0
  var totalBytes: UInt64 = 0
  var tombstoneBytes: UInt64 = 0

  /// The bytes of records that are neither live nor tombstones.
  var deadBytes: UInt64 { totalBytes - min(totalBytes, liveBytes + tombstoneBytes) }

  /// Adopts the counts in the footer: the segment may have been rewritten since it was counted.
  mutating func adopt(_ footer: RewrittenFooter) {
    generation = footer.generation
    totalBytes = footer.recordBytes
    tombstoneBytes = footer.tombstoneBytes
  }
}

/// The counts of all segments.
struct SegmentUsageTable: Equatable, Sendable {
  /// The counts, by segment number.
  private var usages = PagedTable(SegmentUsage())
  /// The sums over all segments.
  private(set) var totals = CompactionPolicy.Totals()

  init() {}

  /// The segments that were counted, in order of their numbers.
  var counted: some Sequence<(segment: UInt64, usage: SegmentUsage)> {
    usages.known.lazy.filter { $0.element != SegmentUsage() }.map {
      (segment: UInt64($0.number), usage: $0.element)
    }
  }

  subscript(segment: UInt64) -> SegmentUsage {
    get { usages[Int(segment)] }
    set {
      let old = usages[Int(segment)]
      usages[Int(segment)] = newValue
      totals.liveBytes = totals.liveBytes - old.liveBytes + newValue.liveBytes
      totals.totalBytes = totals.totalBytes - old.totalBytes + newValue.totalBytes
      totals.tombstoneBytes = totals.tombstoneBytes - old.tombstoneBytes + newValue.tombstoneBytes
    }
  }

  /// Forgets segments that are no longer part of the log.
  mutating func removeAll(where isGone: (UInt64) -> Bool) {
    for number in counted.map(\.segment) where isGone(number) { self[number] = SegmentUsage() }
  }

  /// Counts an added record that is live.
  mutating func add(_ address: RecordAddress) {
    add(liveBytes: UInt64(address.recordLengthMax), tombstoneBytes: 0, to: address.segment)
  }

  /// Counts an added tombstone.
  mutating func addTombstone(_ address: RecordAddress) {
    add(liveBytes: 0, tombstoneBytes: UInt64(address.recordLengthMax), to: address.segment)
  }

  /// Counts added live records and added tombstones.
  fileprivate mutating func add(liveBytes: UInt64, tombstoneBytes: UInt64, to segment: UInt64) {
    usages.change(Int(segment)) { usage in
      usage.liveBytes += liveBytes
      usage.tombstoneBytes += tombstoneBytes
      usage.totalBytes += liveBytes + tombstoneBytes
    }
    totals.liveBytes += liveBytes
    totals.tombstoneBytes += tombstoneBytes
    totals.totalBytes += liveBytes + tombstoneBytes
  }

  /// Counts a record as dead, because it is no longer visible in the newest root.
  ///
  /// - Returns: Whether the record's bytes were counted as live. False if a checkpoint's counts are
  ///   wrong: the counts then stop at 0, and verification reports the difference (V11).
  @discardableResult
  mutating func release(_ address: RecordAddress) -> Bool {
    let bytes = UInt64(address.recordLengthMax)
    let counted = usages.change(Int(address.segment)) { usage in
      let counted = min(bytes, usage.liveBytes)
      usage.liveBytes -= counted
      return counted
    }
    totals.liveBytes -= counted
    return counted == bytes
  }

  static func == (a: Self, b: Self) -> Bool {
    a.counted.allSatisfy { $0.usage == b[$0.segment] } && b.counted.allSatisfy { $0.usage == a[$0.segment] }
  }
}

/// A commit's changes of the counts. They are kept until the commit has succeeded. SU3
struct UsageChange: ~Copyable {
  /// The changes of one segment, in bytes.
  private struct Added {
    var segment: UInt64 = 0
    var live: UInt64 = 0
    var tombstones: UInt64 = 0
  }

  /// The additions to the newest segment of the commit. Most commits add to one segment only.
  private var last = Added()
  private var earlier: [Added] = []
  /// The address words of removed records.
  private var released = RawBuffer()
  private var addedLength = 0
  private var releasedLength = 0

  mutating func add(_ address: RecordAddress) {
    turn(to: address.segment)
    last.live += UInt64(address.recordLengthMax)
    addedLength += address.recordLengthMax
  }

  mutating func addTombstone(_ address: RecordAddress) {
    turn(to: address.segment)
    last.tombstones += UInt64(address.recordLengthMax)
  }

  mutating func release(_ word: UInt64) {
    released.extend(by: 8).storeBytes(of: word, as: UInt64.self)
    releasedLength += RecordAddress(rawValue: word).recordLengthMax
  }

  @inline(__always)
  private mutating func turn(to segment: UInt64) {
    if segment == last.segment { return }
    if last.segment != 0 { earlier.append(last) }
    last = Added(segment: segment)
  }

  /// Whether fewer bytes are live than before.
  var shrinksStore: Bool { releasedLength > addedLength }

  /// Applies the changes to the table, and resets them.
  mutating func apply(to table: inout SegmentUsageTable) {
    for added in earlier {
      table.add(liveBytes: added.live, tombstoneBytes: added.tombstones, to: added.segment)
    }
    if last.segment != 0 {
      table.add(liveBytes: last.live, tombstoneBytes: last.tombstones, to: last.segment)
    }
    let words = released.bytes
    for offset in stride(from: 0, to: words.count, by: 8) {
      table.release(RecordAddress(rawValue: words.load(fromByteOffset: offset, as: UInt64.self)))
    }
    removeAll()
  }

  /// Resets the changes; memory is kept unless it is unusually large.
  mutating func removeAll() {
    last = Added()
    if !earlier.isEmpty { earlier = [] }
    released.removeAll()
    (addedLength, releasedLength) = (0, 0)
  }
}

// MARK: - In a checkpoint

extension SegmentUsageTable {
  /// Bytes of an entry. FORMAT.md, "Segment usage".
  static let entryLength = 40

  /// The entries of segments with records, in the form for the root block of a checkpoint. They are
  /// in order of the segment numbers.
  func encode() -> [UInt8] {
    var bytes: [UInt8] = []
    for (number, usage) in counted where usage.totalBytes > 0 {
      for field in [
        number, usage.generation, usage.liveBytes, usage.totalBytes, usage.tombstoneBytes,
      ] {
        withUnsafeBytes(of: field.littleEndian) { bytes.append(contentsOf: $0) }
      }
    }
    return bytes
  }

  init(decoding bytes: UnsafeRawBufferPointer) throws(FormatError) {
    guard bytes.count % Self.entryLength == 0 else {
      throw FormatError(.incomplete, in: "segment usage", at: bytes.count)
    }
    var last: UInt64 = 0
    for offset in stride(from: 0, to: bytes.count, by: Self.entryLength) {
      let number: UInt64 = bytes.integer(at: offset)
      guard number > last, number <= FormatLimits.segmentNumberMax else {
        throw FormatError(.illegalField, in: "segment usage", at: offset)
      }
      let usage = SegmentUsage(
        generation: bytes.integer(at: offset + 8), liveBytes: bytes.integer(at: offset + 16),
        totalBytes: bytes.integer(at: offset + 24), tombstoneBytes: bytes.integer(at: offset + 32))
      let (used, overflows) = usage.liveBytes.addingReportingOverflow(usage.tombstoneBytes)
      guard !overflows, used <= usage.totalBytes, usage.totalBytes <= Self.totalBytesMax else {
        throw FormatError(.illegalField, in: "segment usage", at: offset + 16)
      }
      self[number] = usage
      last = number
    }
  }

  /// The maximum of `totalBytes`: the longest record of a size class is less than twice as long as
  /// the shortest.
  private static var totalBytesMax: UInt64 { 2 * UInt64(FormatLimits.segmentCapacityMax) }
}
