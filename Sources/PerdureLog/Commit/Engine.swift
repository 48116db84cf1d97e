import PerdureFileIO
import PerdureFormat
import Synchronization

/// The core of an open store: the committer that appends, and the roots that readers use.
///
/// Concurrency
///  - The committer holds `turn`, which guards everything in `state`.
///  - Readers acquire no lock: they pin a version and load the published root (`PinTable`).
///  - `gate` has its own lock. Lock order: `turn`, then the gate's lock, never the reverse.
// Unchecked: `state` is guarded by `turn`; the other properties are constant, atomic, or have their
// own locks.
final class Engine: @unchecked Sendable {
  /// The open directory of the store. All files are opened through it, even if the directory was
  /// moved.
  let directory: any Directory
  /// The mark of the process that opened the store (Engine+Fork.swift).
  let mark: ProcessMark
  let options: StoreOptions
  /// The checks that snapshots make on the records that they read.
  let recordChecks: RecordChecks
  let pins = PinTable()
  let gate: SyncGate
  let reserve: Reserve
  let preparation: SegmentPreparation
  /// The promise to make the opened state durable. The first change keeps this promise before it
  /// changes any file (OpeningPromise.swift).
  let promise: PendingPromise
  let compaction = CompactionControl()
  let compactor: Compactor?
  let storeID: StoreID
  /// Reads the values of records.
  let contents: RecordContents
  /// Nil if nothing is compressed.
  let packing: Packing?
  let groups: GroupCache
  let written = WrittenBytes()
  /// The readers of the store in other openings.
  let readers: ReaderTable
  /// For a store that was opened for reading: its own entry among `readers`.
  let reading: ReadingPlace?

  private let turn = Lock()
  private let indexAvailability = Lock()
  // Both are guarded by `indexAvailability`.
  private var unavailable: Set<UInt32> = []
  private var misfits: [UInt32: String] = [:]
  /// Whether `unavailable` has elements. Every read loads it without the lock.
  private let hasUnavailable = Atomic<Bool>(false)
  /// The errors of indexes that could not be built at opening, by index id.
  let indexDamage: [UInt32: StoreError]
  // The compiler's check of exclusivity is off, because it makes each commit slower. `turn` ensures
  // exclusive access.
  @exclusivity(unchecked) private var state: CommitterState
  /// The writer's lock. After closing, the slot that retains files for the remaining snapshots.
  let place: WriterPlace
  /// The checkpoint with which the store was opened. Nodes of the trees may be in its file.
  let checkpoint: OpenedCheckpoint?
  /// The nodes of `checkpoint`. Every commit uses them.
  let indexNodes: MappedNodes?
  let checkpointer: Checkpointer

  /// The address of the newest `Root`.
  private let publishedRoot: Atomic<UInt>
  /// The version of the newest root, or of an older root.
  private let publishedVersion: Atomic<UInt64>

  init(
    _ recovered: consuming CommitterState, mark: ProcessMark, gate: SyncGate, reserve: Reserve,
    directory: any Directory,
    options: StoreOptions, lock: (any FileLock)?, reading: ReadingPlace?, checkpoint: OpenedCheckpoint?,
    nextIndexFile: UInt64, groups: GroupCache, promise: PendingPromise
  ) {
    self.directory = directory
    self.mark = mark
    self.options = options
    recordChecks = RecordChecks(options)
    storeID = recovered.storeID
    contents = RecordContents(
      blobs: BlobFiles(directory: directory, storeID: recovered.storeID),
      dictionaries: recovered.dictionaries)
    packing = options.compression.isUsed && !options.isReadOnly ? Packing(options.compression) : nil
    packing?.adopt(recovered.catalog)
    self.groups = groups
    self.promise = promise
    self.gate = gate
    self.reserve = reserve
    preparation = SegmentPreparation(in: directory)
    self.reading = reading
    let writing = directory as? WriterDirectory
    readers = ReaderTable(directory: writing?.base ?? directory)
    place = WriterPlace(lock, readers)
    compactor = options.compactor
    publishedRoot = Atomic(UInt(bitPattern: recovered.root))
    publishedVersion = Atomic(recovered.root.pointee.version)
    unavailable = recovered.indexes.unavailable
    indexDamage = recovered.indexDamage
    hasUnavailable.store(!unavailable.isEmpty, ordering: .relaxed)
    self.checkpoint = checkpoint
    indexNodes = checkpoint?.nodes
    let writer = CheckpointWriter(
      directory: directory, store: recovered.storeID, opened: checkpoint,
      nextFileNumber: nextIndexFile, readers: readers)
    checkpointer = Checkpointer(writer, options.checkpoints)
    state = recovered
    state.nextSyncAhead = state.end.offset + options.syncAheadBytes
    writing?.whenReplaced { [gate] in gate.poison(.folderReplaced($0)) }
    noteTail(&state)
    holdReserve(&state)
    compactor?.note(state.usage.totals, of: self)
  }

  deinit {
    guard mark.isOwn else { return }
    compactor?.stop()
    checkpointer.stop()
    preparation.stop()
    gate.stop()
    state.freeRoots()
  }

