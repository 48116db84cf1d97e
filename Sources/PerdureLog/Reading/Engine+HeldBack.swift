// What snapshots hold back, and what happens when they go.
//
// Memory is asked for by commits only, so commits let go of it (`CommitterState.reclaim`). Files take room whether
// somebody commits or not. So whoever leaves files in place, or garbage in them, for the sake of a snapshot, has
// it say when it goes (PinTable, P4), and a thread gives them back: that of the compactor. Without one the next
// commit does.

extension Engine {
  /// A snapshot has gone, and somebody waits for that.
  @inline(never)
  func noteRelease() {
    guard pins.takeAwaited() else { return }
    compactor?.noteRelease(in: self)
  }

  /// Lets go of files that nobody reads any more, and of memory.
  func giveBackFiles() {
    // A store that is closed has nothing to let go of but everything.
    _ = try? inTurn { state in
      reclaim(&state)
      removeUnreachableBlobs(&state)
    }
  }

  /// Lets go of what nobody can reach any more; in a turn.
  func reclaim(_ state: inout CommitterState) {
    guard state.mayHoldBackSegments else { return state.reclaim(pins.held()) }
    state.reclaim(pins.heldAndAwaited())
    endAwaiting(state)
  }

  /// Removes the files of values that nobody can read any more; in a turn.
  func removeUnreachableBlobs(_ state: inout CommitterState) {
    guard !state.retiredBlobs.isEmpty else { return }
    // Other openings are asked after the commits that let go of the files were written. X1
    let free = state.retiredBlobs.takeFree(
      pins.heldAndAwaited(), published: state.root.pointee.version, synced: gate.syncedEnd,
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
