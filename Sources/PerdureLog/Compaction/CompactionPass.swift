import PerdureFileIO
import PerdureFormat

// Compaction: removes dead records from segments that are no longer written, while readers and
// writers continue.
//
//  1  In the committer's turn: the log may begin a new segment. The newest root and every held root
//     become keepers, and the committer notes that they must stay. The pass chooses segments by
//     their counts of garbage.
//  2  The log is synced up to that point. A superblock records this. It also records that rewritten
//     segments may follow.
//  3  For each segment, oldest first, outside every turn: mark the records that stay. If the
//     rewriting is worth its cost, copy these records into a new file and sync the file. Then
//     rename it over the old file, and sync the directory.
//  4  In the turn: new roots read the new file. The old file no longer has a name, and exists until
//     the last root that reads it is freed.
//
// Invariants
//  CM1  A record stays if it is visible in a keeper. Commits after step 1 can make records dead.
//       They never make a record live again, and add no records to the segments of this pass.
//  CM2  The commit that made a record dead is durable before the removal of the record can become
//       durable (step 2 precedes step 3).
//  CM3  A tombstone is dropped only after all files that could contain the shadowed record were
//       durably replaced. So `CleanedSegments` is updated after the sync of the directory.
//       FORMAT.md, T3.
//  CM4  At any moment, a crash leaves each segment in its old or its new form. Both have the same
//       meaning.

/// The limits of a run of compaction.
struct CompactionLimits {
  /// Whether the segment that is being written is closed first, so that it can be compacted too.
  var rollsLog = true
  /// Whether `rollsLog` applies only if it does not make too many short segments
  /// (`CompactionPolicy.closesLastByHand`).
  var rollsSparingly = false
  /// Whether a segment is rewritten even if the only effect is to put its records into groups.
  /// Segments that are rewritten for another reason are grouped according to the store's options.
  var groupsAllCold = false
  /// Chooses the segments to examine, from the counts of all segments except the last. Nil: all
  /// segments are examined.
  var choose: (([CompactionCandidate]) -> Set<UInt64>)?
  /// Called with the versions that are kept for snapshots.
  var didKeep: (_ versions: [UInt64]) -> Void = { _ in }
  /// Called for each examined segment: its number, and the garbage that only snapshots hold in it.
  var didExamine: (_ number: UInt64, _ held: [HeldGarbage.Share]) -> Void = { _, _ in }
  /// Called with 0 after each frame is read, and with the number of bytes before each write. It
  /// throws to cancel the run.
  var pace: (_ bytes: Int) throws -> Void = { _ in }
  /// Called before each segment and at the end, with the counts of finished segments and of all
  /// segments. Returning false before a segment stops the run.
  var progress: (_ done: Int, _ all: Int, CompactionReport) -> Bool = { _, _, _ in true }
}

/// The data of a segment that determine whether a run chooses it.
struct CompactionCandidate: Hashable, Sendable {
  var number: UInt64
  var usage: SegmentUsage
  /// The number of commits since the segment's first commit: its age.
  var age: UInt64

  /// The candidate, not counting the dead bytes that snapshots hold.
  func without(held: UInt64) -> CompactionCandidate {
    var candidate = self
    candidate.usage.totalBytes -= min(held, usage.deadBytes)
    return candidate
  }
}

/// One run over the log.
struct CompactionPass {
  /// A segment of the log that is no longer written.
  private struct Member {
    var segment: Segment
    var end: Int
    var usage: SegmentUsage
    /// Whether its records are long-lived.
    var isCold: Bool

    var fileLength: Int { segment.fileLength(end: end) }
  }

  /// Whether a segment is rewritten, and the condition under which the new file replaces the old
  /// one.
  private enum Worth {
    case nothing
    case rewriting
    /// Removing records frees too little space. The file is replaced only if groups make it at
    /// least a twentieth shorter.
    case grouping
  }

  private let engine: Engine
  private let limits: CompactionLimits
  /// The states to keep. Their roots are retained until the pass ends
  /// (`CommitterState.compactedVersions`), because snapshots may be released meanwhile.
  private let keepers: Keepers
  /// The segments of the pass, by number.
  private var members: [UInt64: Member] = [:]
  private let numbers: [UInt64]
  private var cleaned = CleanedSegments()
  private var chosen: Set<UInt64>
  private var report: CompactionReport
  /// The error if segments were skipped because their live records did not fit on the medium.
  private var lackOfSpace: StoreError?

