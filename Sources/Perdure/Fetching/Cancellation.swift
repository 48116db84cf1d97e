// Cancels fetches. A fetch is synchronous; only `perform` of a background context can be awaited,
// and therefore cancelled. The cancellation handler of `perform` sets a flag, so the check at each
// object is one load.

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

  /// Reads the flag, if there is one. A fetch calls this for each object, so it must cost only one
  /// load.
  ///
  /// - Throws: `CancellationError` if the task was cancelled.
  @inline(__always)
  func check() throws {
    if let flag, flag.isSet { throw CancellationError() }
  }
}
