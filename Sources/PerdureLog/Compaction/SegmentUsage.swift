import PerdureFormat

// How much of each segment is still of use, so that compaction knows where to begin without reading.
//
// Records are counted by what their address word says of their length (the longest record of the size
// class): when a record is replaced, its word is at hand and its bytes need not be touched.
//
// Invariants
//  U1  `liveBytes` of a segment is the sum over the words that the newest root maps a key to.
//  U2  `totalBytes` is the sum over all records that stand in the segment's file, `tombstoneBytes` the
//      part of it that is tombstones. So what is neither live nor a tombstone is dead.
//  U3  A commit changes the counts when it is published, and not at all if it is refused or fails.

/// The counts of one segment, in bytes of records.
struct SegmentUsage: Hashable, Sendable {
  /// How often the segment had been rewritten when the counts were right.
  var generation: UInt64 = 0
  var liveBytes: UInt64 = 0
  var totalBytes: UInt64 = 0
  var tombstoneBytes: UInt64 = 0

  /// What the newest root does not see and no tombstone is.
  var deadBytes: UInt64 { totalBytes - min(totalBytes, liveBytes + tombstoneBytes) }

  /// What a rewritten segment says about itself: it may have been rewritten since it was counted.
  mutating func adopt(_ footer: RewrittenFooter) {
    generation = footer.generation
    totalBytes = footer.recordBytes
    tombstoneBytes = footer.tombstoneBytes
  }
}

/// The counts of all segments.
struct SegmentUsageTable: Equatable, Sendable {
  /// By segment number.
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

  /// Forgets segments that are not part of the log any more.
  mutating func removeAll(where isGone: (UInt64) -> Bool) {
    for number in counted.map(\.segment) where isGone(number) { self[number] = SegmentUsage() }
  }

  /// A record was added, and a key leads to it.
  mutating func add(_ address: RecordAddress) {
    let bytes = UInt64(address.recordLengthMax)
    usages[Int(address.segment)].liveBytes += bytes
    usages[Int(address.segment)].totalBytes += bytes
    totals.liveBytes += bytes
    totals.totalBytes += bytes
  }

  /// A tombstone was added.
  mutating func addTombstone(_ address: RecordAddress) {
    let bytes = UInt64(address.recordLengthMax)
    usages[Int(address.segment)].tombstoneBytes += bytes
    usages[Int(address.segment)].totalBytes += bytes
    totals.tombstoneBytes += bytes
    totals.totalBytes += bytes
  }

  /// No key of the newest root leads to the record any more.
  ///
  /// - Returns: Whether it was counted as live. What a checkpoint said of that may be wrong; the counts go no lower
  ///   than 0 then (V11 finds it).
  @discardableResult
  mutating func release(_ address: RecordAddress) -> Bool {
    let bytes = UInt64(address.recordLengthMax)
    let counted = min(bytes, usages[Int(address.segment)].liveBytes)
    guard counted > 0 else { return false }
    usages[Int(address.segment)].liveBytes -= counted
    totals.liveBytes -= counted
    return counted == bytes
  }

  static func == (a: Self, b: Self) -> Bool {
    a.counted.allSatisfy { $0.usage == b[$0.segment] } && b.counted.allSatisfy { $0.usage == a[$0.segment] }
  }
}

/// What a commit changes about the counts, kept until it is known to succeed. U3
struct UsageChange {
  private var added: [RecordAddress] = []
  private var tombstones: [RecordAddress] = []
  private var released: [UInt64] = []

  mutating func add(_ address: RecordAddress) { added.append(address) }

  mutating func addTombstone(_ address: RecordAddress) { tombstones.append(address) }

  mutating func release(_ word: UInt64) { released.append(word) }

  /// Whether less is live than before.
  var shrinksStore: Bool {
    let gone = released.reduce(0) { $0 + RecordAddress(rawValue: $1).recordLengthMax }
    return gone > added.reduce(0) { $0 + $1.recordLengthMax }
  }

  /// Brings the changes into the table, and begins anew.
  mutating func apply(to table: inout SegmentUsageTable) {
    for address in added { table.add(address) }
    for address in tombstones { table.addTombstone(address) }
    for word in released { table.release(RecordAddress(rawValue: word)) }
    removeAll()
  }

  /// Begins anew; memory is kept unless it was unusually much.
  mutating func removeAll() {
    let keeps = added.count + released.count < 1 << 16
    if !added.isEmpty { added.removeAll(keepingCapacity: keeps) }
    if !tombstones.isEmpty { tombstones.removeAll(keepingCapacity: keeps) }
    if !released.isEmpty { released.removeAll(keepingCapacity: keeps) }
  }
}

// MARK: - In a checkpoint

extension SegmentUsageTable {
  /// Bytes of an entry. FORMAT.md, "Segment usage".
  static let entryLength = 40

  /// The entries of segments with records, in order of their numbers: for the root block of a checkpoint.
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

  /// No segment holds more: a size class is less than twice the shortest record in it.
  private static var totalBytesMax: UInt64 { 2 * UInt64(FormatLimits.segmentCapacityMax) }
}
