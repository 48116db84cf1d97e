// The content of a save for a store: rows, links and order keys, and their preconditions.

package import PerdurePredicates

/// A condition that must be true when a commit is applied (PS4).
package enum Precondition: Hashable, Sendable {
  /// The row exists and has this version.
  case rowUnchanged(ObjectReference, RowVersion)
  /// The row exists, in any version.
  case rowExists(ObjectReference)
  /// The row does not exist.
  case rowAbsent(ObjectReference)
  /// No entry was added to or removed from this range of an index since the change's view.
  case rangeUnchanged(StoreIndex, KeyRange)
}

/// One link of a many-to-many relationship, or of a to-many relationship without an inverse, in the
/// direction in which the store stores it. Also names the order key of a member (`.orders`): the
/// source is the owner, the target is the member.
package struct StoreLink: Hashable, Sendable {
  /// The keyspace: an index of kind `.links` or `.orders`.
  package let index: StoreIndex
  package let source: ObjectReference
  package let target: ObjectReference

  package init(index: StoreIndex, source: ObjectReference, target: ObjectReference) {
    self.index = index
    self.source = source
    self.target = target
  }
}

/// Written rows and their references. The rows are in one buffer.
package struct WrittenRows: Sendable {
  /// The schema in whose current layouts the rows are written.
  package let schema: StoreSchema
  package private(set) var references: [ObjectReference] = []
  private var ends: [Int] = []
  private var bytes: [UInt8] = []

  /// The expected number of rows; 0 if unknown.
  private let expectedCount: Int
  /// The number of rows from which the length of the others is estimated.
  private static let sampleCount = 64
  /// The maximum capacity that is reserved in advance, in bytes.
  private static let reservedMax = 64 << 20

  package init(_ schema: StoreSchema, expectedCount: Int = 0) {
    self.schema = schema
    self.expectedCount = expectedCount
    guard expectedCount > Self.sampleCount else { return }
    references.reserveCapacity(expectedCount)
    ends.reserveCapacity(expectedCount)
  }

  package var isEmpty: Bool { references.isEmpty }

  /// Reserves memory for all rows, assuming that their average length is that of the first rows.
  /// Growth in steps copies the rows several times.
  @inline(never)
  private mutating func reserveForAll() {
    let needed = (bytes.count / Self.sampleCount).multipliedReportingOverflow(by: expectedCount)
    bytes.reserveCapacity(needed.overflow ? Self.reservedMax : min(needed.partialValue, Self.reservedMax))
  }

  /// Adds a row. The closure must append it to the buffer.
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

  /// Calls `body` with each row, in the order in which they were added.
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
/// A reference occurs at most once among puts and removals. Adding an existing link or removing an
/// absent link changes nothing. Removing a row does not remove its links.
package struct StoreChange: Sendable {
  /// The state that the change was computed from.
  package var view: any StoreView
  /// New and replaced rows, each complete.
  package var puts: WrittenRows
  /// Rows to remove.
  package var removals: [ObjectReference] = []
  package var linksAdded: [StoreLink] = []
  package var linksRemoved: [StoreLink] = []
  /// The new order keys of members of ordered relationships. To remove an order key, `linksRemoved`
  /// contains a link of the kind `.orders`.
  package var places: [StoreOrderKey] = []
  package var preconditions: [Precondition] = []
  package var durability: Durability

  /// - Parameter schema: The schema of the store, in whose layouts the rows are written.
  /// - Parameter expectedCount: The expected number of rows; 0 if unknown.
  package init(view: any StoreView, schema: StoreSchema, durability: Durability, expectedCount: Int = 0) {
    self.view = view
    self.durability = durability
    puts = WrittenRows(schema, expectedCount: expectedCount)
  }
}

/// The reasons why a commit was rejected. Nothing was written. The caller may retry with a new
/// view.
package struct StoreConflict: Error {
  /// The preconditions that no longer hold.
  package var failed: [Precondition]
  /// Keys of unique indexes that two rows have if the change is applied.
  package var duplicates: [DuplicateKey]

  /// Two rows with one key in a unique index.
  package struct DuplicateKey: Hashable, Sendable {
    package let index: StoreIndex
    package let key: [UInt8]
    /// The row that has the key: in the store, or earlier in the same change.
    package let existing: ObjectReference
    /// The row of the change with the same key.
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

/// A commit failed while writing or syncing. The next opening of the store determines whether the
/// change was committed.
package struct UncertainCommit: Error {
  /// The store's own error.
  package let cause: any Error

  package init(cause: any Error) { self.cause = cause }
}
