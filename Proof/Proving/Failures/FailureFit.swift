import PerdureFileIO
package import PerdureLog
package import PerdureTestSupport

/// Checks whether a store may throw an error after the system failed a call (FR1).
package struct FailureFit {
  /// The failure of the calls; nil if no call has failed so far.
  private let failure: InjectedFailure?
  /// Whether a call failed during the operation that threw the error. True also if a call failed
  /// earlier in the background, and this operation reports the failure.
  private let hasStruck: Bool
  /// Whether the volume is full, so that any call may fail.
  private let isVolumeFull: Bool
  /// Whether the operation only opened or read the store. Such an operation must succeed on a
  /// poisoned store too (FR3).
  private let isReading: Bool

  package init(
    failure: InjectedFailure?, hasStruck: Bool, isVolumeFull: Bool = false, isReading: Bool = false
  ) {
    (self.failure, self.hasStruck, self.isVolumeFull) = (failure, hasStruck, isVolumeFull)
    self.isReading = isReading
  }

  /// Describes why the error does not fit; nil if it fits.
  package func misfit(of error: StoreError) -> String? {
    if isVolumeFull, error.code == .diskFull, error.cause?.code == .noSpace { return nil }
    guard let failure else { return "without a failure" }
    // A later check detects whether the store is poisoned (`FailureRun.noteState`).
    if error.code == .poisoned { return isReading ? "though it can be read" : nil }
    guard hasStruck else { return "though no call failed meanwhile" }
    if error.code == .locked { return Self.isLock(failure, error) ? nil : "though the lock was not refused" }
    guard Self.codes(failure).contains(error.code) else { return "with a code that does not fit \(failure)" }
    guard isCause(failure, of: error) else { return "with a cause that is not \(failure)" }
    return nil
  }

  /// Describes why the store should not have been poisoned. Returns nil if it may be poisoned,
  /// because the content of the log is unknown (FR6).
  ///
  /// - Parameter poison: The reason that the store reports.
  package func needless(_ poison: StoreError) -> String? {
    guard let cause = poison.cause else { return "without a cause" }
    if cause.operation.isSync { return nil }
    guard let failure else { return "without a failure" }
    // The store cannot check whether a commit or a superblock is complete, because the calls of
    // that check fail too.
    if failure.repeats || isVolumeFull { return nil }
    switch cause.operation {
    case .open, .create, .map, .reserve: return "though the system only refused a file or its space"
    case .write where failure.isLackOfSpace && failure.effect == .nothing:
      return "though the write without space wrote nothing"
    default: return nil
    }
  }

  /// The error codes that fit a failure. After a partial read, the file seems damaged, or the
  /// medium seems to have failed. If there is no space, the code is `.diskFull`, provided that
  /// nothing was written. If that is not certain, the error only reports the failed call.
  private static func codes(_ failure: InjectedFailure) -> Set<StoreError.Code> {
    if case .partialRead = failure.effect { return [.corruption, .io] }
    return failure.isLackOfSpace ? [.diskFull, .io] : [.io]
  }

  /// Whether the error reports a lock. If a call that locks a file fails with EAGAIN, another
  /// opening has the lock. A call that locks a range reports a lock without an errno.
  private static func isLock(_ failure: InjectedFailure, _ error: StoreError) -> Bool {
    guard failure.code == .busy, let cause = error.cause,
      [.lock, .tryLock].contains(cause.operation)
    else { return false }
    return cause.errno == failure.errno || cause.errno == 0
  }

  /// Whether the cause of the error is the system's error. After a partial read, any cause fits.
  private func isCause(_ failure: InjectedFailure, of error: StoreError) -> Bool {
    if case .partialRead = failure.effect { return true }
    guard let cause = error.cause else { return false }
    return cause.errno == failure.errno || isVolumeFull && cause.code == .noSpace
  }
}

extension InjectedFailure {
  fileprivate var isLackOfSpace: Bool { code == .noSpace || code == .quotaExceeded }
}
