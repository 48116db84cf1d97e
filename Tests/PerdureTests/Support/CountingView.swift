// A view that counts reads of rows and index entries. Reads by `appendReferences`,
// `visitReferences` and `sum` are not counted.

import Perdure
import Synchronization

/// The numbers of rows and entries read through views, and of rows written by commits.
final class ReadCounts: Sendable {
  private let rowCount = Atomic<Int>(0)
  private let entryCount = Atomic<Int>(0)
  private let putCount = Atomic<Int>(0)

  var rows: Int { rowCount.load(ordering: .relaxed) }
  var entries: Int { entryCount.load(ordering: .relaxed) }
  var puts: Int { putCount.load(ordering: .relaxed) }

  func noteRow() { rowCount.wrappingAdd(1, ordering: .relaxed) }
  func noteEntry() { entryCount.wrappingAdd(1, ordering: .relaxed) }
  func notePuts(_ count: Int) { putCount.wrappingAdd(count, ordering: .relaxed) }
}

final class CountingView: StoreView {
  let view: any StoreView
  private let counts: ReadCounts

  init(_ view: any StoreView, _ counts: ReadCounts = ReadCounts()) {
    self.view = view
    self.counts = counts
  }

  var rowsRead: Int { counts.rows }
  var entriesRead: Int { counts.entries }

  private func countRow() { counts.noteRow() }

  func sum(_ index: StoreIndex, of owner: ObjectReference) throws -> StoredSum? {
    try view.sum(index, of: owner)
  }

  var schema: StoreSchema { view.schema }
  var sequence: UInt64 { view.sequence }

  var keepsRows: Bool { view.keepsRows }
  var answersAtOnce: Bool { view.answersAtOnce }
  var countsCommits: Bool { view.countsCommits }

  func row(_ reference: ObjectReference, _ body: (StoredRow) throws -> Void) throws {
    countRow()
    try view.row(reference, body)
  }

  func withEntry(
    at position: Int, of range: KeyRange, in index: StoreIndex,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Void
  ) throws {
    counts.noteEntry()
    try view.withEntry(at: position, of: range, in: index, body)
  }

  func version(of reference: ObjectReference) throws -> RowVersion? { try view.version(of: reference) }
  func rowCount(entity: UInt16) throws -> Int { try view.rowCount(entity: entity) }

  func visitRows(
    entity: UInt16, descending: Bool, _ body: (ObjectReference, StoredRow) throws -> Bool
  ) throws {
    try view.visitRows(entity: entity, descending: descending) {
      countRow()
      return try body($0, $1)
    }
  }

  func visitReferences(
    entity: UInt16, from first: UInt64, _ body: (ObjectReference) throws -> Bool
  ) throws {
    try view.visitReferences(entity: entity, from: first, body)
  }

  func rows(_ references: [ObjectReference], _ body: (Int, StoredRow?) throws -> Void) throws {
    try view.rows(references) {
      countRow()
      try body($0, $1)
    }
  }

  func entryCount(_ index: StoreIndex, _ range: KeyRange) throws -> Int {
    try view.entryCount(index, range)
  }

  func visitEntries(
    _ index: StoreIndex, _ range: KeyRange, descending: Bool,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Bool
  ) throws {
    try view.visitEntries(index, range, descending: descending) {
      counts.noteEntry()
      return try body($0, $1)
    }
  }

  func appendReferences(
    under owner: ObjectReference, in index: StoreIndex, to found: inout [ObjectReference]
  ) throws {
    try view.appendReferences(under: owner, in: index, to: &found)
  }

  func appendReferences(
    _ request: RelationshipRequest, to found: inout [ObjectReference], ends: inout [Int],
    rows: (ObjectReference, StoredRow) throws -> Void
  ) throws {
    try view.appendReferences(request, to: &found, ends: &ends, rows: rows)
  }

  func hasEntry(
    under owner: ObjectReference, _ reference: ObjectReference, in index: StoreIndex
  ) throws -> Bool {
    counts.noteEntry()
    return try view.hasEntry(under: owner, reference, in: index)
  }

  func readAhead(
    _ references: UnsafeBufferPointer<ObjectReference>, bytesMax: Int,
    _ body: (Int, StoredRow) throws -> Void
  ) throws {
    try view.readAhead(references, bytesMax: bytesMax) {
      countRow()
      try body($0, $1)
    }
  }
}

/// A store that counts the rows that contexts save. Its views count their reads (`CountingView`).
final class CountingStore: PersistentStore {
  private let store: any PersistentStore
  private let counts: ReadCounts

  init(_ store: any PersistentStore, _ counts: ReadCounts) {
    self.store = store
    self.counts = counts
  }

  var schema: StoreSchema { store.schema }
  var identifier: String { store.identifier }
  func view() -> any StoreView { CountingView(store.view(), counts) }
  func refresh() throws { try store.refresh() }
  func allocateIDs(entity: UInt16, count: Int) throws -> Range<UInt64> {
    try store.allocateIDs(entity: entity, count: count)
  }
  func close() throws { try store.close() }

  func commit(_ change: StoreChange) throws -> any StoreView {
    var change = change
    if let counting = change.view as? CountingView { change.view = counting.view }
    counts.notePuts(change.puts.references.count)
    return CountingView(try store.commit(change), counts)
  }
}
