package import PerdureLog

/// The store on which histories run. Tests of the histories replace single operations with wrong
/// ones.
package protocol HistorySubject: Sendable {
  /// Returns the changes to commit in place of the given changes.
  func filter(_ changes: [HistoryChange]) -> [HistoryChange]
  func filter(_ preconditions: [Precondition]) -> [Precondition]
  /// The snapshot to read as the newest state.
  func snapshot(of store: Store) -> Snapshot
  /// The snapshot to read in place of a held one.
  func held(_ snapshot: Snapshot, of store: Store) -> Snapshot
  func compact(_ store: Store) throws
  /// Returns the sequence number that the history gets in place of the store's number.
  func sequence(_ number: UInt64) -> UInt64
  /// Adapts the options of every opening.
  func adapt(_ options: inout StoreOptions)
  /// Returns the number that the digest contains for an answer. The digests of runs with different
  /// options are compared.
  func remembered(_ answer: UInt64, _ options: HistoryOptions) -> UInt64
  /// The extractor of the index over groups.
  var groupExtractor: String { get }
}

// The correct behavior of each operation.
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

/// The store without wrong operations.
package struct WholeStore: HistorySubject {
  package init() {}
}
