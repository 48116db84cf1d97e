import PerdureLog

/// A second opening of the store for reading, while the writer works. It behaves like an opening in
/// another process.
struct CrashReader: Sendable {
  private let store: Store
  private let history: CrashHistory

  init(_ store: Store, _ history: CrashHistory) { (self.store, self.history) = (store, history) }

  /// Advances to the newest committed state, and checks it.
  func follow() throws {
    try store.refresh()
    let last = store.snapshot().sequence
    try history.states(upTo: last)[Int(last)].check(store, "that a reader sees after commit \(last)")
  }
}
