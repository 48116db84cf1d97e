// Reading one state of a store (S1 to S6 in PersistentStore.swift).
//
// A `StateReader` is confined to the context that uses it. A `StoreView` is a reader that never
// changes and that any thread may use.

package import PerdurePredicates

/// Reads one state of a store, or of a store with unsaved changes over it.
///
/// A method that throws reports the error of a damaged, closed or unreachable store, or
/// `StoreViewExpired`. If a body throws, the method stops and throws the same error.
package protocol StateReader: AnyObject {
  /// How the rows of this state are decoded. Callers read it once for each request.
  ///
  /// Entities, slots and indexes have their numbers in the schema of the store
  /// (`PersistentStore.schema`), whatever model was stored in this state. The layouts are those of
  /// this state, and so is what rows read of properties that their layouts lack. Unsaved rows over
  /// this state are written in the current layouts, so these have every column of the store's
  /// schema. A row with the same version in two states has the same bytes and content.
  var schema: StoreSchema { get }

  // MARK: Required requests

  /// Passes the rows of many objects to `body`, in any order. `body` is called once for each
  /// element, with its position and its row; nil if there is none.
  func rows(_ references: [ObjectReference], _ body: (Int, StoredRow?) throws -> Void) throws

  /// The number of rows of one concrete entity.
  func rowCount(entity: UInt16) throws -> Int

  /// Passes the rows of one concrete entity to `body` in order of their ids, until it returns
  /// false.
  func visitRows(
    entity: UInt16, descending: Bool, _ body: (ObjectReference, StoredRow) throws -> Bool) throws

  /// The number of entries in a range of an index.
  func entryCount(_ index: StoreIndex, _ range: KeyRange) throws -> Int

  /// Passes the entries in a range of an index to `body` in order (S5), until it returns false. The
  /// key lacks the reference that a store may append to it. Its bytes are valid during the call.
  func visitEntries(
    _ index: StoreIndex, _ range: KeyRange, descending: Bool,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Bool) throws

  /// Appends the references at the other end of a relationship, owner by owner. `ends` gets, for
  /// each owner, the end of its references in `found`. Stops after the owner with which there are
  /// more than `request.countMax` references: the owners after it get no end.
  ///
  /// - Parameter rows: Receives rows of these references, in any order, if the store can pass them
  ///   with the same request: none, some or all.
  func appendReferences(
    _ request: RelationshipRequest, to found: inout [ObjectReference], ends: inout [Int],
    rows: (ObjectReference, StoredRow) throws -> Void) throws

  // MARK: Capabilities

  /// Whether the bytes of all rows stay valid as long as the reader. Default: false.
  var keepsRows: Bool { get }

  /// Whether a request takes about as long as a lookup in memory. A context asks other readers
  /// rarely, and for many objects at once. Default: false.
  var answersAtOnce: Bool { get }

  /// Checks that the container of the store has not been closed. O(1). Default: does nothing.
  func checkIsOpen() throws

  /// Passes one row to `body`, which is not called if there is none.
  func row(_ reference: ObjectReference, _ body: (StoredRow) throws -> Void) throws

  /// The version of a row; nil if there is none.
  func version(of reference: ObjectReference) throws -> RowVersion?

  /// Passes the versions of many rows to `body`, in any order. `body` is called once for each
  /// element, with its position and its version; nil if there is no row.
  func versions(
    of references: [ObjectReference], _ body: (Int, RowVersion?) throws -> Void) throws

  /// Passes the objects of one concrete entity to `body` in order of their ids, from an id on,
  /// until it returns false. A store that can reads no rows for it, so that damaged ones do not
  /// matter.
  func visitReferences(entity: UInt16, from first: UInt64, _ body: (ObjectReference) throws -> Bool) throws

  /// Appends the references at the other end of a relationship of one owner, in the order of S5.
  func appendReferences(
    under owner: ObjectReference, in index: StoreIndex, to found: inout [ObjectReference]) throws

  /// Passes the answers to several requests to `body`, in any order: the number of the request, an
  /// owner, and the references at the other end. A store that can answers with one request.
  /// Default: a request for each.
  func visitReferences(
    _ requests: [RelationshipRequest],
    _ body: (Int, ObjectReference, [ObjectReference]) throws -> Void) throws

  /// Appends, for each owner, the number of its entries in an index whose keys are bare references.
  /// Default: one request, as `entryCount` or `appendReferences`.
  func appendCounts(
    of owners: [ObjectReference], in index: StoreIndex, to counts: inout [Int]) throws

  /// Whether an index whose keys are bare references has an entry of an owner with a reference.
  func hasEntry(under owner: ObjectReference, _ reference: ObjectReference, in index: StoreIndex) throws
    -> Bool

  /// The order key of a member; nil if it has none.
  func orderKey(of member: ObjectReference, under owner: ObjectReference, in order: OrderIndexes) throws
    -> OrderKey?

  /// Passes to `body` the entry that has `position` others of a range before it, if there is one.
  func withEntry(
    at position: Int, of range: KeyRange, in index: StoreIndex,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Void) throws

  /// The sum that an index of sums keeps for an owner, empty if it has none. Default: nil, and the
  /// members are added up.
  func sum(_ index: StoreIndex, of owner: ObjectReference) throws -> StoredSum?

  /// Passes rows to `body` that are likely to be needed soon, with the positions of their
  /// references, in any order. A row that does not exist or takes more than about `bytesMax` is
  /// left out.
  func readAhead(
    _ references: UnsafeBufferPointer<ObjectReference>, bytesMax: Int,
    _ body: (Int, StoredRow) throws -> Void) throws

  /// Passes the objects of a fetch to `body` in order, until it returns false; with their rows if
  /// these are at hand or needed. With `needsRows`, an object without a row is left out. Default:
  /// the plan of FetchPlanner.
  func visit(
    _ fetch: CompiledFetch, needsRows: Bool, _ body: (ObjectReference, StoredRow?) throws -> Bool) throws

  /// The number of objects of a fetch. Default: as `visit`.
  func count(_ fetch: CompiledFetch) throws -> Int
}

/// One consistent state of a store (S1). Any thread may call any method.
package protocol StoreView: StateReader, Sendable {
  /// The sequence number of the newest commit in this view; grows from view to view.
  var sequence: UInt64 { get }

  /// Whether `sequence` grows by one with each commit and by nothing else, so that it tells whether
  /// a view is the state right after a commit. Default: true.
  var countsCommits: Bool { get }
}

extension StoreView {
  package var countsCommits: Bool { true }
}

/// The store no longer has the state of a view. A newer view can be read.
package struct StoreViewExpired: Error, CustomStringConvertible {
  package init() {}

  package var description: String {
    "The store no longer has the state of this view. Continue with a newer view."
  }
}
