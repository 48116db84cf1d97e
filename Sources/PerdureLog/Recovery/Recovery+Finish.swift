import PerdureFileIO
import PerdureFormat

// The steps of recovery after the log was read: R11 to R13 of FORMAT.md, and the derived indexes.

extension Recovery {
  /// Makes the accepted state durable, and removes leftovers.
  static func finish(
    _ state: consuming CommitterState, _ opening: LogOpening, _ directory: any Directory,
    _ options: StoreOptions,
    _ lock: (any FileLock)?, _ reading: ReadingPlace?, _ report: inout RecoveryReport
  ) throws -> (Engine, RecoveryReport) {
    let reserve = Reserve(in: directory, found: options.isReadOnly ? [] : opening.reserves)
    if !options.isReadOnly {
      try directory.checkIsWriters()
      do { try makeDurable(&state, opening, directory, options) } catch {
        // The bytes are already in the file, but some file systems need free space even to rewrite
        // them.
        let isRoom = error.operation.isWrite && error.code.isLackOfRoom
        guard isRoom, reserve.free(.removals, for: error) else { throw error }
        try makeDurable(&state, opening, directory, options)
      }
      try sweep(&state, opening, directory, options, &report)
    }
    state.nextTailCheck = options.checkpoints.nextLookBytes(indexBytes: state.indexByteCount)
    state.root.pointee.version = state.arena.publish()
    let gate = SyncGate(synced: state.end, file: state.segments.segments[state.end.segment]?.file)
    let engine = Engine(
      state, mark: options.ignoresForks ? .unchecked : try .current(), gate: gate, reserve: reserve,
      directory: directory, options: options, lock: lock, reading: reading,
      checkpoint: opening.checkpoint, nextIndexFile: opening.nextIndexFile, groups: opening.groups)
    return (engine, report)
  }

  /// Makes the recovered state durable before it is used (FORMAT.md, R11). Until then its bytes may
  /// be only in the system's memory.
  private static func makeDurable(
    _ state: inout CommitterState, _ opening: LogOpening, _ directory: any Directory, _ options: StoreOptions
  ) throws(FileIOError) {
    if let last = state.segments.segments[state.end.segment] {
      try rewrite(last, from: opening.confirmed, to: state.end)
      try last.file.sync(.full)
    } else {
      // No commit was ever written, so the creation of the store may have been interrupted.
      try options.fileSystem.syncDirectory(StorePath.parent(of: directory.path))
    }
    try directory.sync()
    let (end, sequence, nextBlob) = (state.end, state.root.pointee.sequence, state.nextBlob)
    try state.superblock?.replace { superblock in
      superblock.durableEnd = end
      superblock.durableSequence = sequence
      superblock.nextBlob = nextBlob
      superblock.isClosed = false
      if options.bindsRecords { superblock.incompatibleFeatures |= FormatVersion.boundRecords }
      if superblock.branch.isUnopenedCopy { superblock.branch = .random() }
      if options.compression.isUsed { superblock.incompatibleFeatures |= FormatVersion.packedValues }
      superblock.checkpoint = opening.checkpoint?.reference
    }
  }

  /// Rewrites the bytes of the log that are not known to be on the medium. After a failed sync, the
  /// system may return bytes that it will not write to the medium, even if the next sync succeeds.
  private static func rewrite(
    _ segment: Segment, from confirmed: LogPosition, to end: LogPosition
  ) throws(FileIOError) {
    var offset = confirmed.segment == segment.number ? Int(confirmed.offset) : 0
    while offset < Int(end.offset) {
      let length = min(1 << 20, Int(end.offset) - offset)
      try segment.file.write(try segment.file.read(length, at: UInt64(offset)), at: UInt64(offset))
      offset += length
    }
  }

  /// Removes files that are not used. R12
  private static func sweep(
    _ state: inout CommitterState, _ opening: LogOpening, _ directory: any Directory, _ options: StoreOptions,
    _ report: inout RecoveryReport
  ) throws {
    let files = try StoreFiles(in: directory)
    let live = state.liveBlobs
    var orphans = files.blobs.filter { !live.contains($0) }
    // Registered readers may still read values that this state no longer references. RT4
    let readersFrom = ReaderTable(directory: directory).needs().oldestSequence
    if let readersFrom, readersFrom < state.root.pointee.sequence {
      state.retire(blobs: orphans)
      orphans = []
    }
    // The two newest superblocks reference the index file that is in use, or no index file.
    let indexes = files.indexes.filter { $0 != opening.checkpoint?.reference.indexFile }.map {
      StoreFileName.index($0).string
    }
    let used = state.segments.segments
    // A void segment may contain the torn tail at the end of the log. It is removed only after a
    // later segment header has recorded the end of the log.
    let void = files.segments.filter { used[$0] == nil && $0 < state.end.segment }.map {
      StoreFileName.segment($0).string
    }
    let temporaries = files.temporaries.filter { options.draft == nil || !CopyDraft.isMark($0) }
    for name in orphans.map({ StoreFileName.blob($0).string }) + indexes + void + temporaries {
      try directory.remove(name)
    }
    report.orphansRemoved = orphans.count + indexes.count + void.count + temporaries.count
  }
}
