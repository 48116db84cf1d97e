// A background thread behaves differently in every run, so a test cannot cut the power at each of
// its operations. This type makes the same decisions and does the same work on the caller's thread.
// It needs less garbage than the background compaction.

/// The background compaction of a store, one round at a time, on this thread.
package final class HandDrivenCompactor {
  private let store: Store
  private let compactor: Compactor

  /// - Parameters:
  ///   - store: A store without background compaction.
  ///   - options: The options that determine the garbage ratio.
  ///   - garbageBytesMin: The minimum garbage for a run, in bytes.
  package init(_ store: Store, _ options: StoreOptions, garbageBytesMin: UInt64) {
    self.store = store
    var policy = options.compactionPolicy
    policy.deadBytesMin = garbageBytesMin
    // This speed is so high that the compactor never sleeps.
    policy.bytesPerSecond = 1e15
    compactor = Compactor(policy)
  }

  /// Does one round of background compaction, if it is due.
  ///
  /// - Returns: Whether there was enough garbage, and the error of the run; nil if it did not fail.
  package func step() -> (hasRun: Bool, failure: String?) {
    let hasRun = compactor.runIfDue(store.engine)
    return (hasRun, hasRun ? compactor.current.failure : nil)
  }
}
