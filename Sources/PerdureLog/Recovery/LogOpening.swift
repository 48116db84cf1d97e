import PerdureFileIO
import PerdureFormat

/// Runs steps R4 to R10: builds the complete state of the log from the files, as a root with
/// version 1. If there is a usable checkpoint, only the log after it is read. Otherwise the whole
/// log is read.
struct LogOpening {
  let superblock: SuperblockFile
  /// The checkpoint that is used; nil if there is none or it cannot be used.
  private(set) var checkpoint: OpenedCheckpoint?
  /// The position up to which the log is known to be durable.
  private(set) var confirmed: LogPosition
  /// Greater than the number of every index file that exists or existed.
  let nextIndexFile: UInt64

  /// The cache for unpacked groups of rewritten segments.
  let groups: GroupCache

  /// The reserve files.
  var reserves: [UInt64] { files.reserves }
  private let files: StoreFiles
  private let directory: any Directory
  private let options: StoreOptions
  /// The data of an opening for reading, which may run while a writer is active; nil for the
  /// writer's own opening.
  private let beside: OpeningBesideWriter?

  init(
    _ files: StoreFiles, _ superblock: SuperblockFile, _ directory: any Directory, _ options: StoreOptions,
    beside: OpeningBesideWriter? = nil
  ) {
    self.files = files
    self.superblock = superblock
    self.directory = directory
    self.options = options
    self.beside = beside
    groups = GroupCache(bytesMax: options.compression.groupCacheBytes)
    confirmed = superblock.current.durableEnd
    let named = (superblock.former + [superblock.current]).compactMap { $0.checkpoint?.indexFile }
    nextIndexFile = (files.indexes + named).reduce(1) { BlobFiles.number(after: $1, $0) }
  }

  mutating func run(_ report: inout RecoveryReport) throws -> CommitterState {
    let mode: FileMode = options.isReadOnly ? .read : .readWrite
    var promisedSequence: UInt64 = 0
    var locks = SegmentLocks()
    let chain = try SegmentChain(
      files.segments, in: directory, mode, superblock.current, groups,
      didOpen: { newest in
        if !options.isReadOnly { locks = try SegmentLocks(opening: newest, in: directory) }
        promisedSequence = try beside?.promisedSequence() ?? 0
      })
    var state = try read(chain, mode, &report)
    state.segmentLocks = locks
    guard state.root.pointee.sequence >= promisedSequence else {
      state.freeRoots()
      throw OpeningBesideWriter.Moved()
    }
    return state
  }

  private mutating func read(
    _ chain: SegmentChain, _ mode: FileMode, _ report: inout RecoveryReport
  ) throws -> CommitterState {
    if let reference = superblock.current.checkpoint {
      do {
        let copiesFile = beside?.copiesIndex ?? false
        let opened = try OpenedCheckpoint(
          reference, in: directory, mode, superblock, chain, copiesFile: copiesFile,
          verifiesChecksums: options.verifiesIndexChecksums)
        // A copy is always verified: all its bytes were read already, and units may have been
        // reused while it was made.
        let suspects = beside?.suspectsIndex ?? false
        if options.checksIndexAtOpening || suspects || copiesFile { try opened.checkAll() }
        let state = try readTail(behind: opened, chain, &report)
        checkpoint = opened
        return state
      } catch let error as IndexUnusable {
        try beside?.checkNotMoved()
        report.checkpointSequence = 0
        report.indexRebuild = RecoveryReport.IndexRebuild(reason: error.reason, place: error.place)
      }
    }
    return try readAll(chain, &report)
  }

  private mutating func readAll(_ chain: SegmentChain, _ report: inout RecoveryReport) throws
    -> CommitterState
  {
    var replay = Replay(NodeArena(), of: superblock.current.store)
    var scan = LogScan(superblock.current)
    try read(chain, &scan, &replay, &report)
    var state = try makeState(replay, scan, chain, &report)
    try buildIndexes(&state, &report)
    if state.nextBlob > 1 { state.liveBlobs = try Self.liveBlobs(state) }
    return state
  }

