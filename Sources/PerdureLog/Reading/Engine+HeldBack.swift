import PerdureFileIO

// What snapshots hold back, and what happens when they go.
//
// Memory is asked for by commits only, so commits let go of it (`CommitterState.reclaim`). Files take room whether
// somebody commits or not. So whoever leaves files in place, or garbage in them, for the sake of a snapshot, has
// it say when it goes (PinTable, P4), and a thread gives them back: that of the compactor. Without one the next
// commit does.

extension Engine {
  /// Releases what `pinRoot` has pinned, and tells who waits for that.
  @inline(__always)
  func release(_ pin: Pin) {
    pin.release()
    // One call behind both questions, or the engine is counted twice more at each release.
    if pins.isAwaited(pin) || place.isLeft { didRelease(pin) }
  }

  @inline(never)
  private func didRelease(_ pin: Pin) {
    // The pins of a forked child protect nothing, and no thread waits for them (Engine+Fork, Y2).
    guard mark.isOwn else { return }
    if pins.isAwaited(pin), pins.takeAwaited() { compactor?.noteRelease(in: self) }
    if place.isLeft { endPlace() }
  }

  /// The versions that have to stay: of readers, and of a compaction that is going on. In a turn.
  func held(_ state: borrowing CommitterState) -> PinnedVersions {
    pins.held().adding(state.compactedVersions)
  }

  /// The same, by who leaves files in place, or garbage, for readers (PinTable, P4).
  func heldAndAwaited(_ state: borrowing CommitterState) -> PinnedVersions {
    pins.heldAndAwaited(published: state.root.pointee.version).adding(state.compactedVersions)
  }

  /// Bytes of segment files that have lost their names and are read by old snapshots.
  var replacedSegmentBytes: Int { (try? looking { $0.outdatedSegmentBytes }) ?? 0 }

  /// A compaction needs no more what it has kept.
  func endPass() {
    giveBackFiles { state in state.compactedVersions = [] }
  }

  /// Lets go of files that nobody reads any more, and of memory.
  ///
  /// - Parameter prepare: Done before, in the turn.
  func giveBackFiles(_ prepare: (inout CommitterState) -> Void = { _ in }) {
    // A store that is closed has nothing to let go of but everything.
    _ = try? inTurn { state in
      prepare(&state)
      reclaim(&state)
      removeUnreachableBlobs(&state)
    }
  }

  /// Lets go of what nobody can reach any more; in a turn.
  func reclaim(_ state: inout CommitterState) {
    guard state.mayHoldBackSegments else {
      let pinned = held(state)
      return state.reclaim(pinned)
    }
    let pinned = heldAndAwaited(state)
    state.reclaim(pinned)
    endAwaiting(state)
  }

  /// Removes the files of values that nobody can read any more; in a turn.
  func removeUnreachableBlobs(_ state: inout CommitterState) {
    guard !state.retiredBlobs.isEmpty else { return }
    // Other openings are asked after the commits that let go of the files were written. X1
    let pinned = heldAndAwaited(state)
    let free = state.retiredBlobs.takeFree(
      pinned, published: state.root.pointee.version, synced: gate.syncedEnd,
      readers: { readers.needs() })
    endAwaiting(state)
    discardBlobs(free)
  }

  /// Nobody has to say that a snapshot goes when nothing is held back.
  private func endAwaiting(_ state: borrowing CommitterState) {
    let isHeldBack =
      state.mayHoldBackSegments || state.retiredBlobs.isHeldBack || compactor?.isHeldBack ?? false
    if !isHeldBack { _ = pins.takeAwaited() }
  }
}
