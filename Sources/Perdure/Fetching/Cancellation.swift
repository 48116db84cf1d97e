// Cancels fetches. A fetch is synchronous; only `perform` of a background context can be awaited
// and so cancelled. Its queue belongs to no task, so `perform` sets a flag, which fetches check
// from time to time.

internal import Synchronization

/// A flag that is set when the task that awaits `perform` is cancelled.
final class CancellationFlag: Sendable {
  private let value = Atomic(false)

  var isSet: Bool { value.load(ordering: .relaxed) }

  func set() { value.store(true, ordering: .relaxed) }
}

/// The cancellation check of a fetch.
struct FetchCancellation {
  let flag: CancellationFlag?

  /// The check reads the flag at objects whose reference is a multiple of this.
  private static let interval: UInt64 = 256

  /// Checks the flag if the reference is a multiple of 256.
  ///
  /// - Throws: `CancellationError` if the task was cancelled.
  @inline(__always)
  func check(at reference: UInt64) throws {
    if reference % Self.interval == 0 { try check() }
  }

  /// Checks the flag.
  ///
  /// - Throws: `CancellationError` if the task was cancelled.
  @inline(never)
  func check() throws {
    if flag?.isSet == true { throw CancellationError() }
  }
}
