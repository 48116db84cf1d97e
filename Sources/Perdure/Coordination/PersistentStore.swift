// The seam between the object graph and whatever keeps its rows.
//
// Above it, everything is references, rows, index ranges and preconditions; below it, an engine may be
// anything that keeps these promises. No type of an engine appears here, so contexts and fetches are tested
// on a naive store in memory and run unchanged on the log.
//
// Promises of a store:
//   S1. A view is one consistent state. Taking one costs O(1), it never changes, and it keeps what it reads
//       alive.
//   S2. A commit is atomic: all of its puts, removals and links become visible together, or none does.
//   S3. Indexes are derived from rows and links by the store itself, in the same commit: every view finds its
//       indexes in agreement with its rows.
//   S4. Preconditions are judged in the commit's own turn against the newest state, not against
//       `change.view`.
//   S5. Entries of an index come in bytewise order of key, then by reference.

package import PerdurePredicates

/// The version of a row: changes whenever the row is written, also when it is written with equal bytes.
package struct RowVersion: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }
}

/// A row as it lies in the store. Borrowed: the bytes are valid while the view that gave it lives.
package struct StoredRow {
  package let bytes: UnsafeRawBufferPointer
  package let version: RowVersion

  package init(bytes: UnsafeRawBufferPointer, version: RowVersion) {
    self.bytes = bytes
    self.version = version
  }
}

/// One index (or link keyspace) of a store: its position in `StoreSchema.indexes`.
///
/// Positions hold for one schema in one process only. What is stored is the definition's name.
package struct StoreIndex: RawRepresentable, Hashable, Sendable {
  package let rawValue: Int

  package init(rawValue: Int) {
    self.rawValue = rawValue
  }
}

/// A consistent state of a store, to read from (S1).
///
/// All methods may be called from any thread. A method that throws gives a damaged or unreadable store's
/// error. Bytes given to a body are valid at least until the view is released.
package protocol StoreView: AnyObject, Sendable {
  /// The sequence number of the newest commit in this view; grows from view to view.
  var sequence: UInt64 { get }

  /// Checks that the container of the store has not been closed. Every other method that throws
  /// checks it too. O(1).
  func checkIsOpen() throws

  /// The row of an object, or nil when there is none. O(1).
  func row(_ reference: ObjectReference) throws -> StoredRow?

  /// The version of a row, or nil when there is none. O(1).
  func version(of reference: ObjectReference) throws -> RowVersion?

  /// The number of rows of one concrete entity. O(1).
  func rowCount(entity: UInt16) -> Int

  /// Hands out the rows of one concrete entity in order of their ids, until `body` returns false.
  func visitRows(
    entity: UInt16, descending: Bool, _ body: (ObjectReference, StoredRow) throws -> Bool) throws

  /// Hands out the objects of one concrete entity in order of their ids, from an id on, until `body` returns
  /// false. Reads no row, so a damaged one is not in the way.
  func visitReferences(entity: UInt16, from first: UInt64, _ body: (ObjectReference) throws -> Bool) throws

  /// Hands out the rows of many objects, in whatever order is fastest. `body` is called once for each
  /// element, with its position and its row, nil when there is none.
  func rows(_ references: [ObjectReference], _ body: (Int, StoredRow?) throws -> Void) throws

  /// The number of entries in a range of an index. O(log n).
  func entryCount(_ index: StoreIndex, _ range: KeyRange) throws -> Int

  /// Hands out the entries in a range of an index in order (S5) until `body` returns false. The key comes
  /// without the reference that a store may append to it.
  func visitEntries(
    _ index: StoreIndex, _ range: KeyRange, descending: Bool,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Bool) throws

  /// The sum that an index of sums keeps for an owner, empty where it has none; nil from a view that keeps none, so that
  /// the members are added up. O(log n).
  func sum(_ index: StoreIndex, of owner: ObjectReference) throws -> StoredSum?

  /// The order key that a member has, or nil when it has none. O(log n).
  func orderKey(of member: ObjectReference, under owner: ObjectReference, in order: OrderIndexes) throws
    -> OrderKey?

  /// Hands out the entry with so many others of a range in front of it, if there is one. O(log n).
  func withEntry(
    at position: Int, of range: KeyRange, in index: StoreIndex,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Void) throws

  /// Appends, in order, the references of the entries whose key is a bare reference: what is at the other end
  /// of an owner's relationship. O(log n), then O(1) an entry.
  func appendReferences(
    under owner: ObjectReference, in index: StoreIndex, to found: inout [ObjectReference]) throws

  /// As `appendReferences(under:in:to:)`, of many owners in one request: what one owner has stands behind what the one
  /// before has, and `ends` says for each where that ends. Stops behind the owner whose references make more than
  /// `countMax` of them: the owners after it have no end.
  func appendReferences(
    underEach owners: [ObjectReference], in index: StoreIndex, countMax: Int,
    to found: inout [ObjectReference], ends: inout [Int]) throws

  /// Whether an index whose keys are bare references has an entry of an owner with a reference. O(log n).
  func hasEntry(under owner: ObjectReference, _ reference: ObjectReference, in index: StoreIndex) throws
    -> Bool

  /// Hands out rows that are likely to be wanted soon, as many as are cheap to read together: a row that is
  /// not there or takes more than about `bytesMax` is passed over. In whatever order is fastest; `body` gets
  /// the position of a reference and its row.
  func readAhead(
    _ references: UnsafeBufferPointer<ObjectReference>, bytesMax: Int,
    _ body: (Int, StoredRow) throws -> Void) throws
}

