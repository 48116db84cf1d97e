// Ending a fetch early. A fetch is synchronous; what can be awaited, and so cancelled, is `perform` of a background
// context. Its queue belongs to no task, so a flag carries the cancellation there, and fetches look at it now and then.

internal import Synchronization

/// Whether the task that waits for a background context was cancelled.
final class CancellationFlag: Sendable {
  private let value = Atomic(false)

  var isSet: Bool { value.load(ordering: .relaxed) }

  func set() { value.store(true, ordering: .relaxed) }
}

/// Where a running fetch asks whether to stop.
struct FetchCancellation {
  let flag: CancellationFlag?

  /// One object in so many is asked at.
  private static let interval: UInt64 = 256

  /// - Throws: `CancellationError` when the task was cancelled. Looks at one object in 256 only, by its id.
  @inline(__always)
  func check(at reference: UInt64) throws {
    if reference % Self.interval == 0 { try check() }
  }

  /// - Throws: `CancellationError` when the task was cancelled.
  @inline(never)
  func check() throws {
    if flag?.isSet == true { throw CancellationError() }
  }
}
