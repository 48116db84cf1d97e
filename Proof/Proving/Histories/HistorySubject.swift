package import PerdureLog

/// What histories are run on: the store, with a place to break it at for tests of the histories
/// themselves.
package protocol HistorySubject: Sendable {
  /// The commit made in place of the requested one.
  func filter(_ changes: [HistoryChange]) -> [HistoryChange]
  func filter(_ preconditions: [Precondition]) -> [Precondition]
  /// The state read as the newest.
  func snapshot(of store: Store) -> Snapshot
  /// The state read in place of a held snapshot.
  func held(_ snapshot: Snapshot, of store: Store) -> Snapshot
  func compact(_ store: Store) throws
  /// The number of a commit, as the history knows it.
  func sequence(_ number: UInt64) -> UInt64
  /// The options of every opening.
  func adapt(_ options: inout StoreOptions)
  /// The stored form of an answer, to be compared with those under other options.
  func remembered(_ answer: UInt64, _ options: HistoryOptions) -> UInt64
  /// The extractor of the index over groups.
  var groupExtractor: String { get }
}

// As the store is.
extension HistorySubject {
  package func filter(_ changes: [HistoryChange]) -> [HistoryChange] { changes }
  package func filter(_ preconditions: [Precondition]) -> [Precondition] { preconditions }
  package func snapshot(of store: Store) -> Snapshot { store.snapshot() }
  package func held(_ snapshot: Snapshot, of store: Store) -> Snapshot { snapshot }
  package func compact(_ store: Store) throws { try store.compact() }
  package func sequence(_ number: UInt64) -> UInt64 { number }
  package func adapt(_ options: inout StoreOptions) {}
  package func remembered(_ answer: UInt64, _ options: HistoryOptions) -> UInt64 { answer }
  package var groupExtractor: String { SliceExtractor.name }
}

/// The store as it is.
package struct WholeStore: HistorySubject {
  package init() {}
}
