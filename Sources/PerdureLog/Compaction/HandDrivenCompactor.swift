// A background thread behaves differently in every run, so a test cannot cut the power at each of
// its operations. This type decides and does the same on the caller's thread, with less garbage
// than the background needs.

/// What compacts a store in the background, one round at a time on this thread.
package final class HandDrivenCompactor {
  private let store: Store
  private let compactor: Compactor

  /// - Parameters:
  ///   - store: Does not compact itself.
  ///   - options: The garbage limit of the store.
  ///   - garbageBytesMin: The least garbage for a run, in bytes.
  package init(_ store: Store, _ options: StoreOptions, garbageBytesMin: UInt64) {
    self.store = store
    var policy = options.compactionPolicy
    policy.deadBytesMin = garbageBytesMin
    // It never sleeps.
    policy.bytesPerSecond = 1e15
    compactor = Compactor(policy)
  }

  /// Does the background's present work.
  ///
  /// - Returns: Whether there was enough garbage, and the error of the run; nil if it did not fail.
  package func step() -> (hasRun: Bool, failure: String?) {
    let hasRun = compactor.runIfDue(store.engine)
    return (hasRun, hasRun ? compactor.current.failure : nil)
  }
}
