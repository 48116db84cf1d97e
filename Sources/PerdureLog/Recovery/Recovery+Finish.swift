import PerdureFileIO
import PerdureFormat

// The steps of recovery after the log was read: R11 to R13 of FORMAT.md, and the derived indexes.

extension Recovery {
  /// Makes the accepted state durable, and removes leftovers. If the store was closed properly and
  /// there are no leftovers, the first change makes the state durable (OpeningPromise.swift). An
  /// opening for reading does neither.
  static func finish(
    _ state: consuming CommitterState, _ opening: LogOpening, _ directory: any Directory,
    _ options: StoreOptions,
    _ lock: (any FileLock)?, _ reading: ReadingPlace?, _ report: inout RecoveryReport
  ) throws -> (Engine, RecoveryReport) {
    let reserve = Reserve(in: directory, found: options.isReadOnly ? [] : opening.reserves)
    var left: OpeningPromise?
    if !options.isReadOnly {
      try directory.checkIsWriters()
      let promise = OpeningPromise(state, opening, in: directory, options)
      if promise.isKept(report), try Leftovers(state, opening, in: directory, options).isEmpty {
        left = promise
      } else {
        try keep(promise, reserve)
        try sweep(&state, opening, directory, options, &report)
      }
    }
    state.nextTailCheck = options.checkpoints.nextLookBytes(indexBytes: state.indexByteCount)
    state.root.pointee.version = state.arena.publish()
    let gate = SyncGate(synced: state.end, file: state.segments.segments[state.end.segment]?.file)
    let engine = Engine(
      state, mark: options.ignoresForks ? .unchecked : try .current(), gate: gate, reserve: reserve,
      directory: directory, options: options, lock: lock, reading: reading,
      checkpoint: opening.checkpoint, nextIndexFile: opening.nextIndexFile, groups: opening.groups,
      promise: PendingPromise(left))
    return (engine, report)
  }

  /// Makes the recovered state durable before it is used (FORMAT.md, R11). Until then its bytes may
  /// be only in the system's memory.
  private static func keep(_ promise: OpeningPromise, _ reserve: Reserve) throws {
    do { try promise.keep() } catch {
      // The bytes are already in the file, but some file systems need free space even to rewrite
      // them.
      let isRoom = error.operation.isWrite && error.code.isLackOfSpace
      guard isRoom, reserve.free(.removals, for: error) else { throw error }
      try promise.keep()
    }
  }

  /// Removes files that are not used. R12
  private static func sweep(
    _ state: inout CommitterState, _ opening: LogOpening, _ directory: any Directory, _ options: StoreOptions,
    _ report: inout RecoveryReport
  ) throws {
    var leftovers = try Leftovers(state, opening, in: directory, options)
    // Registered readers may still read values that this state no longer references. RT4
    let readersFrom = ReaderTable(directory: directory).needs().oldestSequence
    if let readersFrom, readersFrom < state.root.pointee.sequence {
      state.retire(blobs: leftovers.blobs)
      leftovers.blobs = []
    }
    for name in leftovers.names { try directory.remove(name) }
    report.orphansRemoved = leftovers.names.count
  }
}

/// The files of a store that its state does not use. R12
private struct Leftovers {
  /// The blob files that no live record references.
  var blobs: [UInt64]
  private let others: [String]

  init(
    _ state: borrowing CommitterState, _ opening: LogOpening, in directory: any Directory,
    _ options: StoreOptions
  ) throws {
    let files = try StoreFiles(in: directory)
    let live = state.liveBlobs
    blobs = files.blobs.filter { !live.contains($0) }
    // The two newest superblocks reference the index file that is in use, or no index file.
    let indexes = files.indexes.filter { $0 != opening.checkpoint?.reference.indexFile }.map {
      StoreFileName.index($0).string
    }
    let used = state.segments.segments
    let end = state.end.segment
    // A void segment may contain the torn tail at the end of the log. It is removed only after a
    // later segment header has recorded the end of the log.
    let void = files.segments.filter { used[$0] == nil && $0 < end }.map {
      StoreFileName.segment($0).string
    }
    let temporaries = files.temporaries.filter { options.draft == nil || !CopyDraft.isMark($0) }
    others = indexes + void + temporaries
  }

  var names: [String] { blobs.map { StoreFileName.blob($0).string } + others }

  var isEmpty: Bool { blobs.isEmpty && others.isEmpty }
}
