extension Store {
  /// Whether a thread of the store does background work, or is about to begin it: a compaction, a
  /// checkpoint, or the creation of a segment's file. A checkpoint that waits until the store is
  /// idle does not count.
  ///
  /// While no call to the store runs and no snapshot is released, the value becomes false and stays
  /// false. So a proof can compare files without a race.
  package var hasBackgroundWork: Bool {
    !(engine.compactor?.isIdle ?? true) || !engine.checkpointer.isIdle || !engine.preparation.isIdle
  }
}