extension StoreView {
  package func appendReferences(
    underEach owners: [ObjectReference], in index: StoreIndex, countMax: Int,
    to found: inout [ObjectReference], ends: inout [Int]
  ) throws {
    for owner in owners {
      try appendReferences(under: owner, in: index, to: &found)
      ends.append(found.count)
      if found.count > countMax { return }
    }
  }

  package func sum(_ index: StoreIndex, of owner: ObjectReference) throws -> StoredSum? { nil }

  package func checkIsOpen() throws {}
}

/// What must still hold when a commit is applied (S4).
package enum Precondition: Hashable, Sendable {
  /// The row exists and has this version.
  case rowUnchanged(ObjectReference, RowVersion)
  /// The row exists, in whatever version.
  case rowExists(ObjectReference)
  /// There is no such row.
  case rowAbsent(ObjectReference)
  /// No entry was added to or removed from this range of an index since the change's view.
  case rangeUnchanged(StoreIndex, KeyRange)
}

/// One link of a many-to-many relationship, in the direction in which the store keeps it.
package struct StoreLink: Hashable, Sendable {
  /// The link keyspace: an index of kind `.links`.
  package let index: StoreIndex
  package let source: ObjectReference
  package let target: ObjectReference

  package init(index: StoreIndex, source: ObjectReference, target: ObjectReference) {
    self.index = index
    self.source = source
    self.target = target
  }
}

