/// A mistake that a `CrashExplorer` makes on purpose. A suite with an effective check then reports
/// a violation.
///
///     var explorer = CrashExplorer()
///     explorer.canary = .acknowledgesEarly
///     #expect(try notesReport(explorer).violation != nil)
///
/// The `reason` of the violation is an error of the check or of the recovery.
public enum CrashCanary: String, Sendable, Hashable, CaseIterable {
  /// A step is treated as acknowledged as soon as it has begun.
  ///
  /// Shows that the check tests for acknowledged steps. The store makes no mistake, so only the
  /// check can detect the canary. The canary does not show that the check tests every part of a
  /// step. The canary does not change promises (`CrashMarker.promise`).
  case acknowledgesEarly

  /// A step is treated as begun only when it has been acknowledged.
  ///
  /// Shows that the check detects steps that are on the disk too early or were never tried. A check
  /// that tests only for lost steps does not detect this canary.
  case beginsLate

  /// Syncs of the workload do nothing from the first mark on. Syncs of recoveries work.
  ///
  /// Shows that the check or the store detects lost writes. If the store fails to open, the check
  /// did not run: see `reason`.
  case ignoresSync
}

extension CrashJournal {
  /// The labels that are treated as begun after `count` operations.
  func begun(after count: Int, _ canary: CrashCanary?) -> [Int] {
    guard canary == .beginsLate else { return labels(after: count) { $0 == .begun } }
    let begun = Set(labels(after: count) { $0 == .begun })
    return labels(after: count) { $0 == .acknowledged }.filter(begun.contains)
  }

  /// The labels that are treated as acknowledged after `count` operations.
  func acknowledged(after count: Int, _ canary: CrashCanary?) -> [Int] {
    labels(after: count) {
      canary == .acknowledgesEarly ? $0 == .begun || $0 == .promised : $0 == .acknowledged || $0 == .promised
    }
  }

  /// The number of the first operation after the first mark; 1 without marks. `ignoresSync` has an
  /// effect from this operation on.
  var firstMarkedOperation: Int { (marks.first?.operationCount ?? 0) + 1 }
}

extension DiskEvent {
  /// The event; `ignored` instead of a sync.
  var withoutSync: DiskEvent {
    switch self {
    case .sync, .syncDirectory: .ignored
    case .write, .forget, .forgetEntries, .rememberEntries, .create, .link, .remove, .rename, .ignored:
      self
    }
  }
}
