// Replaces a store in a container after the store was closed. If a task requests a context while
// another task closes the container, the reads and saves of this context throw.

internal import PerdurePredicates

final class ClosedStore: PersistentStore {
  let schema: StoreSchema
  let identifier: String
  private let sequence: UInt64

  /// Copies the schema, the identifier and the sequence number of a store. Does not retain the
  /// store.
  init(_ store: any PersistentStore) {
    schema = store.schema
    identifier = store.identifier
    sequence = store.view().sequence
  }

  private var error: PerdureError { .closed(identifier) }

  func view() -> any StoreView { ClosedView(schema, sequence: sequence, error) }
  func commit(_ change: StoreChange) throws -> any StoreView { throw error }
  func check(_ change: StoreChange) throws { throw error }
  func allocateIDs(entity: UInt16, count: Int) throws -> Range<UInt64> { throw error }
  func close() throws {}
}

private final class ClosedView: StoreView {
  let schema: StoreSchema
  let sequence: UInt64
  private let error: PerdureError

  init(_ schema: StoreSchema, sequence: UInt64, _ error: PerdureError) {
    self.schema = schema
    self.sequence = sequence
    self.error = error
  }

  func checkIsOpen() throws { throw error }
  func row(_ reference: ObjectReference, _ body: (StoredRow) throws -> Void) throws { throw error }
  func version(of reference: ObjectReference) throws -> RowVersion? { throw error }
  func rowCount(entity: UInt16) throws -> Int { throw error }

  func visitRows(
    entity: UInt16, descending: Bool, _ body: (ObjectReference, StoredRow) throws -> Bool
  ) throws { throw error }

  func visitReferences(
    entity: UInt16, from first: UInt64, _ body: (ObjectReference) throws -> Bool
  ) throws { throw error }

  func rows(_ references: [ObjectReference], _ body: (Int, StoredRow?) throws -> Void) throws { throw error }
  func entryCount(_ index: StoreIndex, _ range: KeyRange) throws -> Int { throw error }

  func visitEntries(
    _ index: StoreIndex, _ range: KeyRange, descending: Bool,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Bool
  ) throws { throw error }

  func sum(_ index: StoreIndex, of owner: ObjectReference) throws -> StoredSum? { throw error }

  func orderKey(
    of member: ObjectReference, under owner: ObjectReference, in order: OrderIndexes
  ) throws -> OrderKey? { throw error }

  func withEntry(
    at position: Int, of range: KeyRange, in index: StoreIndex,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Void
  ) throws { throw error }

  func appendReferences(
    under owner: ObjectReference, in index: StoreIndex, to found: inout [ObjectReference]
  ) throws { throw error }

  func appendReferences(
    _ request: RelationshipRequest, to found: inout [ObjectReference], ends: inout [Int],
    rows: (ObjectReference, StoredRow) throws -> Void
  ) throws { throw error }

  func hasEntry(
    under owner: ObjectReference, _ reference: ObjectReference, in index: StoreIndex
  ) throws -> Bool { throw error }

  func readAhead(
    _ references: UnsafeBufferPointer<ObjectReference>, bytesMax: Int,
    _ body: (Int, StoredRow) throws -> Void
  ) throws { throw error }
}