  /// Pins the newest root. The caller releases the pin and keeps the engine alive until then.
  @inline(__always)
  func pinRoot() -> (pin: Pin, root: UnsafeMutablePointer<Root>) {
    let pin = pins.pin(newestVersion)
    let root = UnsafeMutablePointer<Root>(bitPattern: newestRoot).unsafelyUnwrapped
    pin.settle(root.pointee.version)
    return (pin, root)
  }

  /// The address of the newest root.
  @inline(__always)
  var newestRoot: UInt { publishedRoot.load(ordering: .sequentiallyConsistent) }

  /// The version to claim before `newestRoot` is loaded. PT2
  @inline(__always)
  var newestVersion: UInt64 { publishedVersion.load(ordering: .sequentiallyConsistent) }

  var blobs: BlobFiles { contents.blobs }

  /// The path with which the store was opened, for messages.
  var path: String { directory.path }

  /// The version of the newest root, or of an older one.
  var version: UInt64 { publishedVersion.load(ordering: .relaxed) }

  /// The derived indexes that are not maintained.
  var unavailableIndexes: Set<UInt32> {
    get {
      guard hasUnavailable.load(ordering: .acquiring), mark.isOwn else { return [] }
      return indexAvailability.withLock { unavailable }
    }
    set {
      indexAvailability.withLock {
        unavailable = newValue
        hasUnavailable.store(!newValue.isEmpty, ordering: .releasing)
      }
    }
  }

  /// Describes why a commit stopped maintaining an index; nil if no commit did so. The mismatch was
  /// in this index, in the index from which it is made, or in another index over its keyspace.
  func misfit(of index: UInt32) -> String? { indexAvailability.withLock { misfits[index] } }

  func noteMisfit(of indexes: Set<UInt32>, _ text: String) {
    indexAvailability.withLock { for index in indexes { misfits[index] = text } }
  }

  /// Runs `body` in the committer's turn. Throws `StoreError` with code `.forked`, `.closed` or
  /// `.poisoned` if the store cannot commit.
  func inTurn<R>(_ body: (inout CommitterState) throws -> R) throws -> R {
    try checkProcess()
    turn.lock()
    defer {
      // The segments are released after the turn, because unmapping a segment and freeing a large
      // file's space take time.
      let released = state.takeReleasedSegments()
      turn.unlock()
      withExtendedLifetime(released) {}
    }
    if state.isClosed { throw StoreError.closed }
    if let poison = gate.poison { throw poison }
    return try body(&state)
  }

  /// Calls `body` with the committer's state, in its turn. Allowed while the store is poisoned.
  func readingState<R>(_ body: (borrowing CommitterState) throws -> R) throws -> R {
    try checkProcess()
    turn.lock()
    defer { turn.unlock() }
    if state.isClosed { throw StoreError.closed }
    return try body(state)
  }

  /// Makes a root visible to readers. The version is stored last: a reader that sees it also sees
  /// the root (PT2).
  func publish(_ root: UnsafeMutablePointer<Root>) {
    publishedRoot.store(UInt(bitPattern: root), ordering: .sequentiallyConsistent)
    publishedVersion.store(root.pointee.version, ordering: .sequentiallyConsistent)
  }

  /// Closes the engine without a last sync, checkpoint or superblock. The store is then in the same
  /// state as after the end of the process. Snapshots can still read.
  func abandon() { finish { _ in } }

  /// The newest root, for a forked child. It needs no pin, because the child neither replaces nor
  /// frees the root.
  @inline(never)
  func rootAtFork() -> (pin: Pin, root: UnsafeMutablePointer<Root>) {
    let address = publishedRoot.load(ordering: .acquiring)
    return (pins.unclaimed, UnsafeMutablePointer<Root>(bitPattern: address).unsafelyUnwrapped)
  }

  /// Closes a forked child's own descriptors of the locks. The parent keeps the locks.
  private func forget() {
    // A thread of the parent may have held the turn at the fork. Then the descriptors are closed
    // when the engine is freed, or when the process ends.
    if turn.tryLock() {
      state.segmentLocks.releaseAll()
      turn.unlock()
    }
    place.forget()
  }

  /// Closes the store: stops the background work, runs `body` in the last turn, and releases the
  /// locks. If the store is already closed, `body` is not called. A forked child only closes its
  /// own descriptors.
  func finish(_ body: (inout CommitterState) throws -> Void) rethrows {
    guard mark.isOwn else { return forget() }
    compactor?.stop()
    compaction.stop()
    checkpointer.stop()
    preparation.stop()
    turn.lock()
    defer { turn.unlock() }
    if state.isClosed { return }
    state.isClosed = true
    defer {
      // A write of a blob may be keeping the promise now, outside of the turn. `end` waits for it.
      promise.end()
      let isPoisoned = gate.poison != nil
      gate.stop()
      state.segmentLocks.releaseAll()
      leave(state, isPoisoned: isPoisoned)
    }
    try body(&state)
  }
}