/// Rows and whose they are, one after the other in one buffer.
package struct WrittenRows: Sendable {
  package private(set) var references: [ObjectReference] = []
  private var ends: [Int] = []
  private var bytes: [UInt8] = []

  /// How many rows are expected; 0 if nobody knows.
  private let expectedCount: Int
  /// So many say how long the others will be.
  private static let sampleCount = 64
  /// The most bytes that are taken for rows that have not come yet.
  private static let reservedMax = 64 << 20

  package init(expectedCount: Int = 0) {
    self.expectedCount = expectedCount
    guard expectedCount > Self.sampleCount else { return }
    references.reserveCapacity(expectedCount)
    ends.reserveCapacity(expectedCount)
  }

  package var isEmpty: Bool { references.isEmpty }

  /// Takes memory for all rows, if they are like the first ones: in steps, all of it would be copied and be touched anew.
  @inline(never)
  private mutating func reserveForAll() {
    let needed = (bytes.count / Self.sampleCount).multipliedReportingOverflow(by: expectedCount)
    bytes.reserveCapacity(needed.overflow ? Self.reservedMax : min(needed.partialValue, Self.reservedMax))
  }

  /// Adds a row, which the closure appends to the buffer that it is given.
  @inline(__always)
  package mutating func append(_ reference: ObjectReference, _ write: (inout [UInt8]) -> Void) {
    write(&bytes)
    references.append(reference)
    ends.append(bytes.count)
    if ends.count == Self.sampleCount, expectedCount > Self.sampleCount { reserveForAll() }
  }

  /// Adds a row.
  package mutating func append(_ reference: ObjectReference, _ row: [UInt8]) {
    append(reference) { $0.append(contentsOf: row) }
  }

  /// Hands the rows out in the order in which they were added.
  package func forEach(_ body: (ObjectReference, UnsafeRawBufferPointer) throws -> Void) rethrows {
    try bytes.withUnsafeBytes { bytes in
      var start = 0
      for (reference, end) in zip(references, ends) {
        try body(reference, UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
        start = end
      }
    }
  }
}

/// A change to apply as one commit.
///
/// A reference occurs at most once among puts and removals. Adding a link that is there, and removing one
/// that is not, change nothing. Links of a removed row are not removed by themselves.
package struct StoreChange: Sendable {
  /// The state that the change was computed from.
  package var view: any StoreView
  /// Rows to write, whole, new or replaced.
  package var puts: WrittenRows
  /// Rows to remove.
  package var removals: [ObjectReference] = []
  package var linksAdded: [StoreLink] = []
  package var linksRemoved: [StoreLink] = []
  /// The places that members of ordered relationships get; a link of the same index that is removed takes one away.
  package var places: [StorePlace] = []
  package var preconditions: [Precondition] = []
  package var durability: Durability

  /// - Parameter expectedCount: How many rows will be written; 0 if nobody knows.
  package init(view: any StoreView, durability: Durability, expectedCount: Int = 0) {
    self.view = view
    self.durability = durability
    puts = WrittenRows(expectedCount: expectedCount)
  }
}

/// Why a commit was refused. Nothing was written; the caller may take a new view and try again.
package struct StoreConflict: Error {
  /// The preconditions that no longer hold.
  package var failed: [Precondition]
  /// Keys of unique indexes that two rows would have shared.
  package var duplicates: [DuplicateKey]

  /// Two rows with one key in a unique index.
  package struct DuplicateKey: Hashable, Sendable {
    package let index: StoreIndex
    package let key: [UInt8]
    /// The row that has the key: in the store, or earlier in the same change.
    package let existing: ObjectReference
    /// The row of the change that would have had it too.
    package let rejected: ObjectReference

    package init(
      index: StoreIndex, key: [UInt8], existing: ObjectReference, rejected: ObjectReference
    ) {
      self.index = index
      self.key = key
      self.existing = existing
      self.rejected = rejected
    }
  }

  package init(failed: [Precondition] = [], duplicates: [DuplicateKey] = []) {
    self.failed = failed
    self.duplicates = duplicates
  }
}

/// A commit failed in the midst of writing or syncing: whether it happened shows when the store is opened again.
package struct UnsettledCommit: Error {
  /// The store's own error.
  package let cause: any Error

  package init(cause: any Error) { self.cause = cause }
}

/// A place where the rows of an object graph are kept. Any thread may call any method.
package protocol PersistentStore: AnyObject, Sendable {
  /// The indexes that the store maintains, and what feeds them.
  var schema: StoreSchema { get }

  /// Names the store for ever; part of the URI form of object ids.
  var identifier: String { get }

  /// The newest state, of a store that only reads the one that it was opened on or last refreshed to. O(1).
  func view() -> any StoreView

  /// Goes on to what another process has committed since, in a store that only reads; elsewhere, and when the
  /// store is closed, nothing happens.
  ///
  /// - Throws: the store's error when the newest state cannot be read or has another model. The views that are
  ///   taken then are those that were taken before.
  /// - Complexity: a look at a few files when nothing has been committed, otherwise as opening the store.
  func refresh() throws

  /// Applies a change atomically (S2) and returns a view at or after it.
  ///
  /// - Throws: `StoreConflict` when a precondition failed or a unique key is taken, the store's own error when it
  ///   cannot write: nothing of the change is visible, now or later. `UnsettledCommit` when a write or a sync has failed
  ///   and the change may be there, now or later.
  func commit(_ change: StoreChange) throws -> any StoreView

  /// Judges a change as `commit` would now, and makes none of it. What is judged well may still be refused, by a
  /// medium without room or because somebody else commits in between.
  ///
  /// - Throws: as `commit`.
  func check(_ change: StoreChange) throws

  /// Reserves ids for new rows of one concrete entity. Ids start at 1 and are never handed out twice, also
  /// not after a crash.
  func allocateIDs(entity: UInt16, count: Int) throws -> Range<UInt64>

  /// Makes all views throw, those taken earlier too. Called before the container closes the store.
  func endReading()

  /// Ends the use of the store. Views taken earlier stay readable, unless `endReading()` was called.
  func close() throws
}

extension PersistentStore {
  package func refresh() throws {}
  package func endReading() {}
  package func check(_ change: StoreChange) throws {}
}