  private mutating func readTail(
    behind checkpoint: OpenedCheckpoint, _ chain: SegmentChain, _ report: inout RecoveryReport
  ) throws -> CommitterState {
    var replay = Replay(NodeArena(), from: checkpoint)
    var scan = LogScan(
      superblock.current, from: checkpoint.root.end, sequence: checkpoint.root.sequence)
    report.checkpointSequence = checkpoint.root.sequence
    do { try read(chain, &scan, &replay, &report) } catch {
      try checkpoint.checkNodes()
      throw error
    }
    try checkpoint.checkNodes()
    var state = try makeState(replay, scan, chain, &report)
    state.indexFileByteCount = checkpoint.byteCountInUse
    guard let tail = replay.tail else {
      preconditionFailure("a replay after a checkpoint must note its changes")
    }
    do {
      let live = try tail.live(state.root, state.catalog)
      state.liveBlobs = try liveBlobs(checkpoint, tail, live, state)
      try updateIndexes(of: checkpoint, with: tail, live, &state, &report)
      try checkpoint.checkNodes()
    } catch {
      state.freeRoots()
      try checkpoint.checkNodes()
      throw error
    }
    return state
  }

  /// Reads the log from the position at which `scan` begins. Checks that the log reaches its
  /// durable end.
  private mutating func read(
    _ chain: SegmentChain, _ scan: inout LogScan, _ replay: inout Replay, _ report: inout RecoveryReport
  ) throws {
    let start = scan.end
    let links = chain.links.filter { $0.segment.number >= start.segment }
    let length = { (link: SegmentChain.Link) in
      let length = UInt64(link.segment.fileLength(end: Int(link.logEnd)))
      return length - (link.segment.number == start.segment ? min(length, start.offset) : 0)
    }
    let total = links.reduce(0) { $0 + length($1) }
    var done: UInt64 = 0
    var reported: UInt64 = 0
    for (index, link) in links.enumerated() {
      let skipped = link.segment.number == start.segment ? start.offset : 0
      try scan.read(
        link, isLast: index == links.count - 1,
        // For groups the offset can be greater than the length of the file.
        progress: { try reportProgress(done + min($0 - skipped, length(link)), of: total, &reported) },
        apply: { try replay.apply($0) })
      done += length(link)
    }
    try scan.finish()
    if let error = scan.endsTooEarly { throw error }
    if done > 0 { try reportProgress(done, of: total, &reported, always: true) }
    guard scan.end >= superblock.current.durableEnd, scan.sequence >= superblock.current.durableSequence
    else {
      throw StoreError(
        .corruption, "The log ends before its durable end; \(StoreError.beyondRepair)",
        at: "\(StoreFileName.segment(scan.end.segment).string), byte \(scan.end.offset)")
    }
    report.segments = links.count
    report.logBytes = done
    // The last frame, or a header alone, may end with zeros. The end of the file's data does not
    // include them.
    if let last = links.last, last.end == nil, scan.end.segment == last.segment.number {
      let counted = max(last.logEnd, start.segment == last.segment.number ? start.offset : 0)
      report.logBytes += scan.end.offset - min(scan.end.offset, counted)
    }
    report.commits = scan.sequence
    confirmed = max(confirmed, scan.confirmed)
  }

  /// The progress handler cancelled the opening.
  struct Abandoned: Error { let cause: any Error }

  private func reportProgress(
    _ done: UInt64, of total: UInt64, _ reported: inout UInt64, always: Bool = false
  ) throws(Abandoned) {
    guard let report = options.recoveryProgress, always || done >= reported + Self.progressStepBytes
    else { return }
    reported = done
    do { try report(done, total) } catch { throw Abandoned(cause: error) }
  }

  private static let progressStepBytes: UInt64 = 1 << 20
}

// MARK: - The state

