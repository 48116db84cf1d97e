import PerdureFileIO

// Frees the memory and files that snapshots keep, after the snapshots are released.
//
// Only commits allocate this memory, so commits also free it (`CommitterState.reclaim`). Files take
// space even without commits. So code that keeps files or garbage for a snapshot requests a
// notification of its release (PinTable, PT4). The compactor's thread then removes the files. If
// there is no such thread, the next commit removes them.

extension Engine {
  /// Releases a pin of `pinRoot`, and calls `noteRelease`.
  @inline(__always)
  func release(_ pin: Pin) {
    pin.release()
    noteRelease(of: pin)
  }

  /// Handles the release of a pin. Notifies the compactor if it waits for the release. If the store
  /// is closed and nothing is pinned, releases its slot or lock (WriterPlace, WP4).
  @inline(__always)
  func noteRelease(of pin: Pin) {
    // Both cases use one call, because two calls retain the engine twice more at each release.
    if pins.isAwaited(pin) || place.isClosed { didRelease(pin) }
  }

  @inline(never)
  private func didRelease(_ pin: Pin) {
    // The pins of a forked child protect nothing, and no thread waits for them (Engine+Fork, FK2).
    guard mark.isOwn else { return }
    if pins.isAwaited(pin), pins.takeAwaited() { compactor?.noteRelease(in: self) }
    if place.isClosed { endPlace() }
  }

  /// The versions that must be kept: the versions of readers, and the versions of a running
  /// compaction. Call in a turn.
  func held(_ state: borrowing CommitterState) -> PinnedVersions {
    pins.held().adding(state.compactedVersions)
  }

  /// The held versions, for code that keeps files or garbage for readers (PinTable, PT4). The code
  /// is notified when these versions are released.
  func heldAndAwaited(_ state: borrowing CommitterState) -> PinnedVersions {
    pins.heldAndAwaited(published: state.root.pointee.version).adding(state.compactedVersions)
  }

  /// The total length of unlinked segment files that old snapshots still read.
  var replacedSegmentBytes: Int { (try? readingState { $0.outdatedSegmentBytes }) ?? 0 }

  /// Ends a compaction, which no longer needs the versions that it kept.
  func endPass() {
    removeReleasedFiles { state in state.compactedVersions = [] }
  }

  /// Removes unreachable files and frees unreachable memory.
  ///
  /// - Parameter prepare: Called first, in the turn.
  func removeReleasedFiles(_ prepare: (inout CommitterState) -> Void = { _ in }) {
    // Errors are ignored: closing the store frees everything.
    _ = try? inTurn { state in
      prepare(&state)
      reclaim(&state)
      removeUnreachableBlobs(&state)
    }
  }

  /// Frees unreachable nodes, roots and segments. Call in a turn.
  func reclaim(_ state: inout CommitterState) {
    guard state.mayHoldBackSegments else {
      let pinned = held(state)
      return state.reclaim(pinned)
    }
    let pinned = heldAndAwaited(state)
    state.reclaim(pinned)
    endAwaiting(state)
  }

  /// Removes unreachable blob files. Call in a turn.
  func removeUnreachableBlobs(_ state: inout CommitterState) {
    guard !state.retiredBlobs.isEmpty else { return }
    // RT1: the commits that dropped the files are written, so the reader table may be read now.
    let pinned = heldAndAwaited(state)
    let free = state.retiredBlobs.takeFree(
      pinned, published: state.root.pointee.version, synced: gate.syncedEnd,
      readers: { readers.needs() })
    endAwaiting(state)
    discardBlobs(free)
  }

  /// Ends the notifications about released snapshots if nothing is kept for snapshots.
  private func endAwaiting(_ state: borrowing CommitterState) {
    let isHeldBack =
      state.mayHoldBackSegments || state.retiredBlobs.isHeldBack || compactor?.isHeldBack ?? false
    if !isHeldBack { _ = pins.takeAwaited() }
  }
}
