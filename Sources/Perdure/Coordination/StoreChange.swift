// What a save asks of a store: rows, links and places, with the conditions under which they hold.

package import PerdurePredicates

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
  /// The rows are written in its current layouts.
  package let schema: StoreSchema
  package private(set) var references: [ObjectReference] = []
  private var ends: [Int] = []
  private var bytes: [UInt8] = []

  /// How many rows are expected; 0 if nobody knows.
  private let expectedCount: Int
  /// So many say how long the others will be.
  private static let sampleCount = 64
  /// The most bytes that are taken for rows that have not come yet.
  private static let reservedMax = 64 << 20

  package init(_ schema: StoreSchema, expectedCount: Int = 0) {
    self.schema = schema
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

  /// - Parameter schema: That of the store, in whose layouts the rows are written.
  /// - Parameter expectedCount: How many rows will be written; 0 if nobody knows.
  package init(view: any StoreView, schema: StoreSchema, durability: Durability, expectedCount: Int = 0) {
    self.view = view
    self.durability = durability
    puts = WrittenRows(schema, expectedCount: expectedCount)
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
