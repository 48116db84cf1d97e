import PerdureFileIO
import PerdureFormat

/// Opening a store: the numbered steps of FORMAT.md, "Recovery", in that order.
enum Recovery {
  static func open(_ path: String, _ options: StoreOptions) throws -> (Engine, RecoveryReport) {
    do {
      return try openChecked(path, options)
    } catch let error as FileIOError {
      throw StoreError.io(error, "Opening the store")
    }
  }

  private static func openChecked(_ path: String, _ options: StoreOptions) throws -> (Engine, RecoveryReport)
  {
    let fileSystem = options.fileSystem
    var report = RecoveryReport()
    try prepareDirectory(path, options)
    // 1. The writer's place.
    let lock =
      options.isReadOnly
      ? nil : try fileSystem.lock(path + "/" + StoreFileName.lock.string, .exclusive, holder: holder)
    do {
      let directory = try Directory(path, fileSystem)
      // 2. The superblock.
      let superblock = try openSuperblock(directory, path, options, &report)
      // 3 to 6. The log.
      let state = try replay(directory, superblock, path, options, &report)
      return try finish(state, path, options, lock, &report)
    } catch {
      lock?.release()
      throw error
    }
  }

  private static var holder: String { "process \(Environment.processID)" }

  /// The files that are there.
  struct Directory {
    var segments: [UInt64] = []
    var blobs: [UInt64] = []
    var temporaries: [String] = []
    var hasSuperblock = false

    init(_ path: String, _ fileSystem: any FileSystem) throws {
      for string in try fileSystem.contents(of: path) {
        switch StoreFileName(string) {
        case .segment(let number): segments.append(number)
        case .blob(let number): blobs.append(number)
        case .temporary: temporaries.append(string)
        case .superblock: hasSuperblock = true
        case .lock, nil: break
        }
      }
    }
  }

  private static func prepareDirectory(_ path: String, _ options: StoreOptions) throws {
    switch try options.fileSystem.kind(of: path) {
    case .directory: return
    case nil:
      guard options.createsIfMissing, !options.isReadOnly else {
        throw StoreError(.notAStore, "There is no store here", at: path)
      }
      try options.fileSystem.createDirectory(path)
    case .file, .other:
      throw StoreError(.notAStore, "A store is a directory, and this is not one", at: path)
    }
  }

  private static func openSuperblock(
    _ directory: Directory, _ path: String, _ options: StoreOptions, _ report: inout RecoveryReport
  ) throws -> SuperblockFile {
    if directory.hasSuperblock {
      let file = try SuperblockFile.open(
        in: path, options.isReadOnly ? .read : .readWrite, options.fileSystem)
      report.wasClosed = file.current.isClosed
      guard options.isReadOnly || file.current.allowsWriting else {
        throw StoreError(
          .unsupportedFormat,
          "The store has features of a newer Perdure: this one can only open it for reading",
          at: path)
      }
      return file
    }
    guard directory.segments.isEmpty else {
      throw StoreError(.corruption, "The store has a log but no superblock; restore or salvage it", at: path)
    }
    guard options.createsIfMissing, !options.isReadOnly else {
      throw StoreError(.notAStore, "There is no store here", at: path)
    }
    report.created = true
    report.wasClosed = true
    let superblock = Superblock(store: .random(), segmentCapacity: UInt32(options.segmentCapacityBytes))
    let file = try SuperblockFile.create(in: path, superblock, options.fileSystem)
    try options.fileSystem.syncDirectory(parent(of: path))
    return file
  }

  private static func parent(of path: String) -> String {
    let trimmed = path.last == "/" ? path.dropLast() : path[...]
    guard let slash = trimmed.lastIndex(of: "/") else { return "." }
    return slash == trimmed.startIndex ? "/" : String(trimmed[..<slash])
  }

  /// Steps 3 to 6: everything that the log says, as a root with version 1.
  private static func replay(
    _ directory: Directory, _ superblock: SuperblockFile, _ path: String, _ options: StoreOptions,
    _ report: inout RecoveryReport
  ) throws -> CommitterState {
    let mode: FileMode = options.isReadOnly ? .read : .readWrite
    let chain = try SegmentChain(directory.segments, in: path, mode, superblock.current, options.fileSystem)
    let total = chain.links.reduce(0) { $0 + ($1.end ?? $1.size) }
    let arena = NodeArena()
    var replay = Replay(arena)
    var scan = LogScan(superblock.current)
    let segments = SegmentTable()
    var done: UInt64 = 0
    for (index, link) in chain.links.enumerated() {
      segments.add(link.segment)
      if let end = link.end { segments.setEnd(Int(end), of: link.segment.number) }
      try scan.read(
        link, isLast: index == chain.links.count - 1,
        progress: { options.recoveryProgress?(done + $0, total) }, apply: { try replay.apply($0) })
      done += link.end ?? link.size
    }
    try scan.finish()
    guard scan.end >= superblock.current.durableEnd, scan.sequence >= superblock.current.durableSequence
    else {
      throw StoreError(
        .corruption, "The log ends before what was promised durable; restore or salvage the store",
        at: scan.end.description)
    }
    report.segments = chain.links.count
    report.logBytes = done
    report.commits = scan.sequence
    report.tornTailBytes = tornBytes(chain, scan.end)
    return makeState(replay, scan, chain, segments, superblock, tornTail: report.tornTailBytes > 0)
  }

