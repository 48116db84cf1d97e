/// Decides when the store is compacted, which segments are compacted, and how fast. It reads no
/// file.
///
/// If two segments have the same share of dead bytes, the older one has the higher score. Old
/// records tend to stay live, so the freed space stays free. In a young segment, more records will
/// soon become dead.
struct CompactionPolicy: Hashable, Sendable {
  /// The part of the log's record bytes that may be garbage, from 0 to 1.
  var garbageRatio: Double
  /// The minimum number of garbage bytes for a compaction.
  var deadBytesMin: UInt64
  /// The write speed while garbage is near the ratio, in bytes per second. Writes that are
  /// necessary because of new garbage are not included.
  var bytesPerSecond: Double

  /// Counts of the whole log.
  struct Totals: Hashable, Sendable {
    var liveBytes: UInt64 = 0
    var totalBytes: UInt64 = 0
    var tombstoneBytes: UInt64 = 0

    var deadBytes: UInt64 { totalBytes - min(totalBytes, liveBytes + tombstoneBytes) }
    /// The bytes that can be removed. They include tombstones, which can be removed soon after the
    /// records that they shadow.
    var garbageBytes: UInt64 { totalBytes - min(totalBytes, liveBytes) }

    /// These counts, without the garbage that snapshots hold.
    func without(held: HeldGarbage.Bytes) -> Totals {
      var totals = self
      let tombstones = min(held.tombstones, tombstoneBytes)
      totals.tombstoneBytes -= tombstones
      totals.totalBytes -= min(min(held.dead, deadBytes) + tombstones, totalBytes)
      return totals
    }
  }

  /// Whether there is enough garbage for a run.
  ///
  /// - Parameter futile: Garbage that the last run left, without garbage that snapshots hold.
  func isDue(_ totals: Totals, futile: UInt64) -> Bool {
    guard totals.garbageBytes >= deadBytesMin else { return false }
    let new = totals.garbageBytes - min(futile, totals.garbageBytes)
    return Double(totals.garbageBytes) > garbageRatio * Double(totals.totalBytes)
      && Double(new) > garbageRatio / 4 * Double(totals.totalBytes)
  }

  /// Whether the segment that is being written is closed, so that it can also be compacted.
  func closesLast(_ last: SegmentUsage) -> Bool {
    let garbage = last.deadBytes + last.tombstoneBytes
    return garbage >= deadBytesMin && Double(garbage) > 2 * garbageRatio * Double(last.totalBytes)
  }

  /// Whether a manual compaction closes the segment that is being written.
  ///
  /// A closed segment stays short permanently: segments are never merged, because addresses contain
  /// segment numbers. Each segment needs a file descriptor and a mapping. So when many segments are
  /// short, the last one stays open, except in three cases:
  /// - its garbage is enough for background compaction to close it (`closesLast`),
  /// - its garbage is at least a quarter of `capacity`, or
  /// - it has garbage, and commits are refused until space is freed.
  ///
  /// - Parameters:
  ///   - shortSegments: The number of other segments that are shorter than half of a new one.
  ///   - capacity: The capacity of a new segment, in bytes.
  ///   - lacksRoom: Whether commits are refused until space is freed (`Reserve.isShort`).
  ///   - makesGroups: Whether cold records are grouped. If not, a segment that has records but no
  ///     garbage stays open.
  func closesLastByHand(
    _ last: SegmentUsage, shortSegments: Int, capacity: Int, lacksRoom: Bool, makesGroups: Bool
  ) -> Bool {
    let garbage = last.deadBytes + last.tombstoneBytes
    // Grouping records also requires a closed segment.
    guard garbage > 0 || makesGroups || last.totalBytes == 0 else { return false }
    if shortSegments < Self.shortSegmentsMax || (lacksRoom && garbage > 0) { return true }
    return garbage >= UInt64(capacity) / 4 || closesLast(last)
  }

  /// If there are at least this many short segments, manual compactions avoid closing the last
  /// segment.
  static let shortSegmentsMax = 8

  /// The segments that a run examines. Segments with the highest scores above 0 are chosen, until
  /// the remaining dead bytes are at most half of the permitted garbage.
  func choose(_ candidates: [CompactionCandidate], _ totals: Totals) -> Set<UInt64> {
    // A tombstone can be dropped only when no segment can still contain the record that it shadows.
    // So when there are many tombstones, all segments are compacted.
    if Double(totals.tombstoneBytes) > garbageRatio / 2 * Double(totals.totalBytes) {
      return Set(candidates.map(\.number))
    }
    var chosen: Set<UInt64> = []
    var dead = Double(totals.deadBytes)
    let goal = garbageRatio / 2 * Double(totals.totalBytes)
    for candidate in candidates.sorted(by: { score($0) > score($1) }) {
      if dead <= goal || score(candidate) == 0 { break }
      chosen.insert(candidate.number)
      dead -= Double(candidate.usage.deadBytes)
    }
    return chosen
  }

  /// The gain of a compaction divided by its cost, times the age of the segment. The cost is that
  /// the whole segment is read and its live records are written. The score is 0 if the segment's
  /// share of dead bytes is at most half of `garbageRatio`.
  func score(_ candidate: CompactionCandidate) -> Double {
    let usage = candidate.usage
    guard usage.totalBytes > 0, Double(usage.deadBytes) > garbageRatio / 2 * Double(usage.totalBytes) else {
      return 0
    }
    let garbage = Double(usage.deadBytes) / Double(usage.totalBytes)
    return garbage / (2 - garbage) * Double(candidate.age + 1)
  }

  /// The write speed while no garbage is added, in bytes per second.
  func speed(_ totals: Totals) -> Double { bytesPerSecond * excess(totals) }

  /// The number of bytes that may be written without a speed limit after `bytes` of garbage were
  /// added. If updates are spread evenly over all keys, compacting the segments with the most
  /// garbage then frees as much garbage as was added.
  func bytesToWrite(forGarbage bytes: UInt64, _ totals: Totals) -> Double {
    2 * Double(bytes) * excess(totals)
  }

  /// The ratio of garbage to its limit, but at least 1.
  private func excess(_ totals: Totals) -> Double {
    guard totals.totalBytes > 0, garbageRatio > 0 else { return 1 }
    return max(1, Double(totals.garbageBytes) / Double(totals.totalBytes) / garbageRatio)
  }
}
