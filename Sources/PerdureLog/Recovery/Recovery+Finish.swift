import PerdureFileIO
import PerdureFormat

// The steps of recovery after the log was read: R11 to R13 of FORMAT.md, and derived indexes.

extension Recovery {
  /// Derived indexes; what is believed is made durable; leftovers go.
  ///
  /// - Parameter vouched: Up to where the log is known to be on the medium.
  static func finish(
    _ state: consuming CommitterState, _ vouched: LogPosition, _ path: String, _ options: StoreOptions,
    _ lock: (any FileLock)?, _ report: inout RecoveryReport
  ) throws -> (Engine, RecoveryReport) {
    try buildIndexes(&state, path, options, &report)
    if !options.isReadOnly {
      try makeDurable(&state, vouched, path, options)
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
    let values = StoredValues(state.catalog, state.root, blobs)
    let indexes = IndexSet(state.catalog, factories: options.indexExtractors, reading: values)
    var build = IndexBuild(of: state.catalog, indexes, state.root, reader, blobs, state.arena)
    // A value that cannot be read keeps indexes from being made, but no store from being opened.
    build.toleratesDamage = true
    report.duplicates = try build.fill(state.catalog.ids.subtracting(indexes.unavailable))
    state.incompleteIndexes = build.incomplete
    state.indexes =
      build.incomplete.isEmpty
      ? indexes
      : IndexSet(
        state.catalog, factories: options.indexExtractors, reading: values, excluding: build.incomplete)
    report.unavailableIndexes = state.indexes.unavailable.map { state.catalog.indexes[Int($0)].index.name }
      .sorted()
  }

  /// R11. What recovery believes, it first makes durable: the bytes may so far be in memory only.
  private static func makeDurable(
    _ state: inout CommitterState, _ vouched: LogPosition, _ path: String, _ options: StoreOptions
  ) throws(FileIOError) {
    if let last = state.segments.segments[state.end.segment] {
      try rewrite(last, from: vouched, to: state.end)
      try last.file.sync(.full)
    } else {
      // Nothing was ever written, so perhaps the creation of the store was cut short.
      try options.fileSystem.syncDirectory(parent(of: path))
    }
    try options.fileSystem.syncDirectory(path)
    let (end, sequence, nextBlob) = (state.end, state.root.pointee.sequence, state.nextBlob)
    try state.superblock?.replace { superblock in
      superblock.durableEnd = end
      superblock.durableSequence = sequence
      superblock.nextBlob = nextBlob
      superblock.isClosed = false
    }
  }

  /// Writes the bytes of the log once more, as they stand, where nothing says that they are on the
  /// medium: after a sync that failed, the system may show bytes which it will not write of its own
  /// accord any more, whatever it answers to the next sync.
  private static func rewrite(
    _ segment: Segment, from vouched: LogPosition, to end: LogPosition
  ) throws(FileIOError) {
    var offset = vouched.segment == segment.number ? Int(vouched.offset) : 0
    while offset < Int(end.offset) {
      let length = min(1 << 20, Int(end.offset) - offset)
      try segment.file.write(try segment.file.read(length, at: UInt64(offset)), at: UInt64(offset))
      offset += length
    }
  }

  private static func parent(of path: String) -> String {
    let trimmed = path.last == "/" ? path.dropLast() : path[...]
    guard let slash = trimmed.lastIndex(of: "/") else { return "." }
    return slash == trimmed.startIndex ? "/" : String(trimmed[..<slash])
  }

  /// R12.
  private static func sweep(
    _ state: borrowing CommitterState, _ path: String, _ options: StoreOptions, _ report: inout RecoveryReport
  ) throws {
    let directory = try Directory(path, options.fileSystem)
    let live = directory.blobs.isEmpty ? [] : try liveBlobs(state)
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
        live.insert(try BlobReference(in: reader.record(at: word)).number)
      }
    }
    return live
  }
}
