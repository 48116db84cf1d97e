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
    try checkIsStore(path, options)
    // 1. The writer's place.
    let lock =
      options.isReadOnly
      ? nil : try fileSystem.lock(path + "/" + StoreFileName.lock.string, .exclusive, holder: holder)
    do {
      let directory = try Directory(path, fileSystem)
      // 2. The superblock.
      let superblock = try openSuperblock(directory, path, options, &report)
      // 3 to 6. The log.
      var vouched = superblock.current.durableEnd
      let state = try replay(directory, superblock, path, options, &vouched, &report)
      return try finish(state, vouched, path, options, lock, &report)
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
    /// Files that are none of a store's, hidden ones left out.
    var strangers: [String] = []

    init(_ path: String, _ fileSystem: any FileSystem) throws {
      for string in try fileSystem.contents(of: path) {
        switch StoreFileName(string) {
        case .segment(let number): segments.append(number)
        case .blob(let number): blobs.append(number)
        case .temporary: temporaries.append(string)
        case .superblock: hasSuperblock = true
        case .lock: break
        case nil: if !string.hasPrefix(".") { strangers.append(string) }
        }
      }
    }
  }

  private static func prepareDirectory(_ path: String, _ options: StoreOptions) throws {
    switch try options.fileSystem.kind(of: path) {
    case .directory: return
    case nil:
      guard options.createsIfMissing, !options.isReadOnly else {
        throw StoreError.noStore(at: path)
      }
      try options.fileSystem.createDirectory(path)
    case .file, .other:
      throw StoreError(.notAStore, "A store is a directory, and this is not one; check the path", at: path)
    }
  }

  /// Before anything is put into a directory, or removed from it, that is not a store and shall not become
  /// one: somebody else's files are no place for one.
  private static func checkIsStore(_ path: String, _ options: StoreOptions) throws {
    let directory = try Directory(path, options.fileSystem)
    if directory.hasSuperblock || !directory.segments.isEmpty { return }
    guard options.createsIfMissing else { throw StoreError.noStore(at: path) }
    if let stranger = directory.strangers.min() {
      throw StoreError(
        .notAStore, "The directory is no store and holds other files, as \(stranger): give a store its own",
        at: path)
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
      throw StoreError(
        .corruption, "The store has a log but no superblock; restore it from a backup", at: path)
    }
    guard options.createsIfMissing, !options.isReadOnly else {
      throw StoreError.noStore(at: path)
    }
    report.created = true
    report.wasClosed = true
    let superblock = Superblock(store: .random(), segmentCapacity: UInt32(options.segmentCapacityBytes))
    return try SuperblockFile.create(in: path, superblock, options.fileSystem)
  }

  /// Steps 3 to 6: everything that the log says, as a root with version 1.
  ///
  /// - Parameter vouched: Up to where the log is known to be on the medium; frames may know more.
  private static func replay(
    _ directory: Directory, _ superblock: SuperblockFile, _ path: String, _ options: StoreOptions,
    _ vouched: inout LogPosition, _ report: inout RecoveryReport
  ) throws -> CommitterState {
    let mode: FileMode = options.isReadOnly ? .read : .readWrite
    let chain = try SegmentChain(directory.segments, in: path, mode, superblock.current, options.fileSystem)
    let total = chain.links.reduce(0) { $0 + ($1.end ?? $1.size) }
    let arena = NodeArena()
    var replay = Replay(arena)
    var scan = LogScan(superblock.current)
    var done: UInt64 = 0
    for (index, link) in chain.links.enumerated() {
      try scan.read(
        link, isLast: index == chain.links.count - 1,
        progress: { options.recoveryProgress?(done + $0, total) }, apply: { try replay.apply($0) })
      done += link.end ?? link.size
    }
    try scan.finish()
    guard scan.end >= superblock.current.durableEnd, scan.sequence >= superblock.current.durableSequence
    else {
      throw StoreError(
        .corruption, "The log ends before what was promised durable; restore the store from a backup",
        at: scan.end.description)
    }
    report.segments = chain.links.count
    report.logBytes = done
    report.commits = scan.sequence
    report.tornTailBytes = tornBytes(chain, scan.end)
    var state = makeState(replay, scan, chain, superblock, tornTail: report.tornTailBytes > 0)
    state.nextBlob = directory.blobs.reduce(state.nextBlob) { BlobFiles.number(after: $1, $0) }
    vouched = max(vouched, scan.vouched)
    return state
  }

  /// The segments that the log is in. Those behind its end hold parts of a commit that never
  /// finished, and are void as soon as the next one is born.
  private static func table(of chain: SegmentChain, upTo end: LogPosition) -> SegmentTable {
    let segments = SegmentTable()
    for link in chain.links where link.segment.number <= end.segment {
      segments.add(link.segment)
      if let end = link.end { segments.setEnd(Int(end), of: link.segment.number) }
    }
    return segments
  }

  private static func tornBytes(_ chain: SegmentChain, _ end: LogPosition) -> UInt64 {
    guard let last = chain.links.last else { return 0 }
    if last.segment.number == end.segment { return last.size - min(last.size, end.offset) }
    return last.size
  }

  private static func makeState(
    _ replay: borrowing Replay, _ scan: LogScan, _ chain: SegmentChain, _ superblock: SuperblockFile,
    tornTail: Bool
  ) -> CommitterState {
    let segments = table(of: chain, upTo: scan.end)
    let catalog = replay.catalog
    let root = Root.allocate(keyspaceCount: catalog.keyspaces.count, indexCount: catalog.indexes.count)
    for (id, trees) in replay.keyspaces.enumerated() { root.pointee.keyspaces[id] = trees }
    root.pointee.sequence = scan.sequence
    root.pointee.end = scan.end
    root.pointee.segments = segments.entries
    let capacity = segments.segments[scan.end.segment]?.capacity ?? 0
    var state = CommitterState(
      storeID: superblock.current.store, arena: replay.arena, segments: segments, root: root,
      catalog: catalog,
      indexes: IndexSet(), end: scan.end, segmentCapacity: tornTail ? 0 : capacity,
      nextSegment: chain.nextNumber, nextBlob: max(replay.nextBlob, superblock.current.nextBlob),
      superblock: superblock)
    state.usage = replay.usage
    return state
  }
}
