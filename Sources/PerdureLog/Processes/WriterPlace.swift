import PerdureFileIO
import PerdureFormat
import Synchronization

// What remains of a writer's place when the store is closed.
//
// A snapshot outlives its store. It still reads nodes of the index file in place, and opens blob
// files. The next writer may reuse those units and remove those files. So if snapshots remain when
// a writer leaves, it becomes a reader like any other opening: it takes a slot before it releases
// the lock. If it cannot get a slot it keeps the lock, and the error of a new writer says so.
// FORMAT.md, W9.
//
// Invariants
//  WP1  A snapshot is pinned, and released, before `isLeft` is read. The leaving writer sets it
//       before it reads the pins (all sequentially consistent). So the leaving writer sees the pin,
//       or the pin's owner sees that the writer has left, and calls `join` after pinning and `end`
//       after releasing.
//  WP2  From the writer's leaving to the release of the last pin there is a slot or the lock,
//       unless no data being read can change.
//  WP3  A snapshot that takes a slot after the writer has left has it before it reads the
//       superblock (RT1 of ReaderTable). If that superblock is the one that the writer left, no
//       other writer has relied on anything yet.
//  WP4  Without a pin there is neither slot nor lock: the lifetime of the store's object does not
//       matter.

/// The files that may change under remaining readers after the writer has left.
struct PlaceNeed {
  /// The index file, and the checkpoint, that the store was opened with; 0: none.
  let indexFile: UInt64
  let checkpoint: UInt64
  /// The last content of the slot.
  let superblock: Superblock?
  /// The states that are read; nil if it is unknown which commits the next opening will find.
  let states: ClosedRange<UInt64>?
}

/// The place of an opening: the writer's lock, and later the slot that retains files for snapshots.
// Unchecked: its state is guarded by `lock`, except `left`.
final class WriterPlace: @unchecked Sendable {
  private let table: ReaderTable
  private let lock = Lock()
  private let left = Atomic<Bool>(false)
  private var writing: (any FileLock)?
  private var reading: ReaderRegistration?
  private var need: PlaceNeed?
  private let isForgotten = Atomic<Bool>(false)

  /// - Parameter writing: Nil for an opening that was for reading from the start.
  init(_ writing: (any FileLock)?, _ table: ReaderTable) {
    self.writing = writing
    self.table = table
  }

  deinit { writing?.release() }

  /// Whether the writer's place was released. WP1
  @inline(__always)
  var isLeft: Bool { left.load(ordering: .sequentiallyConsistent) }

  /// Runs an operation of the writer; nil if this opening is no longer the writer.
  func whileWriter<R>(_ body: () -> R) -> R? { lock.withLock { isLeft ? nil : body() } }

  /// Releases the writer's place.
  ///
  /// - Parameter need: The files that may change under readers; nil: none.
  /// - Parameter isRead: Whether a version is pinned.
  func leave(_ isRead: () -> Bool, _ need: () -> PlaceNeed?) {
    lock.withLock {
      if isLeft { return }
      left.store(true, ordering: .sequentiallyConsistent)
      self.need = need()
      if let need = self.need, isRead() {
        reading = ReaderRegistration.take(in: table)
        guard let reading else { return }
        Self.narrow(reading, need, need.states)
      }
      giveUpLock()
    }
  }

  /// A snapshot of the last state was taken after the writer has left.
  ///
  /// - Returns: False if another writer may have continued: the snapshot's state is not kept.
  func join(_ sequence: UInt64) -> Bool {
    lock.withLock {
      guard let need, writing == nil, reading == nil else { return true }
      reading = ReaderRegistration.take(in: table)
      if reading == nil { writing = try? table.directory.writerLock() }
      let superblock = try? SuperblockFile.open(in: table.directory, .read).current
      guard reading != nil || writing != nil, let superblock, superblock == need.superblock else {
        reading = nil
        giveUpLock()
        return false
      }
      if let reading { Self.narrow(reading, need, need.states == nil ? nil : sequence...sequence) }
      return true
    }
  }

  /// A snapshot was released. WP4
  func end(unless isRead: () -> Bool) {
    lock.withLock {
      guard isLeft, !isRead() else { return }
      reading = nil
      giveUpLock()
    }
  }

  private func giveUpLock() {
    writing?.release()
    writing = nil
  }

  /// Closes a forked child's own descriptor of the lock file. The parent keeps the lock. Never
  /// waits (Engine+Fork, FK3).
  func forget() {
    if !isForgotten.exchange(true, ordering: .acquiringAndReleasing) { writing?.release() }
  }

  private static func narrow(
    _ reading: ReaderRegistration, _ need: PlaceNeed, _ states: ClosedRange<UInt64>?
  ) {
    guard let states else { return }
    // A slot that cannot be written keeps its content, which is more demanding. RT3
    try? reading.narrow(
      to: ReaderSlot.Hold(
        sequence: states.lowerBound, indexFile: need.indexFile, checkpoint: need.checkpoint,
        lastSequence: states.upperBound))
  }
}

extension Engine {
  /// Releases the writer's place. The data that snapshots may still read is kept unchanged. In a
  /// turn.
  ///
  /// - Parameter isPoisoned: Whether the next opening may miss commits that were visible here.
  func leave(_ state: borrowing CommitterState, isPoisoned: Bool) {
    let mayChange = !options.isReadOnly && (checkpoint != nil || state.mayReadBlobs)
    place.leave {
      pins.isAnyHeld
    } _: {
      guard mayChange else { return nil }
      let oldest = state.roots(heldBy: pins.held())[0].pointee.sequence
      return PlaceNeed(
        indexFile: checkpoint?.reference.indexFile ?? 0, checkpoint: checkpoint?.root.number ?? 0,
        superblock: state.superblock?.current, states: isPoisoned ? nil : oldest...state.root.pointee.sequence
      )
    }
  }

  /// The state of a snapshot taken after the writer has left is kept from now on. WP1
  ///
  /// - Returns: False if it is not: nodes in the file must not be read any more, because another
  ///   writer may own them and change them.
  @inline(never)
  func join(_ root: UnsafeMutablePointer<Root>) -> Bool {
    if place.join(root.pointee.sequence) { return true }
    guard let checkpoint else { return true }
    checkpoint.nodes.noteDamage(Self.outdated)
    return false
  }

  @inline(never)
  func endPlace() { place.end(unless: { pins.isAnyHeld }) }
}
