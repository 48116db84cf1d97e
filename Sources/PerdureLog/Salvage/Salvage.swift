import PerdureFileIO
import PerdureFormat

// Salvage reads the segments twice. First it finds the newest intact record of every key
// (SalvageScan, CommitFates, SalvageIndex). Then it reads the segments again, and writes exactly
// these records into a new store (SalvageWriter). It needs memory for one segment and one index,
// for a store of any size.

/// One salvage, from the damaged store to the report.
struct Salvage: ~Copyable {
  let source: SalvageSource
  let keepsUnfinished: Bool
  private let blobs: BlobFiles?
  private let progress: (UInt64, UInt64) throws -> Void
  var report: SalvageReport
  private var index = SalvageIndex()
  private var fates = CommitFates()
  // For the undecided records: the state before them, their number, and the damages among them.
  private var marked: SalvageIndex.State?
  private var heldRecords = 0
  private var heldDamages: [(SalvageReport.Damage.Reason, String, UInt64, Range<Int>)] = []
  /// The end of the last record found in a damaged place that `damageEnd` does not include yet.
  private var heldEnd = LogPosition.start
  /// The end of all damage, and of all records found in damaged places. Such records may be from a
  /// moved sector.
  private(set) var damageEnd = LogPosition.start
  /// Whether the records being visited are in a damaged frame.
  private var isFrameDamaged = false
  /// Whether there is damage between the last frame and the current position.
  private var isAfterDamage = false

  init(
    _ path: String, _ fileSystem: any FileSystem, keepsUnfinished: Bool,
    progress: @escaping (UInt64, UInt64) throws -> Void
  ) throws {
    var report = SalvageReport()
    let source = try SalvageSource(path, fileSystem, &report)
    self.source = source
    self.report = report
    self.keepsUnfinished = keepsUnfinished
    self.progress = progress
    blobs = source.store.map { BlobFiles(directory: source.directory, storeID: $0) }
    damageEnd = source.missingEnd
  }

  /// Runs the first pass.
  mutating func findNewest() throws {
    var scan = SalvageScan(source)
    var before: UInt64 = 0
    try visitSegments(half: 0) { salvage, segment, content, progress in
      if segment.header?.predecessorEnd.segment ?? .max != before { salvage.isAfterDamage = true }
      before = segment.number
      if segment.isRewritten {
        salvage.carryOut(salvage.fates.enterRewritten())
        salvage.noteGroups(content, in: segment)
        try scan.visit(segment, content, progress: progress) { try salvage.takeRewritten($0, in: segment) }
        salvage.resolveDamages()
      } else {
        salvage.fates.leaveRewritten(firstSequence: segment.header?.firstSequence ?? 0)
        salvage.noteGroups(content, in: segment)
        try scan.visit(segment, content, progress: progress) { try salvage.take($0, in: segment) }
      }
      salvage.report.segments += 1
    }
    carryOut(
      fates.finish(
        durableSequence: source.superblock?.durableSequence ?? 0, isLast: source.isSuperblockLast))
    if let lost = fates.lost { report.commitsLost.append(lost) }
    report.lastSequence = fates.sequence
    for (_, keys) in index.state.lostValues.sorted(by: { $0.key < $1.key }) {
      for value in keys.values.sorted(by: { $0.word < $1.word }) {
        guard let number = value.blobNumber else { continue }
        report.add(.blob, in: StoreFileName.blob(number).string, 0, 0)
      }
    }
  }

  /// Runs the second pass: gives the writer the records to restore, in the order of the log.
  mutating func recover(into writer: inout SalvageWriter) throws {
    try writer.define(index.state, &report)
    var scan = SalvageScan(source)
    try visitSegments(half: 1) { salvage, segment, content, progress in
      salvage.noteUnreadable(content, in: segment)
      try scan.visit(segment, content, progress: progress) { event in
        guard case .record(let record, let word, _, _) = event, record.header.kind != .tombstone,
          salvage.index.isNewest(word, record)
        else { return }
        try writer.put(record, salvage.age(of: record, at: word, in: segment), salvage.blobs, &salvage.report)
      }
    }
    try writer.finish(&report)
  }

  /// Decides whether a record to restore may be older than the newest record of its key.
  private func age(
    of record: Record, at word: UInt64, in segment: SalvageSource.SourceSegment
  ) -> SalvageWriter.Age {
    if index.isValueLost(record) { return .older }
    let isMaybeOlder = RecordAddress(rawValue: word).position < damageEnd || segment.isOutdated
    return isMaybeOlder ? .maybeOlder : .newest
  }

  /// Reports data that the medium returned in the first pass but not in the second. The records
  /// found there are not restored.
  private mutating func noteUnreadable(_ content: SegmentContent, in segment: SalvageSource.SourceSegment) {
    for range in content.unreadable {
      let isKnown = report.damages.contains {
        $0.reason == .unreadable && $0.file == segment.name && Int($0.offset) <= range.lowerBound
          && range.upperBound <= Int($0.offset) + Int($0.length)
      }
      if !isKnown { report.add(.unreadable, in: segment.name, range.lowerBound, range.count) }
    }
  }

  /// Reads the segments in order, and reports the progress.
  private mutating func visitSegments(
    half: UInt64,
    _ body: (inout Salvage, SalvageSource.SourceSegment, SegmentContent, (Int) throws -> Void) throws -> Void
  ) throws {
    let total = max(source.byteCount, 1) * 2
    var done = source.byteCount * half
    for segment in source.segments {
      try progress(done, total)
      let content = try SegmentContent(segment, source)
      var last = 0
      let progress = progress
      try body(&self, segment, content) { offset in
        guard offset - last >= 1 << 20 else { return }
        last = offset
        // For a segment in groups the offset can be greater than the length of the file.
        try progress(done + UInt64(min(offset, segment.contentLength)), total)
      }
      done += UInt64(segment.contentLength)
    }
    try progress(done, total)
  }

