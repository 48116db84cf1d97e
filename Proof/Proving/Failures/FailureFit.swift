import PerdureFileIO
package import PerdureLog
package import PerdureTestSupport

/// Whether an error is one that a store may give when the system let it down. FR1
package struct FailureFit {
  /// What calls fail with; nil: none has failed so far.
  private let failure: InjectedFailure?
  /// Whether such a call failed during the operation that threw the error; or before, if the store
  /// has since stopped doing this operation.
  private let hasStruck: Bool
  /// Whether the volume is full, whichever call fails.
  private let isVolumeFull: Bool
  /// Whether the store was only to be opened, or read: that a poisoned one can be, too. FR3
  private let isReading: Bool

  package init(
    failure: InjectedFailure?, hasStruck: Bool, isVolumeFull: Bool = false, isReading: Bool = false
  ) {
    (self.failure, self.hasStruck, self.isVolumeFull) = (failure, hasStruck, isVolumeFull)
    self.isReading = isReading
  }

  /// The problem of the error; nil: none.
  package func misfit(of error: StoreError) -> String? {
    if isVolumeFull, error.code == .diskFull, error.cause?.code == .noSpace { return nil }
    guard let failure else { return "without a failure" }
    // A later request shows whether it is poisoned (`FailureRun.noteState`).
    if error.code == .poisoned { return isReading ? "though it can be read" : nil }
    guard hasStruck else { return "though no call failed meanwhile" }
    if error.code == .locked { return Self.isLock(failure, error) ? nil : "though nobody has locked it" }
    guard Self.codes(failure).contains(error.code) else { return "with a code that does not fit \(failure)" }
    guard isCause(failure, of: error) else { return "with a cause that is not \(failure)" }
    return nil
  }

  /// The reason why the store should not have been poisoned; nil if it must be, because the content
  /// of the log is unknown. FR6
  ///
  /// - Parameter poison: The reason that the store gives.
  package func needless(_ poison: StoreError) -> String? {
    guard let cause = poison.cause else { return "and nobody can tell why" }
    if cause.operation.hasPrefix("sync") { return nil }
    guard let failure else { return "without a failure" }
    // The store then cannot check whether a commit or a superblock is complete, or that check is
    // the call that failed.
    if failure.repeats || isVolumeFull { return nil }
    switch cause.operation {
    case "open", "create", "map", "reserve": return "though the system only refused a file, or its place"
    case "write" where failure.isLackOfRoom && failure.effect == .nothing:
      return "though nothing was written for want of room"
    default: return nil
    }
  }

  /// A file that seems to end early seems damaged, or the medium to have failed. On a full volume
  /// nothing was written; if that is not certain, the error only reports the failed call.
  private static func codes(_ failure: InjectedFailure) -> Set<StoreError.Code> {
    if case .partialRead = failure.effect { return [.corruption, .io] }
    return failure.isLackOfRoom ? [.diskFull, .io] : [.io]
  }

  /// EAGAIN from a call that locks a file means that another opening has the lock. A lock of a
  /// range reports that without an errno.
  private static func isLock(_ failure: InjectedFailure, _ error: StoreError) -> Bool {
    guard failure.code == .busy, let cause = error.cause, cause.operation == "lock" else { return false }
    return cause.errno == failure.errno || cause.errno == 0
  }

  /// The system's error is passed on.
  private func isCause(_ failure: InjectedFailure, of error: StoreError) -> Bool {
    if case .partialRead = failure.effect { return true }
    guard let cause = error.cause else { return false }
    return cause.errno == failure.errno || isVolumeFull && cause.code == .noSpace
  }
}

extension InjectedFailure {
  fileprivate var isLackOfRoom: Bool { code == .noSpace || code == .quotaExceeded }
}