  /// Runs one pass. The caller has begun the compaction (`CompactionControl.begin`).
  ///
  /// - Parameter report: The work done so far; the pass adds to it.
  /// - Returns: The error if segments were skipped because their live records did not fit on the
  ///   medium; otherwise nil.
  static func run(
    _ engine: Engine, _ limits: CompactionLimits, _ report: inout CompactionReport
  ) throws -> StoreError? {
    // After this sync, only a few bytes must be synced in the turn when the last segment is closed.
    if limits.rollsLog { try engine.gate.waitUntilSynced(try engine.readingState { $0.end }) }
    var pass = try engine.inTurn { try CompactionPass(engine, limits, report, &$0) }
    defer { engine.endPass() }
    try engine.promiseDurability(upTo: pass.promise, withGroups: pass.makesGroups)
    try pass.compactAll()
    report = pass.report
    return pass.lackOfSpace
  }

  /// The end of the log at the start of the pass, and the last commit and the next blob number at
  /// that time.
  private let promise: (end: LogPosition, sequence: UInt64, nextBlob: UInt64)

  /// Step 1, in a turn.
  private init(
    _ engine: Engine, _ limits: CompactionLimits, _ report: CompactionReport, _ state: inout CommitterState
  ) throws {
    self.engine = engine
    self.limits = limits
    self.report = report
    if Self.rollsLog(limits, engine, state) { try engine.rollLogIfThereIsRoom(&state) }
    let roots = state.roots(heldBy: engine.heldAndAwaited(state))
    keepers = Keepers(roots, state.catalog)
    state.compactedVersions = roots.map { $0.pointee.version }
    promise = (state.end, state.root.pointee.sequence, state.nextBlob)
    let last = state.end.segment
    self.report.bytesLeft = state.usage[last].deadBytes + state.usage[last].tombstoneBytes
    numbers = state.segments.segments.keys.filter { $0 != last }.sorted()
    for (index, number) in numbers.enumerated() {
      guard let segment = state.segments.segments[number] else { continue }
      let usage = state.usage[number]
      members[number] = Member(
        segment: segment, end: state.segments.entries[Int(number)].end, usage: usage,
        isCold: ColdSegments.isCold(
          generation: segment.header.generation, place: index, of: numbers.count))
      // A segment without dead records counts as cleaned.
      cleaned.append(
        number, cleanedThrough: usage.deadBytes == 0 ? keepers.sequence : segment.header.cleanedThrough)
    }
    chosen = Set(numbers)
    limits.didKeep(roots.dropLast().map { $0.pointee.version })
    if let choose = limits.choose { chosen = choose(candidates) }
  }

  private static func rollsLog(
    _ limits: CompactionLimits, _ engine: Engine, _ state: borrowing CommitterState
  ) -> Bool {
    guard limits.rollsLog && state.end.offset > UInt64(SegmentHeader.length) else { return false }
    return !limits.rollsSparingly
      || engine.options.compactionPolicy.closesLastByHand(
        state.usage[state.end.segment], shortSegments: state.shortSegmentCount,
        capacity: state.birthCapacity, lacksRoom: engine.reserve.isShort,
        makesGroups: engine.options.compression.groupsColdRecords)
  }

  private var candidates: [CompactionCandidate] {
    numbers.compactMap { number in
      members[number].map {
        CompactionCandidate(
          number: number, usage: $0.usage,
          age: keepers.sequence &- min($0.segment.header.firstSequence, keepers.sequence))
      }
    }
  }

  private mutating func compactAll() throws {
    for (index, number) in numbers.enumerated() {
      guard limits.progress(index, numbers.count, report) else {
        report.wasCancelled = true
        return
      }
      // The closure may have forked the process.
      try engine.checkProcess()
      try engine.compaction.checkNotStopped()
      guard let member = members[number], isWorthReading(member) else { continue }
      report.segmentsExamined += 1
      // Another segment may need less space.
      do { try compact(member) } catch let error as StoreError where error.code == .diskFull {
        lackOfSpace = error
        continue
      }
    }
    _ = limits.progress(numbers.count, numbers.count, report)
  }

