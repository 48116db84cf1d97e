/// A mistake that a `CrashExplorer` makes on purpose, to see that a suite notices: the report of a suite that is worth
/// something has a violation then.
///
///     var explorer = CrashExplorer()
///     explorer.canary = .acknowledgesEarly
///     #expect(try notesReport(explorer).violation != nil)
///
/// The violation's `reason` says who has noticed: an error of your check, or one of the recovery.
public enum CrashCanary: String, Sendable, Hashable, CaseIterable {
  /// A step counts as acknowledged as soon as it has begun.
  ///
  /// Shows that the check looks for what was acknowledged: the store itself makes no mistake, so nobody but the check can
  /// notice. Does not show that every part of a step is looked for. Promises (`CrashMarker.promise`) stay as they are.
  case acknowledgesEarly

  /// A step counts as begun only when it has been acknowledged.
  ///
  /// Shows that the check notices what nobody wrote, or what should not be there yet. A check that only looks for what is
  /// lost does not notice, and need not.
  case beginsLate

  /// Syncs of the workload do nothing, from the first mark on; those of recoveries do what they should.
  ///
  /// Shows that what is lost without a sync is noticed, by the check or by the store itself: a store that is damaged so much
  /// that it does not open says nothing about the check. See who has noticed in `reason`.
  case ignoresSync
}

extension CrashJournal {
  /// The labels that count as begun after `count` operations.
  func begun(after count: Int, _ canary: CrashCanary?) -> [Int] {
    guard canary == .beginsLate else { return labels(after: count) { $0 == .begun } }
    let begun = Set(labels(after: count) { $0 == .begun })
    return labels(after: count) { $0 == .acknowledged }.filter(begun.contains)
  }

  /// The labels that count as acknowledged after `count` operations.
  func acknowledged(after count: Int, _ canary: CrashCanary?) -> [Int] {
    labels(after: count) {
      canary == .acknowledgesEarly ? $0 == .begun || $0 == .promised : $0 == .acknowledged || $0 == .promised
    }
  }

  /// The first operation that a canary makes a lie if it is a sync.
  var firstMarkedOperation: Int { (marks.first?.operationCount ?? 0) + 1 }
}

extension DiskEvent {
  /// Without what a sync does.
  var withoutSync: DiskEvent {
    switch self {
    case .sync, .syncDirectory: .ignored
    case .write, .forget, .forgetEntries, .rememberEntries, .create, .remove, .rename, .ignored: self
    }
  }
}
