import PerdureFileIO
import PerdureFormat
import Synchronization

// Protects the data of snapshots after the writer has closed its store.
//
// A snapshot can outlive its store. It still reads nodes of the index file in place, and opens blob
// files. The next writer may reuse the space of those nodes and remove those files. So if snapshots
// remain when a writer leaves (closes its store), the writer registers as a reader. It acquires a
// slot in the table of readers before it releases the lock. If it cannot acquire a slot, it keeps
// the lock, and the error of a new writer reports that. FORMAT.md, W9.
//
// Invariants
//  WP1  The owner of a snapshot pins or releases it before reading `isClosed`. The leaving writer
//       sets `isClosed` before it reads the pins. All these steps are sequentially consistent. So
//       either the leaving writer sees the pin, or the pin's owner sees that the writer has left.
//       In the second case the owner calls `protect` after pinning and `end` after releasing.
//  WP2  From the time the writer leaves until the last pin is released, this process has a slot or
//       the lock. There are two exceptions: the data that snapshots read cannot change, or
//       `protect` has returned false.
//  WP3  If a snapshot needs a slot after the writer has left, it acquires the slot before it reads
//       the superblock (RT1 of ReaderTable). If that superblock is still the last one of the writer
//       that left, no other writer has relied on the slots yet.
//  WP4  After the writer has left, it has neither slot nor lock while nothing is pinned. The
//       lifetime of the store's object does not matter.

/// The files that remaining readers need and that may change after the writer has left.
struct PlaceNeed {
  /// The index file and the checkpoint with which the store was opened; 0 if there is none.
  let indexFile: UInt64
  let checkpoint: UInt64
  /// The last superblock of the writer that left.
  let superblock: Superblock?
  /// The states that snapshots read; nil if it is unknown which commits the next opening will find.
  let states: ClosedRange<UInt64>?
}

/// The lock or slot of an open store: first the writer's lock, later the slot that keeps files for
/// snapshots.
// Unchecked: its state is guarded by `lock`, except `left`.
final class WriterPlace: @unchecked Sendable {
  private let table: ReaderTable
  private let lock = Lock()
  private let left = Atomic<Bool>(false)
  private var writing: (any FileLock)?
  private var reading: ReaderRegistration?
  private var need: PlaceNeed?
  private let isForgotten = Atomic<Bool>(false)

  /// - Parameter writing: Nil for a store that was opened for reading.
  init(_ writing: (any FileLock)?, _ table: ReaderTable) {
    self.writing = writing
    self.table = table
  }

  deinit { writing?.release() }

  /// Whether the writer has left. WP1
  @inline(__always)
  var isClosed: Bool { left.load(ordering: .sequentiallyConsistent) }

  /// Runs an operation of the writer; returns nil without running it if the store is closed.
  func whileWriter<R>(_ body: () -> R) -> R? { lock.withLock { isClosed ? nil : body() } }

  /// Acquires a slot if snapshots need one, and releases the writer's lock. If no slot can be
  /// acquired, the lock is kept.
  ///
  /// - Parameter isRead: Whether a version is pinned.
  /// - Parameter need: The files that may change under readers; nil if there are none.
  func close(_ isRead: () -> Bool, _ need: () -> PlaceNeed?) {
    lock.withLock {
      if isClosed { return }
      left.store(true, ordering: .sequentiallyConsistent)
      self.need = need()
      if let need = self.need, isRead() {
        reading = ReaderRegistration.take(in: table)
        guard let reading else { return }
        Self.narrow(reading, need, need.states)
      }
      releaseLock()
    }
  }

  /// Protects a snapshot of the last state. The snapshot was taken after the writer had left.
  ///
  /// - Returns: False if the superblock has changed or cannot be read, or if neither a slot nor the
  ///   lock can be acquired. Then the snapshot's state is not protected.
  func protect(_ sequence: UInt64) -> Bool {
    lock.withLock {
      guard let need, writing == nil, reading == nil else { return true }
      reading = ReaderRegistration.take(in: table)
      if reading == nil { writing = try? table.directory.writerLock() }
      let superblock = try? SuperblockFile.open(in: table.directory, .read).current
      guard reading != nil || writing != nil, let superblock, superblock == need.superblock else {
        reading = nil
        releaseLock()
        return false
      }
      if let reading { Self.narrow(reading, need, need.states == nil ? nil : sequence...sequence) }
      return true
    }
  }

  /// Handles the release of a snapshot: releases the slot and the lock if nothing is pinned. WP4
  func end(unless isRead: () -> Bool) {
    lock.withLock {
      guard isClosed, !isRead() else { return }
      reading = nil
      releaseLock()
    }
  }

  private func releaseLock() {
    writing?.release()
    writing = nil
  }

  /// Closes a forked child's own descriptor of the lock file, without waiting for `lock`
  /// (Engine+Fork, FK3). The parent keeps its lock on the file.
  func forget() {
    if !isForgotten.exchange(true, ordering: .acquiringAndReleasing) { writing?.release() }
  }

  private static func narrow(
    _ reading: ReaderRegistration, _ need: PlaceNeed, _ states: ClosedRange<UInt64>?
  ) {
    guard let states else { return }
    // If the slot cannot be written, it keeps its old content. That content only preserves more
    // data than these snapshots need. RT3
    try? reading.narrow(
      to: ReaderSlot.Hold(
        sequence: states.lowerBound, indexFile: need.indexFile, checkpoint: need.checkpoint,
        lastSequence: states.upperBound))
  }
}

extension Engine {
  /// Releases the writer's lock. The data that snapshots may still read is kept unchanged. Call in
  /// a turn.
  ///
  /// - Parameter isPoisoned: Whether the next opening may miss commits that were visible here.
  func leave(_ state: borrowing CommitterState, isPoisoned: Bool) {
    let mayChange = !options.isReadOnly && (checkpoint != nil || state.mayReadBlobs)
    place.close {
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

  /// Protects the state of a snapshot that was taken after the writer had left. WP1
  ///
  /// - Returns: False if nodes in the index file must no longer be read, because another writer may
  ///   change them.
  @inline(never)
  func protect(_ root: UnsafeMutablePointer<Root>) -> Bool {
    if place.protect(root.pointee.sequence) { return true }
    guard let checkpoint else { return true }
    checkpoint.nodes.noteDamage(Self.outdated)
    return false
  }

  @inline(never)
  func endPlace() { place.end(unless: { pins.isAnyHeld }) }
}