  private static func tornBytes(_ chain: SegmentChain, _ end: LogPosition) -> UInt64 {
    guard let last = chain.links.last else { return 0 }
    if last.segment.number == end.segment { return last.size - min(last.size, end.offset) }
    return last.size
  }

  private static func makeState(
    _ replay: borrowing Replay, _ scan: LogScan, _ chain: SegmentChain, _ segments: SegmentTable,
    _ superblock: SuperblockFile, tornTail: Bool
  ) -> CommitterState {
    let catalog = replay.catalog
    let root = Root.allocate(keyspaceCount: catalog.keyspaces.count, indexCount: catalog.indexes.count)
    for (id, trees) in replay.keyspaces.enumerated() { root.pointee.keyspaces[id] = trees }
    root.pointee.sequence = scan.sequence
    root.pointee.end = scan.end
    root.pointee.segments = segments.entries
    let capacity = segments.segments[scan.end.segment]?.capacity ?? 0
    return CommitterState(
      storeID: superblock.current.store, arena: replay.arena, segments: segments, root: root,
      catalog: catalog,
      indexes: IndexSet(), end: scan.end, segmentCapacity: tornTail ? 0 : capacity,
      nextSegment: chain.nextNumber, nextBlob: max(replay.nextBlob, superblock.current.nextBlob),
      superblock: superblock)
  }

  /// Steps 7 to 9: derived indexes; what is believed is made durable; leftovers go.
  private static func finish(
    _ state: consuming CommitterState, _ path: String, _ options: StoreOptions, _ lock: (any FileLock)?,
    _ report: inout RecoveryReport
  ) throws -> (Engine, RecoveryReport) {
    try buildIndexes(&state, path, options, &report)
    if !options.isReadOnly {
      try makeDurable(&state, path, options)
      try sweep(state, path, options, &report)
    }
    state.root.pointee.version = state.arena.publish()
    let gate = SyncGate(synced: state.end, file: state.segments.segments[state.end.segment]?.file)
    return (Engine(state, gate: gate, directory: path, options: options, lock: lock), report)
  }

  private static func buildIndexes(
    _ state: inout CommitterState, _ path: String, _ options: StoreOptions, _ report: inout RecoveryReport
  ) throws {
    let reader = RecordReader(root: state.root, verifiesChecksum: false)
    let blobs = BlobFiles(directory: path, storeID: state.storeID, fileSystem: options.fileSystem)
    state.indexes = IndexSet(
      state.catalog, factories: options.indexExtractors,
      reading: StoredValues(state.catalog, state.root, blobs))
    let available = Set(state.catalog.indexes.map(\.index.id)).subtracting(state.indexes.unavailable)
    report.duplicates = try IndexBuild.fill(
      available, of: state.catalog, state.indexes, state.root, reader, blobs, state.arena)
    report.unavailableIndexes = state.indexes.unavailable.map { state.catalog.indexes[Int($0)].index.name }
      .sorted()
  }

  /// What recovery believes, it first makes durable: the bytes may so far be in memory only.
  private static func makeDurable(
    _ state: inout CommitterState, _ path: String, _ options: StoreOptions
  ) throws(FileIOError) {
    if let last = state.segments.segments[state.end.segment] {
      try last.file.sync(.full)
      try options.fileSystem.syncDirectory(path)
    }
    let (end, sequence, nextBlob) = (state.end, state.root.pointee.sequence, state.nextBlob)
    try state.superblock?.replace { superblock in
      superblock.durableEnd = end
      superblock.durableSequence = sequence
      superblock.nextBlob = nextBlob
      superblock.isClosed = false
    }
  }

  private static func sweep(
    _ state: borrowing CommitterState, _ path: String, _ options: StoreOptions, _ report: inout RecoveryReport
  ) throws {
    let directory = try Directory(path, options.fileSystem)
    let live = try liveBlobs(state)
    let orphans = directory.blobs.filter { !live.contains($0) }.map { StoreFileName.blob($0).string }
    let used = state.segments.segments
    // A void segment may hold the torn tail that ends the log; it goes once a later header says
    // where the log ends.
    let void = directory.segments.filter { used[$0] == nil && $0 < state.end.segment }.map {
      StoreFileName.segment($0).string
    }
    for name in orphans + void + directory.temporaries { try options.fileSystem.remove(path + "/" + name) }
    report.orphansRemoved = orphans.count + void.count + directory.temporaries.count
  }

  private static func liveBlobs(_ state: borrowing CommitterState) throws -> Set<UInt64> {
    var live: Set<UInt64> = []
    let reader = RecordReader(root: state.root, verifiesChecksum: false)
    for keyspace in state.catalog.keyspaces {
      try IndexBuild.visitWords(of: keyspace, state.root) { word in
        guard RecordAddress(rawValue: word).isBlob else { return }
        live.insert(try BlobReference(reading: reader.record(at: word).value).number)
      }
    }
    return live
  }
}
