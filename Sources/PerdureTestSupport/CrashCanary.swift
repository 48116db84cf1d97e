/// A mistake that a `CrashExplorer` makes on purpose. A suite that checks its promises then reports
/// a violation.
///
///     var explorer = CrashExplorer()
///     explorer.canary = .acknowledgesEarly
///     #expect(try notesReport(explorer).violation != nil)
///
/// The `reason` of the violation is an error of the check or of the recovery.
public enum CrashCanary: String, Sendable, Hashable, CaseIterable {
  /// A step counts as acknowledged as soon as it has begun.
  ///
  /// Shows that the check looks for acknowledged steps: the store makes no mistake, so only the
  /// check can notice. Does not show that the check looks at every part of a step. Promises
  /// (`CrashMarker.promise`) are not changed.
  case acknowledgesEarly

  /// A step counts as begun only when it has been acknowledged.
  ///
  /// Shows that the check notices steps that are on the disk too early or were never tried. A check
  /// that looks only for lost steps does not notice it.
  case beginsLate

  /// Syncs of the workload do nothing from the first mark on. Syncs of recoveries work.
  ///
  /// Shows that the check or the store notices lost writes. A store that fails to open shows
  /// nothing about the check: see `reason`.
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
  /// Without the effect of a sync.
  var withoutSync: DiskEvent {
    switch self {
    case .sync, .syncDirectory: .ignored
    case .write, .forget, .forgetEntries, .rememberEntries, .create, .remove, .rename, .ignored: self
    }
  }
}
