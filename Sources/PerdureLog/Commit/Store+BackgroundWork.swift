extension Store {
  /// Whether a thread of the store compacts, writes a checkpoint or creates a segment's file, or is
  /// about to. A checkpoint that waits until the store is idle does not count.
  ///
  /// While no call to the store runs and no snapshot is released, the value becomes false and stays
  /// false. So a proof can compare files without a race.
  package var hasBackgroundWork: Bool {
    !(engine.compactor?.isIdle ?? true) || !engine.checkpointer.isIdle || !engine.preparation.isIdle
  }
}