extension LogOpening {
  private func makeState(
    _ replay: borrowing Replay, _ scan: LogScan, _ chain: SegmentChain, _ report: inout RecoveryReport
  ) throws(FileIOError) -> CommitterState {
    report.framesEnd = scan.reached
    report.tornTailBytes = Self.tornBytes(chain, scan.end)
    let segments = try Self.table(of: chain, upTo: scan.end)
    let catalog = replay.catalog
    let root = Root.allocate(keyspaceCount: catalog.keyspaces.count, indexCount: catalog.indexes.count)
    for (id, trees) in replay.keyspaces.enumerated() { root.pointee.keyspaces[id] = trees }
    root.pointee.mark(catalog)
    root.pointee.sequence = scan.sequence
    root.pointee.end = scan.end
    root.pointee.segments = segments.entries
    let capacity = segments.segments[scan.end.segment]?.capacity ?? 0
    let nextBlob = files.blobs.reduce(max(replay.nextBlob, superblock.current.nextBlob)) {
      BlobFiles.number(after: $1, $0)
    }
    var needsSegment = report.tornTailBytes > 0
    if !options.isReadOnly, let last = segments.segments[scan.end.segment], try last.file.isShared() {
      needsSegment = true  // SharedFiles, SF1
    }
    var state = CommitterState(
      storeID: superblock.current.store, arena: replay.arena, segments: segments, root: root,
      catalog: catalog,
      indexes: IndexSet(), end: scan.end, segmentCapacity: needsSegment ? 0 : capacity,
      nextSegment: chain.nextNumber, nextBlob: nextBlob, superblock: superblock,
      bindsNewRecords: options.bindsRecords)
    if report.tornTailBytes == 0, let last = chain.links.last, last.end == nil { state.roomEnd = last.size }
    state.usage = replay.usage
    for (number, segment) in segments.segments {
      if let footer = segment.footer { state.usage[number].adopt(footer) }
    }
    state.usage.removeAll { segments.segments[$0] == nil }
    state.tailBytes = report.logBytes - min(report.logBytes, report.tornTailBytes)
    return state
  }

  /// The segments that contain the log. Segments after its end contain parts of a commit that was
  /// not completed. They become void when the next segment is created.
  private static func table(of chain: SegmentChain, upTo end: LogPosition) throws(FileIOError)
    -> SegmentTable
  {
    let segments = try SegmentTable(reaching: end.segment)
    for link in chain.links where link.segment.number <= end.segment {
      segments.add(link.segment, endingAt: link.end)
    }
    return segments
  }

  private static func tornBytes(_ chain: SegmentChain, _ end: LogPosition) -> UInt64 {
    guard let last = chain.links.last else { return 0 }
    return last.logEnd - (last.segment.number == end.segment ? min(last.logEnd, end.offset) : 0)
  }
}

// MARK: - Derived indexes and blobs

extension LogOpening {
  private func contents(_ state: borrowing CommitterState) -> RecordContents {
    RecordContents(
      blobs: BlobFiles(directory: directory, storeID: state.storeID),
      dictionaries: state.dictionaries)
  }

  /// Calls the factories that can refuse the store.
  ///
  /// - Throws: The error of a factory that refuses. In that case nothing was changed.
  private func checkAdmission(_ state: borrowing CommitterState) throws {
    let values = StoredValues(state.catalog, state.root, contents(state))
    for factory in options.indexExtractors.values {
      try (factory as? any AdmittingFactory)?.admit(values)
    }
  }

  private func indexSet(_ state: borrowing CommitterState) -> IndexSet {
    let values = StoredValues(state.catalog, state.root, contents(state))
    return IndexSet(
      state.catalog, factories: options.indexExtractors, reading: values, excluding: state.incompleteIndexes)
  }

  /// Builds all derived indexes from all records.
  private func buildIndexes(_ state: inout CommitterState, _ report: inout RecoveryReport) throws {
    try checkAdmission(state)
    let indexes = indexSet(state)
    let duplicates = try fill(state.catalog.ids.subtracting(indexes.unavailable), indexes, &state)
    finishIndexes(indexes, duplicates, &state, &report)
  }

  /// Updates the indexes of the checkpoint, and builds the other indexes from all records.
  private func updateIndexes(
    of checkpoint: OpenedCheckpoint, with tail: TailChanges, _ live: [UInt64],
    _ state: inout CommitterState, _ report: inout RecoveryReport
  ) throws {
    try checkAdmission(state)
    let indexes = indexSet(state)
    var update = TailIndexes(checkpoint, state.catalog, state.root, indexes, contents(state), state.arena)
    update.comparesKeys = options.comparesReplacedRecords
    let new = try update.apply(tail, live: live)
    let suspects = Set(update.suspects + new.compactMap(\.duplicatedIndex))
    let root = state.root
    var duplicates = DuplicateKeys()
    for index in suspects.sorted(by: { $0.id < $1.id }) { duplicates.collect(from: index, root) }
    duplicates.add(try fill(update.stale, indexes, &state))
    finishIndexes(indexes, duplicates, &state, &report)
  }

