// The interface between the object graph and the store of its rows, called the seam (D25).
//
// Above the seam, there are references, rows, index ranges and preconditions. Below it, there can
// be any engine that keeps the promises in this file, including a network server. Code above the
// seam uses no type of an engine, and does not depend on which store it reads.
//
// `StateReader` lists its few required requests first. Its other requests are capabilities: a store
// can often implement them faster. Each has a default that uses the required requests. So a store
// without capabilities is slower, but returns the same results. In `PersistentStore`, `refresh`,
// `check` and `endReading` have a default that does nothing.
//
// Promises of a store:
// PS1. A view is one consistent state that never changes. A store may discard old states. Their
//      views then throw `StoreViewExpired`.
// PS2. A commit is atomic: its rows, removals and links become visible together, or not at all.
// PS3. The store derives indexes from rows and links, in the same commit. So in every view, indexes
//      agree with rows.
// PS4. The preconditions of a commit are checked against the newest state, not against
//      `change.view`.
// PS5. Entries of an index are ordered by the bytes of the key, then by reference.
// PS6. A request that fails changes nothing, and may be repeated.

/// One index (or link keyspace) of a store: its position in `StoreSchema.indexes`.
///
/// Positions are valid for one schema in one process. The name of the definition is stored.
package struct StoreIndex: RawRepresentable, Hashable, Sendable {
  package let rawValue: Int

  package init(rawValue: Int) {
    self.rawValue = rawValue
  }
}

/// A store of the rows of an object graph. Any thread may call any method.
package protocol PersistentStore: AnyObject, Sendable {
  /// The indexes that the store maintains, and their sources.
  var schema: StoreSchema { get }

  /// The permanent identifier of the store. It is part of the URI form of object ids.
  var identifier: String { get }

  /// A view of the newest state; in a read-only store, of the state at the opening or at the last
  /// refresh. O(1).
  func view() -> any StoreView

  /// Advances a read-only store to the newest state that another process has committed. Does
  /// nothing if the store is writable or closed.
  ///
  /// - Throws: The store's error if the newest state cannot be read or has another model. New views
  ///   then show the same state as before.
  /// - Complexity: Checks a few files if nothing was committed. Otherwise the same as for opening
  ///   the store.
  func refresh() throws

  /// Applies a change atomically (PS2). Returns a view of the state after it, or of a later state.
  ///
  /// - Throws: `StoreConflict` if a precondition failed or a unique key exists. The store's own
  ///   error if it cannot write. In both cases, nothing of the change is visible, now or later.
  ///   `UncertainCommit` if a write or a sync failed, and the change may be visible, now or later.
  func commit(_ change: StoreChange) throws -> any StoreView

  /// Checks a change as `commit` does, but does not apply it. The commit can still fail later,
  /// because of a full disk or a commit in between.
  ///
  /// - Throws: As `commit`.
  func check(_ change: StoreChange) throws

  /// Reserves ids for new rows of one concrete entity. Ids start at 1. No id is assigned twice,
  /// even after a crash.
  func allocateIDs(entity: UInt16, count: Int) throws -> Range<UInt64>

  /// Makes all views throw, including earlier ones. `PersistentContainer.close()` calls it before
  /// it closes the store. `removePersistentStore(_:)` does not call it.
  func endReading()

  /// Closes the store. Earlier views stay readable, unless `endReading()` was called.
  func close() throws
}

extension PersistentStore {
  package func refresh() throws {}
  package func endReading() {}
  package func check(_ change: StoreChange) throws {}
}
