import PerdureFormat

/// What a compaction did.
public struct CompactionReport: Hashable, Sendable {
  /// Segments that were read.
  public var segmentsExamined = 0
  /// Segments that were written anew.
  public var segmentsRewritten = 0
  /// Segments among them whose records stand in groups now (`CompressionOptions.groupsColdRecords`).
  public var segmentsGrouped = 0
  /// Segments of which nothing is left, not even an empty file.
  public var segmentsRemoved = 0
  /// Bytes of the rewritten segments' files, before.
  public var bytesBefore: UInt64 = 0
  /// Bytes of the rewritten segments' files, after.
  public var bytesAfter: UInt64 = 0
  /// Records that were taken out because nobody can see them any more.
  public var recordsDropped = 0
  /// Marks of removed keys that were taken out because nothing is left of what they removed.
  public var tombstonesDropped = 0
  /// Bytes of garbage in the segment that is being written, which was not ended (`Store.compact`).
  public var bytesLeft: UInt64 = 0
  /// Whether it was stopped before its end. What is done is done.
  public var wasCancelled = false
}

/// How far a compaction is.
public struct CompactionProgress: Hashable, Sendable {
  /// Segments that are done with.
  public var segmentsDone: Int
  /// Segments in all.
  public var segmentsTotal: Int
  /// What was done so far.
  public var report: CompactionReport
}

extension Store {
  /// Takes out of the log what neither the store nor any snapshot can see, and gives the space back.
  ///
  /// Reading and writing go on meanwhile: writers wait for a sync at the beginning and for moments later,
  /// readers for nothing. It goes oldest segment first; each one is done when its part is, so what was done
  /// stays if it is stopped, if it fails or if the power goes.
  ///
  /// The segment that is being written is ended and compacted too; but where eight or more are shorter than half of a
  /// full one only when the background would end it, when a quarter of what it may hold is garbage, or when the medium
  /// has no room, as each stays a file of its own for as long as a record in it does. `CompactionReport.bytesLeft` says
  /// what was left.
  ///
  /// With `CompressionOptions.groupsColdRecords` segments without garbage are rewritten too, if their records
  /// have lived long and stand in no groups yet.
  ///
  /// - Parameter progress: Called between segments, on this thread; false stops. It must not close the
  ///   store, nor compact it: that waits for this compaction, without end.
  /// On a medium without room it uses what was held back for it (`StoreOptions.reserveBytes`), and holds it
  /// back again when it has won as much.
  ///
  /// - Throws: `StoreError`: `.diskFull` when not even that is enough, `.io` when the disk fails (what was
  ///   not yet done is as it was, and the store goes on, unless a sync of names failed: then it is poisoned),
  ///   `.corruption` when a segment is damaged (it is left alone), `.closed`, `.poisoned`, `.readOnly`.
  /// - Complexity: reads the segments that hold something dead, and writes what stays of them; memory for
  ///   one slice and one map, some 4 MiB.
  @discardableResult
  public func compact(
    progress: (CompactionProgress) -> Bool = { _ in true }
  ) throws -> CompactionReport {
    try engine.checkWritable()
    return try withoutActuallyEscaping(progress) { progress in
      try engine.compact(
        CompactionLimits(
          rollsSparingly: true, groupsAllCold: true,
          pace: { [engine] _ in try engine.compaction.checkNotStopped() },
          progress: { progress(CompactionProgress(segmentsDone: $0, segmentsTotal: $1, report: $2)) }))
    }
  }
}

extension Engine {
  /// What is live and dead in the whole log; nothing once the store is closed.
  var usageTotals: CompactionPolicy.Totals { (try? looking { $0.usage.totals }) ?? CompactionPolicy.Totals() }

  /// The counts of the segment that is being written.
  var lastSegmentUsage: SegmentUsage { (try? looking { $0.usage[$0.end.segment] }) ?? SegmentUsage() }

  func compact(_ limits: CompactionLimits) throws -> CompactionReport {
    try compaction.begin()
    defer { compaction.end() }
    // Replaced files give their room back when a pass is over, so one that had to leave segments, and has won
    // something, is followed by another; and one that has won nothing gets what was held back.
    var report = CompactionReport()
    var isOnReserve = false
    defer { if isOnReserve { reserve.takeBack() } }
    while true {
      let rewritten = report.segmentsRewritten
      let lackOfRoom = try CompactionPass.run(self, limits, &report)
      if reserve.isShort && lackOfRoom == nil { reserve.restore() }
      guard let lackOfRoom, !report.wasCancelled else { return report }
      if report.segmentsRewritten > rewritten { continue }
      guard !isOnReserve && reserve.lend(for: lackOfRoom.cause) else { throw lackOfRoom }
      isOnReserve = true
    }
  }

  /// Where there is no room for a new segment, the one that is written stays out.
  func rollLogIfThereIsRoom(_ state: inout CommitterState) throws {
    while true {
      do { return try rollLog(&state) } catch let error as StoreError where error.code == .diskFull {
        guard reserve.giveUp(.compaction, for: error.cause) else { return }
      }
    }
  }
}
