import PerdureFormat

/// The result of a compaction.
public struct CompactionReport: Hashable, Sendable {
  /// The number of segments that were read.
  public var segmentsExamined = 0
  /// The number of segments that were rewritten.
  public var segmentsRewritten = 0
  /// The number of these segments whose records are now in groups
  /// (`CompressionOptions.groupsColdRecords`).
  public var segmentsGrouped = 0
  /// The number of segments that were removed completely, with their files.
  public var segmentsRemoved = 0
  /// The total length of the rewritten segments' files before.
  public var bytesBefore: UInt64 = 0
  /// The total length of the rewritten segments' files after.
  public var bytesAfter: UInt64 = 0
  /// The number of removed records, which were visible in no state.
  public var recordsDropped = 0
  /// The number of removed tombstones whose shadowed records no longer exist.
  public var tombstonesDropped = 0
  /// The number of garbage bytes in the segment that is being written, which was not closed
  /// (`Store.compact`).
  public var bytesLeft: UInt64 = 0
  /// Whether the compaction was stopped before its end. Finished segments stay compacted.
  public var wasCancelled = false
}

/// The progress of a compaction.
public struct CompactionProgress: Hashable, Sendable {
  /// The number of segments that are finished.
  public var segmentsDone: Int
  /// The number of all segments.
  public var segmentsTotal: Int
  /// The work done so far.
  public var report: CompactionReport
}

extension Store {
  /// Removes records from the log that neither the store nor any snapshot can read, and frees their
  /// space.
  ///
  /// Reading and writing continue meanwhile. Writers wait for a sync at the beginning, and for
  /// short times later. Readers never wait. Segments are compacted oldest first. Each finished
  /// segment stays compacted if the run is cancelled, if it fails or if power is lost.
  ///
  /// The last segment is closed and compacted too, if it has garbage or
  /// `CompressionOptions.groupsColdRecords` is set. There is an exception if eight or more other
  /// segments are less than half full. Then the last segment is closed only in one of three cases:
  /// - its garbage is enough for background compaction to close it,
  /// - its garbage is at least a quarter of the capacity of a segment, or
  /// - it has garbage, and the medium has no space.
  ///
  /// The reason is that each closed segment stays a separate file as long as it contains a record.
  /// `CompactionReport.bytesLeft` is the garbage that remains.
  ///
  /// If the option `CompressionOptions.groupsColdRecords` is set, segments without garbage may be
  /// rewritten too. Their records must be old and not in groups yet, and grouping must make the
  /// file at least a twentieth shorter.
  ///
  /// On a full medium, compaction uses the reserve (`StoreOptions.reserveBytes`), and restores the
  /// reserve when it has freed enough space.
  ///
  /// - Parameter progress: Called on this thread, before each segment and at the end. If it returns
  ///   false, the compaction stops. The closure must not close or compact the store: either call
  ///   deadlocks.
  ///
  /// - Throws: `StoreError`: `.diskFull` if even the reserve is not enough; `.io` if the disk
  ///   fails; `.corruption` if a segment is damaged, which is left unchanged; `.closed`;
  ///   `.poisoned`; `.readOnly`. After `.io` the remaining segments are unchanged. If a sync of the
  ///   directory failed, the store is poisoned. Otherwise it can still be used.
  /// - Complexity: reads the segments that have garbage, and writes their live records; memory for
  ///   one slice and one map, about 4 MiB.
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
  /// The counts of the whole log; zero after the store was closed.
  var usageTotals: CompactionPolicy.Totals {
    (try? readingState { $0.usage.totals }) ?? CompactionPolicy.Totals()
  }

  /// The counts of the segment that is being written.
  var lastSegmentUsage: SegmentUsage { (try? readingState { $0.usage[$0.end.segment] }) ?? SegmentUsage() }

  func compact(_ limits: CompactionLimits) throws -> CompactionReport {
    try compaction.begin()
    defer { compaction.end() }
    // Replaced files free their space at the end of a pass. So if a pass skipped segments and freed
    // space, another pass follows. If it freed nothing, the next pass gets the reserve.
    var report = CompactionReport()
    var isOnReserve = false
    defer { if isOnReserve { reserve.reclaim() } }
    while true {
      let rewritten = report.segmentsRewritten
      let lackOfSpace = try CompactionPass.run(self, limits, &report)
      if reserve.isShort && lackOfSpace == nil { reserve.restore() }
      guard let lackOfSpace, !report.wasCancelled else { return report }
      if report.segmentsRewritten > rewritten { continue }
      guard !isOnReserve && reserve.lend(for: lackOfSpace.cause) else { throw lackOfSpace }
      isOnReserve = true
    }
  }

  /// Begins a new segment, if necessary with the space that is reserved for compaction. If there is
  /// no space, the last segment is not compacted.
  func rollLogIfThereIsRoom(_ state: inout CommitterState) throws {
    while true {
      do { return try rollLog(&state) } catch let error as StoreError where error.code == .diskFull {
        guard reserve.free(.compaction, for: error.cause) else { return }
      }
    }
  }
}