  /// Builds indexes from all records. A damaged record or value makes indexes incomplete, but does
  /// not prevent the opening.
  private func fill(
    _ ids: Set<UInt32>, _ indexes: IndexSet, _ state: inout CommitterState
  ) throws -> DuplicateKeys {
    guard !ids.isEmpty else { return DuplicateKeys() }
    // An opening with a checkpoint has not verified the records before the checkpoint.
    let reader = RecordReader(root: state.root, verifiesChecksum: true)
    var build = IndexBuild(of: state.catalog, indexes, state.root, reader, contents(state), state.arena)
    build.toleratesDamage = true
    let duplicates = try build.fill(ids)
    state.incompleteIndexes = Set(build.incomplete.keys)
    state.indexDamage = build.incomplete
    // An index that is made from an incomplete index is incomplete too.
    let dependents = state.catalog.dependents
    for (id, damage) in build.incomplete {
      for counting in dependents[id] ?? [] { state.indexDamage[counting.id] = damage }
    }
    return duplicates
  }

  private func finishIndexes(
    _ indexes: IndexSet, _ duplicates: DuplicateKeys, _ state: inout CommitterState,
    _ report: inout RecoveryReport
  ) {
    report.duplicates = duplicates.listed
    report.duplicateCount = duplicates.count
    state.duplicatedIndexes = duplicates.indexes
    let isWhole = state.incompleteIndexes.isEmpty
    // These indexes were skipped, so they are incomplete. They stay so even if their extractors can
    // be made later.
    state.incompleteIndexes.formUnion(indexes.unavailable)
    state.adopt(isWhole ? indexes : indexSet(state))
    state.root.pointee.markUnavailable(state.indexes.unavailable)
    report.unavailableIndexes = state.indexes.unavailable.map { state.catalog.indexes[Int($0)].index.name }
      .sorted()
  }

  /// The numbers of the blob files that live records reference. This visits all addresses, and
  /// reads the records that reference blob files.
  private static func liveBlobs(_ state: borrowing CommitterState) throws -> Set<UInt64> {
    var live: Set<UInt64> = []
    var hold = GroupHold()
    defer { hold.release() }
    let reader = RecordReader(root: state.root, verifiesChecksum: false)
    for keyspace in state.catalog.keyspaces {
      try IndexBuild.visitRecords(of: keyspace, state.root) { word, key in
        guard RecordAddress(rawValue: word).isBlob else { return }
        let record = try reader.record(at: word, keyspace: keyspace.id, key: key, &hold)
        live.insert(try BlobReference(in: record).number)
      }
    }
    return live
  }

  /// The numbers of the blob files that live records reference, from the checkpoint and the changes
  /// of the tail.
  private func liveBlobs(
    _ checkpoint: OpenedCheckpoint, _ tail: TailChanges, _ live: [UInt64],
    _ state: borrowing CommitterState
  ) throws -> Set<UInt64> {
    let reader = RecordReader(root: state.root, verifiesChecksum: true)
    var blobs = Set(checkpoint.root.blobs)
    var hold = GroupHold()
    defer { hold.release() }
    for gone in tail.replaced where gone.isBlob {
      try gone.withRecord(reader, &hold, comparesKey: options.comparesReplacedRecords) {
        blobs.remove(try BlobReference(in: $0).number)
      }
    }
    for word in live where RecordAddress(rawValue: word).isBlob {
      blobs.insert(try BlobReference(in: reader.record(at: word, &hold)).number)
    }
    return blobs
  }
}

extension Conflict {
  /// The unique index that contains a key twice.
  fileprivate var duplicatedIndex: DerivedIndex? {
    if case .duplicateKey(let index, _, _, _) = self { index } else { nil }
  }
}
