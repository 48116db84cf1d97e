// A store whose parts can be temporarily unreadable, like an index file with a damaged node.

import Perdure
import PerdureModel
import PerdurePredicates
import Synchronization

/// Forwards all calls to another store, except those set to fail.
final class UnreadableStore: PersistentStore {
  /// The parts that can be made unreadable.
  enum Part: Hashable, Sendable {
    /// Whether a row exists, and its version.
    case versions
    /// The bytes of a row, with its version.
    case rows
    /// Indexes and links.
    case entries
    /// The later commits that a read-only store finds at a refresh.
    case newest
  }

  struct Failure: Error {}

  /// The unreadable parts. A store and its views share them.
  final class Switch: Sendable {
    private let state = Mutex<(parts: Set<Part>, readsLeft: Int, isPassing: Bool)>(([], 0, false))

    /// - Parameters:
    ///   - reads: The number of reads of these parts that succeed before the first failure.
    ///   - isPassing: Whether only one read fails. Otherwise all later ones fail too.
    func set(_ unreadable: Set<Part>, after reads: Int = 0, isPassing: Bool = false) {
      state.withLock { $0 = (unreadable, reads, isPassing) }
    }

    /// Whether a read has failed since the last call of `set`.
    var hasFailed: Bool { state.withLock { $0.readsLeft < 0 } }

    func check(_ part: Part) throws {
      let isReadable = state.withLock { state in
        guard state.parts.contains(part) else { return true }
        state.readsLeft -= 1
        return state.isPassing ? state.readsLeft != -1 : state.readsLeft >= 0
      }
      if !isReadable { throw Failure() }
    }
  }

  private let inner: any PersistentStore
  let failing = Switch()

  init(_ inner: any PersistentStore) { self.inner = inner }

  var schema: StoreSchema { inner.schema }
  var identifier: String { inner.identifier }

  func view() -> any StoreView { UnreadableView(inner.view(), failing) }

  func refresh() throws {
    try failing.check(.newest)
    try inner.refresh()
  }

  func commit(_ change: StoreChange) throws -> any StoreView {
    var change = change
    if let view = change.view as? UnreadableView { change.view = view.inner }
    return UnreadableView(try inner.commit(change), failing)
  }

  func allocateIDs(entity: UInt16, count: Int) throws -> Range<UInt64> {
    try inner.allocateIDs(entity: entity, count: count)
  }

  func close() throws { try inner.close() }

  /// Returns a container with the model of `Staff` on an unreadable store.
  static func container(isReadOnly: Bool = false) throws -> (PersistentContainer, Switch) {
    try container(
      of: try Staff.container().managedObjectModel, classes: Staff.classes, isReadOnly: isReadOnly)
  }

  /// Returns a container of classes on an unreadable store.
  static func container(classes: [ManagedObject.Type]) throws -> (PersistentContainer, Switch) {
    let described = try PersistentContainer(name: "Classes", classes: classes, description: .inMemory)
    return try container(of: described.managedObjectModel, classes: classes, isReadOnly: false)
  }

  private static func container(
    of model: ManagedObjectModel, classes: [ManagedObject.Type], isReadOnly: Bool
  ) throws -> (PersistentContainer, Switch) {
    let store = UnreadableStore(try StoreKind.current.factory.open(.inMemory, model))
    var description = PersistentStoreDescription.inMemory
    description.isReadOnly = isReadOnly
    let container = PersistentContainer(
      name: "Unreadable", model: model, classes: classes, description: description,
      factory: StoreFactory { _, _ in store })
    try container.loadPersistentStores()
    return (container, store.failing)
  }
}

/// A view of an unreadable store.
final class UnreadableView: StoreView {
  let inner: any StoreView
  private let failing: UnreadableStore.Switch

  init(_ inner: any StoreView, _ failing: UnreadableStore.Switch) {
    self.inner = inner
    self.failing = failing
  }

  var schema: StoreSchema { inner.schema }
  var sequence: UInt64 { inner.sequence }
  var keepsRows: Bool { inner.keepsRows }
  var answersAtOnce: Bool { inner.answersAtOnce }
  var countsCommits: Bool { inner.countsCommits }
  func rowCount(entity: UInt16) throws -> Int { try inner.rowCount(entity: entity) }

  func row(_ reference: ObjectReference, _ body: (StoredRow) throws -> Void) throws {
    try failing.check(.rows)
    try inner.row(reference, body)
  }

  func version(of reference: ObjectReference) throws -> RowVersion? {
    try failing.check(.versions)
    return try inner.version(of: reference)
  }

  func visitRows(
    entity: UInt16, descending: Bool, _ body: (ObjectReference, StoredRow) throws -> Bool
  ) throws {
    try inner.visitRows(entity: entity, descending: descending) { reference, row in
      try failing.check(.rows)
      return try body(reference, row)
    }
  }

  func visitReferences(
    entity: UInt16, from first: UInt64, _ body: (ObjectReference) throws -> Bool
  ) throws {
    try failing.check(.versions)
    try inner.visitReferences(entity: entity, from: first, body)
  }

  func rows(_ references: [ObjectReference], _ body: (Int, StoredRow?) throws -> Void) throws {
    try failing.check(.rows)
    try inner.rows(references, body)
  }

  func entryCount(_ index: StoreIndex, _ range: KeyRange) throws -> Int {
    try failing.check(.entries)
    return try inner.entryCount(index, range)
  }

  func visitEntries(
    _ index: StoreIndex, _ range: KeyRange, descending: Bool,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Bool
  ) throws {
    try failing.check(.entries)
    try inner.visitEntries(index, range, descending: descending) { key, reference in
      try failing.check(.entries)
      return try body(key, reference)
    }
  }

  func appendReferences(
    under owner: ObjectReference, in index: StoreIndex, to found: inout [ObjectReference]
  ) throws {
    try failing.check(.entries)
    try inner.appendReferences(under: owner, in: index, to: &found)
  }

  func appendReferences(
    _ request: RelationshipRequest, to found: inout [ObjectReference], ends: inout [Int],
    rows: (ObjectReference, StoredRow) throws -> Void
  ) throws {
    try failing.check(.entries)
    try inner.appendReferences(request, to: &found, ends: &ends, rows: rows)
  }

  func hasEntry(
    under owner: ObjectReference, _ reference: ObjectReference, in index: StoreIndex
  ) throws -> Bool {
    try failing.check(.entries)
    return try inner.hasEntry(under: owner, reference, in: index)
  }

  func readAhead(
    _ references: UnsafeBufferPointer<ObjectReference>, bytesMax: Int,
    _ body: (Int, StoredRow) throws -> Void
  ) throws {
    try failing.check(.rows)
    try inner.readAhead(references, bytesMax: bytesMax, body)
  }
}
