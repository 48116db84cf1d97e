internal import PerdureLog
internal import Synchronization

/// Allows reads of a store's views until the container closes its stores. The engine itself allows
/// reads of snapshots of a closed store.
final class ReadPermission: Sendable {
  private let isEnded = Atomic(false)
  private let path: String

  init(path: String) { self.path = path }

  func end() { isEnded.store(true, ordering: .relaxed) }

  /// - Throws: `PerdureError` with code 134060 and a `StoreError` with code `closed` as cause.
  @inline(__always)
  func check() throws {
    if isEnded.load(ordering: .relaxed) { throw PerdureError.closed(path) }
  }
}

extension PerdureError {
  /// Whether a read was refused because the container was closed.
  var isOfClosedStore: Bool { (cause as? StoreError)?.code == .closed }

  /// The error of reads after the container was closed.
  @inline(never)
  static func closed(_ path: String) -> PerdureError {
    var failure = PerdureError(
      .readFailed,
      "The store \(path) was closed. Load the stores again, and use a new context.")
    failure.cause = StoreError(.closed, "The store was closed; open it again", at: path)
    return failure
  }
}
