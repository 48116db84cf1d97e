package import PerdureLog

/// The state to read: the newest state, a held snapshot, or the state of a reader. If the snapshot
/// or reader does not exist, the newest state is read.
package enum HistoryView: Hashable, Sendable {
  case newest
  case held(Int)
  case reader

  /// The maximum number of held snapshots.
  static let slots = 6
}

package struct HistoryPlace: Hashable, Sendable {
  package var space: HistorySpace
  package var position: Int

  package init(_ space: HistorySpace, _ position: Int) {
    self.space = space
    self.position = position
  }
}

/// The derived indexes of a history.
package enum HistoryIndex: UInt8, CaseIterable, Sendable {
  /// Rows by their group.
  case groups
  /// Groups by their number of rows.
  case counts
  /// Rows by their serial number, which is unique.
  case serials
  /// Links by their second number.
  case backlinks

  /// One more than the greatest number that can be a key.
  func limit(_ universe: HistoryUniverse) -> Int {
    switch self {
    case .groups: 256
    case .counts: universe.ids + 1
    case .serials: 65_536
    case .backlinks: universe.side
    }
  }
}

/// The direction of a walk, and its maximum number of entries.
package struct HistoryWalk: Hashable, Sendable {
  package var limit: Int
  package var isDescending: Bool

  package init(limit: Int, isDescending: Bool) {
    self.limit = limit
    self.isDescending = isDescending
  }
}

/// A read of one state. The model knows the answer.
package enum HistoryRead: Hashable, Sendable {
  case get(HistoryPlace)
  case contains(HistoryPlace)
  case getMany(HistorySpace, [Int])
  /// A part of a value: `count` bytes. It begins at `of`/256 of the value's length.
  case part(HistoryPlace, of: Int, count: Int)
  case scan(HistorySpace, HistoryRange, HistoryWalk)
  case keys(HistorySpace, HistoryRange, HistoryWalk)
  /// The names that begin with the first `length` bytes of the name at this position.
  case prefix(Int, length: Int, HistoryWalk)
  case count(HistorySpace, HistoryRange)
  case countAll(HistorySpace)
  case index(HistoryIndex, HistoryRange, HistoryWalk)
  case indexCount(HistoryIndex, HistoryRange)
}

/// A change of one key in a commit.
package struct HistoryChange: Hashable, Sendable {
  package var place: HistoryPlace
  /// The new value; nil to remove the key.
  package var value: HistoryValue?
  /// The number of pieces in which the value is written before the commit. If 0, the commit writes
  /// it.
  package var pieces: Int

  package init(_ place: HistoryPlace, _ value: HistoryValue?, pieces: Int = 0) {
    self.place = place
    self.value = value
    self.pieces = pieces
  }
}

package enum HistoryCondition: Hashable, Sendable {
  case unchanged(HistoryPlace, since: HistoryView)
  case exists(HistoryPlace)
  case range(HistorySpace, HistoryRange, since: HistoryView)
  case index(HistoryIndex, HistoryRange, since: HistoryView)
}

package struct HistoryCommit: Hashable, Sendable {
  package var changes: [HistoryChange]
  package var conditions: [HistoryCondition] = []
  /// The durability; nil for the default of the store.
  package var durability: Durability?
  /// Whether the commit is aborted at its end, so that it has no effect.
  package var isGivenUp = false

  package init(_ changes: [HistoryChange]) { self.changes = changes }
}

/// A step of a transaction.
package enum HistoryMove: Hashable, Sendable {
  case read(HistoryRead)
  case write(HistoryChange)
}

package struct HistoryTransaction: Hashable, Sendable {
  package var moves: [HistoryMove]
  /// The changes of another commit. It is made after the first attempt has done all its moves.
  package var between: [HistoryChange] = []
  package var attemptsMax = 1

  package init(_ moves: [HistoryMove]) { self.moves = moves }
}

/// One step of a history. Every step is possible after any other steps, so shrinking can remove any
/// steps.
package enum HistoryStep: Hashable, Sendable {
  case read(HistoryView, HistoryRead)
  case commit(HistoryCommit)
  case transaction(HistoryTransaction)
  /// Takes a snapshot and holds it in this slot. It replaces the earlier snapshot.
  case hold(Int)
  case letGo(Int)
  case compact
  case checkpoint
  case train(HistorySpace)
  case sync
  case verify
  /// Reads the keyspaces, the indexes and the statistics of the store.
  case lookAround
  case reopen(HistoryOptions, closes: Bool)
  /// Opens the store for reading at the same time as the writer, or refreshes that reader.
  case follow
  case unfollow

  /// Whether the step has no effect that a read can detect.
  package var isUpkeep: Bool {
    switch self {
    case .compact, .checkpoint, .train, .sync, .verify, .lookAround, .reopen: true
    case .read, .commit, .transaction, .hold, .letGo, .follow, .unfollow: false
    }
  }
}

/// A program for a store, represented as a value.
package struct History: Hashable, Sendable {
  package var universe: HistoryUniverse
  /// The options of the first opening.
  package var options: HistoryOptions
  package var steps: [HistoryStep]

  package init(universe: HistoryUniverse, options: HistoryOptions, steps: [HistoryStep]) {
    self.universe = universe
    self.options = options
    self.steps = steps
  }
}