  private func isWorthReading(_ member: Member) -> Bool {
    if member.segment.isEmpty { return isAfterEmptySegment(member.segment) }
    guard chosen.contains(member.segment.number) else { return false }
    if isToBeGroupedAlone(member) { return true }
    return member.usage.deadBytes + member.usage.tombstoneBytes > 0 || member.usage.totalBytes == 0
  }

  /// Whether the segment has no groups yet and rewriting it creates groups.
  private func isToBeGrouped(_ member: Member) -> Bool {
    engine.options.compression.groupsColdRecords && !member.segment.isGrouped && member.isCold
  }

  /// Whether the segment may be rewritten only for grouping. False if a trial has shown that groups
  /// shorten it by less than a twentieth.
  private func isToBeGroupedAlone(_ member: Member) -> Bool {
    limits.groupsAllCold && isToBeGrouped(member)
      && !engine.compaction.doesNotShrink(member.segment.number, member.usage)
  }

  /// Packs some of the segment's frames as a trial. No file is written before the gain is known.
  private func worthOfGrouping(_ member: Member, _ marking: borrowing SegmentMarking) throws(StoreError)
    -> Worth
  {
    let length = engine.options.compression.groupLengthTarget
    var body = member.segment.body(upTo: member.end)
    let frames = try body.bytes(SegmentHeader.length..<body.end)
    let sample = GroupSample(frames, groupLength: length)
    let expected = ColdSegments.expectedLength(
      length: marking.fileLength, frames: marking.dataBytes, storedNow: sample.storedBytes,
      framesNow: sample.frameBytes)
    if expected <= member.fileLength - member.fileLength / 20 { return .grouping }
    engine.compaction.noteNotShrinking(member.segment.number, member.usage)
    return .nothing
  }

  /// Whether the pass may put an ungrouped segment into groups.
  private var makesGroups: Bool {
    members.values.contains { chosen.contains($0.segment.number) && isToBeGrouped($0) }
  }

  /// Whether the predecessor of an empty segment is empty too. If so, rewriting the segment removes
  /// its predecessor from the log (FORMAT.md, T9).
  private func isAfterEmptySegment(_ segment: Segment) -> Bool {
    members[segment.header.predecessorEnd.segment]?.segment.isEmpty ?? false
  }

  // MARK: Step 3

  private mutating func compact(_ member: Member) throws {
    let segment = member.segment
    var cleanedHere = cleaned
    cleanedHere.update(segment.number, cleanedThrough: keepers.cleanedThrough)
    var marking = SegmentMarking(
      segment.number, originalEnd: member.end, keepers, cleanedHere, keysStay: !segment.isGrouped,
      keepsTombstones: engine.options.compactionKeepsTombstones)
    try visitFrames(of: member) {
      try marking.visit($0)
      try limits.pace(0)
    }
    marking.endVisits()
    // If the index is damaged, it may lack live records. Such records must not be dropped. FN3
    try engine.checkIndex()
    limits.didExamine(segment.number, marking.held)
    let worth = try worthOfWriting(member, &marking)
    guard worth != .nothing else {
      if marking.recordsDropped == 0 { cleaned = cleanedHere }
      return
    }
    let (header, void) = header(of: member, isEmpty: marking.dataBytes == 0)
    var rewriter = try writing { () throws in
      try SegmentRewriter(
        header, marking.map, in: engine.directory,
        groupLength: engine.options.compression.groupLengthTarget, pace: countingPace)
    }
    let rewritten: Segment
    do {
      try visitFrames(of: member) { try rewriter.visit($0) }
      try rewriter.finish(marking, originalEnd: member.end)
      try engine.compaction.checkNotStopped()
      if worth == .grouping && rewriter.fileLength > member.fileLength - member.fileLength / 20 {
        rewriter.discard()
        engine.compaction.noteNotShrinking(segment.number, member.usage)
        if marking.recordsDropped == 0 { cleaned = cleanedHere }
        return
      }
      rewritten = try rewriter.replaceSegment(engine.groups)
    } catch {
      rewriter.discard()
      throw wrapped(error)
    }
    try engine.makeNamesDurable()
    cleaned = cleanedHere
    try publish(rewritten, dropping: void)
    note(member, rewritten, marking, void)
  }

  private func countingPace(_ bytes: Int) throws {
    try limits.pace(bytes)
    engine.written.addCompaction(bytes)
  }

