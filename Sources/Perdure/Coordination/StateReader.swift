// Reading one state of a store (PS1 to PS6 in PersistentStore.swift).
//
// A `StateReader` is confined to the context that uses it. A `StoreView` is a reader that never
// changes and that any thread may use.

package import PerdurePredicates

/// Reads one state of a store, or of a store with unsaved changes over it.
///
/// Methods throw the error of a damaged, closed or unreachable store, or `StoreViewExpired`. If a
/// body throws, the method stops and throws the same error.
package protocol StateReader: AnyObject {
  /// The schema with which the rows of this state are decoded. Callers read it once for each
  /// request.
  ///
  /// Entities, slots and indexes have the numbers of the store's schema (`PersistentStore.schema`),
  /// independent of the model of this state. The layouts, and the stand-ins for properties that
  /// they lack, are those of this state. Unsaved rows over this state are written in the current
  /// layouts of this schema, so its current layouts have every column of the store's schema. A row
  /// with the same version in two states has the same bytes and content.
  var schema: StoreSchema { get }

  // MARK: Required requests

  /// Passes the rows of many objects to `body`, in any order. `body` is called once for each
  /// element, with its position and its row; nil if there is none.
  func rows(_ references: [ObjectReference], _ body: (Int, StoredRow?) throws -> Void) throws

  /// The number of rows of one concrete entity.
  func rowCount(entity: UInt16) throws -> Int

  /// Passes the rows of one concrete entity to `body` in order of their ids, until `body` returns
  /// false.
  func visitRows(
    entity: UInt16, descending: Bool, _ body: (ObjectReference, StoredRow) throws -> Bool) throws

  /// The number of entries in a range of an index.
  func entryCount(_ index: StoreIndex, _ range: KeyRange) throws -> Int

  /// Passes the entries in a range of an index to `body` in order (PS5), until `body` returns
  /// false. The passed key does not contain the reference that a store may append to its keys. The
  /// bytes of the key are valid during the call.
  func visitEntries(
    _ index: StoreIndex, _ range: KeyRange, descending: Bool,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Bool) throws

  /// Appends the references at the other end of a relationship, owner by owner. For each owner,
  /// `ends` gets the end of its references in `found`. Stops if the number of references exceeds
  /// `request.countMax` after an owner. Later owners get no element in `ends`.
  ///
  /// - Parameter rows: Receives the rows of none, some or all of these references, in any order, if
  ///   the store can return them with the same request.
  func appendReferences(
    _ request: RelationshipRequest, to found: inout [ObjectReference], ends: inout [Int],
    rows: (ObjectReference, StoredRow) throws -> Void) throws

  // MARK: Capabilities

  /// Whether the bytes of all rows stay valid as long as the reader. Default: false.
  var keepsRows: Bool { get }

  /// Whether a request takes about as long as a lookup in memory. If not, a context sends few
  /// requests, each for many objects. Default: false.
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

  /// Passes the objects of one concrete entity to `body` in order of their ids, beginning with an
  /// id, until `body` returns false. If possible, a store reads no rows for this, so that damaged
  /// rows cause no error.
  func visitReferences(entity: UInt16, from first: UInt64, _ body: (ObjectReference) throws -> Bool) throws

  /// Appends the references at the other end of a relationship of one owner, in the order of PS5.
  func appendReferences(
    under owner: ObjectReference, in index: StoreIndex, to found: inout [ObjectReference]) throws

  /// Passes the results of several requests to `body`, in any order: the position of the request,
  /// an owner, and the references at the other end. A store may combine the requests into one.
  /// Default: one request for each.
  func visitReferences(
    _ requests: [RelationshipRequest],
    _ body: (Int, ObjectReference, [ObjectReference]) throws -> Void) throws

  /// Appends, for each owner, the number of its entries in an index whose keys are bare references:
  /// references without a mark for null. Default: `entryCount` for each owner if `answersAtOnce` or
  /// if there is one owner, otherwise one `appendReferences`.
  func appendCounts(
    of owners: [ObjectReference], in index: StoreIndex, to counts: inout [Int]) throws

  /// Whether an index whose keys are bare references has an entry for an owner and a reference.
  func hasEntry(under owner: ObjectReference, _ reference: ObjectReference, in index: StoreIndex) throws
    -> Bool

  /// The order key of a member; nil if it has none.
  func orderKey(of member: ObjectReference, under owner: ObjectReference, in order: OrderIndexes) throws
    -> OrderKey?

  /// Passes the entry at a position in a range of a derived index to `body`, if there is one.
  /// Positions begin at 0. `index` must not be a keyspace of links or of order keys.
  func withEntry(
    at position: Int, of range: KeyRange, in index: StoreIndex,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Void) throws

  /// The sum of an owner in an index of sums; empty if the owner has no entry. Nil if the reader
  /// has no such sum: the caller then adds up the members. Default: nil.
  func sum(_ index: StoreIndex, of owner: ObjectReference) throws -> StoredSum?

  /// Passes rows that will probably be needed soon to `body`, with the positions of their
  /// references, in any order. Skips rows that do not exist or have more than about `bytesMax`
  /// bytes.
  func readAhead(
    _ references: UnsafeBufferPointer<ObjectReference>, bytesMax: Int,
    _ body: (Int, StoredRow) throws -> Void) throws

  /// Passes the objects of a fetch to `body` in order, until `body` returns false. Rows are passed
  /// if they are available or needed. With `needsRows`, objects without a row are skipped. Default:
  /// reads one index range if it gives the whole result; otherwise runs the plans of FetchPlanner.
  func visit(
    _ fetch: CompiledFetch, needsRows: Bool, _ body: (ObjectReference, StoredRow?) throws -> Bool) throws

  /// The number of objects of a fetch. Default: as `visit`.
  func count(_ fetch: CompiledFetch) throws -> Int
}

/// One consistent state of a store (PS1). Any thread may call any method.
package protocol StoreView: StateReader, Sendable {
  /// The number of this state. In a view of one store without unsaved changes, it is the sequence
  /// number of the newest commit. The number of a newer view is equal or greater.
  var sequence: UInt64 { get }

  /// Whether `sequence` increases by one with each commit, and only then. If true, `sequence` shows
  /// whether a view is the state directly after a commit. Default: true.
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
