// The seam between the object graph and what keeps its rows.
//
// Above the seam, everything is references, rows, index ranges and preconditions. Below it, any
// engine that keeps these promises will do, a server at the end of a network included. No type of
// an engine occurs above the seam, and nothing above it asks which store it reads.
//
// A store answers few required requests (`StateReader` and `PersistentStore` list them first). What
// else it can do better than by these requests are its capabilities: each has a default that uses
// the required requests, so a store without capabilities is slower and gives the same answers.
//
// Promises of a store:
//   S1. A view is one consistent state that never changes. A store may give up old states: then
//       their views throw `StoreViewExpired`.
//   S2. A commit is atomic: its rows, removals and links become visible together, or none does.
//   S3. The store derives indexes from rows and links, in the same commit: in every view, indexes
//       agree with rows.
//   S4. A commit is judged by its preconditions against the newest state, not against
//       `change.view`.
//   S5. Entries of an index are ordered bytewise by key, then by reference.
//   S6. A request that fails changes nothing, and may be repeated.

/// One index (or link keyspace) of a store: its position in `StoreSchema.indexes`.
///
/// Positions are valid for one schema in one process. The name of the definition is stored.
package struct StoreIndex: RawRepresentable, Hashable, Sendable {
  package let rawValue: Int

  package init(rawValue: Int) {
    self.rawValue = rawValue
  }
}

/// A place where the rows of an object graph are kept. Any thread may call any method.
package protocol PersistentStore: AnyObject, Sendable {
  /// The indexes that the store maintains, and what feeds them.
  var schema: StoreSchema { get }

  /// Names the store for ever; part of the URI form of object ids.
  var identifier: String { get }

  /// The newest state, of a store that only reads the one that it was opened on or last refreshed
  /// to. O(1).
  func view() -> any StoreView

  /// Goes on to what another process has committed since, in a store that only reads; elsewhere,
  /// and when the store is closed, nothing happens.
  ///
  /// - Throws: the store's error when the newest state cannot be read or has another model. The
  ///   views that are taken then are those that were taken before.
  /// - Complexity: a look at a few files when nothing has been committed, otherwise as opening the
  ///   store.
  func refresh() throws

  /// Applies a change atomically (S2) and returns a view at or after it.
  ///
  /// - Throws: `StoreConflict` when a precondition failed or a unique key is taken, the store's own
  ///   error when it cannot write: nothing of the change is visible, now or later.
  ///   `UnsettledCommit` when a write or a sync has failed and the change may be there, now or
  ///   later.
  func commit(_ change: StoreChange) throws -> any StoreView

  /// Judges a change as `commit` would now, and makes none of it. What is judged well may still be
  /// refused, by a medium without room or because somebody else commits in between.
  ///
  /// - Throws: as `commit`.
  func check(_ change: StoreChange) throws

  /// Reserves ids for new rows of one concrete entity. Ids start at 1 and are never handed out
  /// twice, also not after a crash.
  func allocateIDs(entity: UInt16, count: Int) throws -> Range<UInt64>

  /// Makes all views throw, those taken earlier too. Called before the container closes the store.
  func endReading()

  /// Ends the use of the store. Views taken earlier stay readable, unless `endReading()` was
  /// called.
  func close() throws
}

extension PersistentStore {
  package func refresh() throws {}
  package func endReading() {}
  package func check(_ change: StoreChange) throws {}
}