  /// Reports damaged groups, although all their records may be intact. A damaged record is reported
  /// separately, with its place in the unpacked group. Only a damaged record can mean that a
  /// restored key has an older value.
  private mutating func noteGroups(_ content: SegmentContent, in segment: SalvageSource.SourceSegment) {
    for range in content.damagedGroups {
      report.add(.group, in: segment.name, range.lowerBound, range.count)
    }
  }

  // MARK: - Events of the first pass

  private mutating func take(_ event: SalvageScan.Event, in segment: SalvageSource.SourceSegment) throws {
    switch event {
    case .frame(let header, let isWhole):
      isFrameDamaged = !isWhole
      report.frames += 1
      carryOut(fates.meet(header))
      if isAfterDamage, let lost = fates.lost { report.commitsLost.append(lost) }
      isAfterDamage = false
      if fates.held == nil && !(fates.isAlone(header) && isWhole) { marked = index.mark() }
    case .frameEnd(let header, let isWhole):
      carryOut(fates.take(header, isWhole: isWhole))
    case .gap:
      if fates.held == nil { marked = index.mark() }
      fates.takeGap()
    case .record(let record, let word, let setting, let isAnchored):
      try take(record, word, setting, isAnchored: isAnchored)
    case .damage(let reason, let range):
      isAfterDamage = true
      heldDamages.append((reason, segment.name, segment.number, range))
      if fates.held == nil && reason != .frames && reason != .records { resolveDamages() }
    }
  }

  /// Handles an event in a rewritten segment. All records of the segment count.
  private mutating func takeRewritten(
    _ event: SalvageScan.Event, in segment: SalvageSource.SourceSegment
  ) throws {
    switch event {
    case .frame(let header, let isWhole):
      isFrameDamaged = !isWhole
      report.frames += 1
      fates.passRewritten(header)
      if !isWhole && report.commitsIncomplete.last != header.sequence {
        report.commitsIncomplete.append(header.sequence)
      }
    case .frameEnd, .gap: break
    case .record(let record, let word, let setting, let isAnchored):
      try take(record, word, setting, isAnchored: isAnchored)
      report.records += 1
      heldRecords = 0
    case .damage(let reason, let range):
      heldDamages.append((reason, segment.name, segment.number, range))
    }
  }

  private mutating func take(
    _ record: Record, _ word: UInt64, _ setting: SalvageScan.Setting, isAnchored: Bool
  ) throws {
    heldRecords += 1
    if !isAnchored { report.recordsUnanchored += 1 }
    var (isDoubtful, isInGap) = (false, false)
    if case .gap(let moved) = setting { (isDoubtful, isInGap) = (moved, true) }
    if isInGap || isFrameDamaged {
      let position = RecordAddress(rawValue: word).position
      heldEnd = max(heldEnd, LogPosition(segment: position.segment, offset: position.offset + 1))
    }
    let isReadable = try isReadable(record)
    if record.header.kind == .packed && !isReadable { notePacked(record, at: RecordAddress(rawValue: word)) }
    index.apply(record, at: word, isDoubtful: isDoubtful, isReadable: isReadable)
  }

  /// - Throws: As `FileIOError.checkIsDamage`, for errors that do not prove damage of a blob file.
  private func isReadable(_ record: Record) throws -> Bool {
    if record.header.kind == .packed {
      return (try? DictionaryTable.unpacked(record, dictionary: index.state.dictionary)) != nil
    }
    guard record.header.kind == .blob else { return true }
    // A blob file names its store. Without a store id, no blob file can be trusted.
    guard let blobs, let reference = try? BlobReference(in: record) else { return false }
    return try blobs.holds(reference)
  }

  private mutating func notePacked(_ record: Record, at address: RecordAddress) {
    let range = address.offset..<(address.offset + record.header.paddedLength)
    let name = StoreFileName.segment(address.segment).string
    heldDamages.append((.dictionary, name, address.segment, range))
  }

  private mutating func carryOut(_ verdict: CommitFates.Verdict?) {
    switch verdict {
    case nil: return
    case .counts(let partly):
      if let partly { report.commitsIncomplete.append(partly) }
      report.records += heldRecords
      resolveDamages()
    case .neverFinished where keepsUnfinished:
      report.records += heldRecords
      resolveDamages()
    case .neverFinished:
      if let marked { index.goBack(to: marked) }
      report.recordsUnfinished += heldRecords
      let isOfCommit = { (reason: SalvageReport.Damage.Reason) in
        [.frames, .records, .dictionary].contains(reason)
      }
      for (reason, _, _, range) in heldDamages where isOfCommit(reason) && reason != .dictionary {
        report.bytesUnfinished += UInt64(range.count)
      }
      heldDamages.removeAll { isOfCommit($0.0) }
      heldEnd = .start
      resolveDamages()
    }
    heldRecords = 0
    marked = nil
  }

  private mutating func resolveDamages() {
    for (reason, file, number, range) in heldDamages {
      report.add(reason, in: file, range.lowerBound, range.count)
      // The keys whose dictionary is lost are known (`SalvageIndex.State.lostValues`).
      if reason == .dictionary { continue }
      // At the end of a rewritten segment, any number of records may be missing.
      let end = reason == .segmentEnd ? .max : UInt64(range.upperBound)
      damageEnd = max(damageEnd, LogPosition(segment: number, offset: end))
    }
    heldDamages.removeAll()
    damageEnd = max(damageEnd, heldEnd)
    heldEnd = .start
  }
}