  private func visitFrames(of member: Member, _ visit: (LogScan.Part) throws -> Void) throws {
    try LogScan.visitFrames(of: member.segment, upTo: member.end, engine.storeID, visit)
  }

  /// Decides whether rewriting makes the file shorter, or makes it possible to drop enough
  /// tombstones in later segments. If neither is the case, grouping may still be worth a rewrite.
  private func worthOfWriting(_ member: Member, _ marking: inout SegmentMarking) throws(StoreError)
    -> Worth
  {
    if member.segment.isEmpty { return .rewriting }
    let drops = marking.dropsAnything || member.usage.totalBytes == 0
    let groups = isToBeGroupedAlone(member)
    guard drops || groups else { return .nothing }
    marking.finish()
    guard drops else { return try worthOfGrouping(member, marking) }
    let before = member.fileLength
    let after = expectedLength(of: marking, member)
    if after < before { return .rewriting }
    let isCleaner =
      marking.recordsDropped > 0 && member.segment.header.cleanedThrough < keepers.cleanedThrough
    let tombstones = numbers.filter { $0 > member.segment.number }
      .reduce(0) { $0 + Int(members[$1]?.usage.tombstoneBytes ?? 0) }
    if isCleaner && tombstones > after - before { return .rewriting }
    return groups ? try worthOfGrouping(member, marking) : .nothing
  }

  private func expectedLength(of marking: SegmentMarking, _ member: Member) -> Int {
    guard let footer = member.segment.footer, member.segment.isGrouped else { return marking.fileLength }
    return ColdSegments.expectedLength(
      length: marking.fileLength, frames: marking.dataBytes,
      storedNow: footer.mapOffset - SegmentHeader.length,
      framesNow: Int(footer.dataEnd) - SegmentHeader.length)
  }

  /// Returns the header of the segment's next generation, and the empty segments before the
  /// segment. The new header removes these from the log (FORMAT.md, T9).
  private func header(of member: Member, isEmpty: Bool) -> (header: SegmentHeader, void: [UInt64]) {
    var header = member.segment.header
    header.generation += 1
    if isEmpty {
      header.incompatibleFeatures &= ~FormatVersion.groupedSegments
    } else if isToBeGrouped(member) {
      header.incompatibleFeatures |= FormatVersion.groupedSegments
    }
    header.incompatibleFeatures |= FormatVersion.rewrittenSegments
    header.cleanedThrough = max(header.cleanedThrough, keepers.cleanedThrough)
    var void: [UInt64] = []
    while let before = members[header.predecessorEnd.segment]?.segment, before.isEmpty {
      void.append(before.number)
      header.predecessorEnd = before.header.predecessorEnd
    }
    return (header, void)
  }

  // MARK: Step 4

  private mutating func publish(_ segment: Segment, dropping void: [UInt64]) throws {
    guard let footer = segment.footer else { preconditionFailure("a rewritten segment has a footer") }
    try engine.inTurn { state in
      state.replaceSegment(with: segment, footer, dropping: void)
      engine.showRoot(state.makeWorkingRoot(), &state)
    }
    for number in void {
      members[number] = nil
      // The segment is void from now on. If its file cannot be removed now, the next opening
      // removes it.
      try? engine.directory.remove(StoreFileName.segment(number).string)
    }
  }

  private mutating func note(
    _ member: Member, _ rewritten: Segment, _ marking: SegmentMarking, _ void: [UInt64]
  ) {
    report.segmentsRewritten += 1
    if rewritten.isGrouped { report.segmentsGrouped += 1 }
    report.segmentsRemoved += void.count
    report.bytesBefore += UInt64(member.fileLength)
    report.bytesAfter += UInt64(rewritten.fileLength(end: member.end))
    report.recordsDropped += marking.recordsDropped
    report.tombstonesDropped += marking.tombstonesDropped
    members[member.segment.number]?.segment = rewritten
    members[member.segment.number]?.usage.totalBytes = marking.recordBytes
    members[member.segment.number]?.usage.tombstoneBytes = marking.tombstoneBytes
  }

  private func writing<R>(_ body: () throws -> R) throws -> R where R: ~Copyable {
    do { return try body() } catch { throw wrapped(error) }
  }

  private func wrapped(_ error: any Error) -> any Error {
    guard let error = error as? FileIOError else { return error }
    return StoreError.io(error, "Rewriting a segment (the store is unchanged)")
  }
}
