package import PerdureLog

/// The target of a read: the newest state, a held snapshot, or an opening for reading only. Without
/// a held snapshot or a reader, the newest.
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
  /// Groups by how many rows they have.
  case counts
  /// Rows by their serial number: unique.
  case serials
  /// Links by their second number.
  case backlinks

  /// One more than the greatest number that a key may have.
  func limit(_ universe: HistoryUniverse) -> Int {
    switch self {
    case .groups: 256
    case .counts: universe.ids + 1
    case .serials: 65_536
    case .backlinks: universe.side
    }
  }
}

/// The direction of a walk.
package struct HistoryWalk: Hashable, Sendable {
  package var limit: Int
  package var isDescending: Bool

  package init(limit: Int, isDescending: Bool) {
    self.limit = limit
    self.isDescending = isDescending
  }
}

/// A question about one state, with an answer that a model knows.
package enum HistoryRead: Hashable, Sendable {
  case get(HistoryPlace)
  case contains(HistoryPlace)
  case getMany(HistorySpace, [Int])
  /// A part of a value: from `of` 256th parts of it on, so many bytes.
  case part(HistoryPlace, of: Int, count: Int)
  case scan(HistorySpace, HistoryRange, HistoryWalk)
  case keys(HistorySpace, HistoryRange, HistoryWalk)
  /// Names that begin as this one's first bytes do.
  case prefix(Int, length: Int, HistoryWalk)
  case count(HistorySpace, HistoryRange)
  case countAll(HistorySpace)
  case index(HistoryIndex, HistoryRange, HistoryWalk)
  case indexCount(HistoryIndex, HistoryRange)
}

/// The operation of one commit on one key.
package struct HistoryChange: Hashable, Sendable {
  package var place: HistoryPlace
  /// Nil: it is removed.
  package var value: HistoryValue?
  /// The value is written ahead of the commit, in so many pieces; 0: with it.
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
  /// Nil: that of the store.
  package var durability: Durability?
  /// Aborted at the end, so that nothing happens.
  package var isGivenUp = false

  package init(_ changes: [HistoryChange]) { self.changes = changes }
}

/// A step of an engine transaction.
package enum HistoryMove: Hashable, Sendable {
  case read(HistoryRead)
  case write(HistoryChange)
}

package struct HistoryTransaction: Hashable, Sendable {
  package var moves: [HistoryMove]
  /// Overtaken by another commit when the first attempt has done all its moves.
  package var between: [HistoryChange] = []
  package var attemptsMax = 1

  package init(_ moves: [HistoryMove]) { self.moves = moves }
}

/// One step of a history. Each can be taken whatever the steps before it were, so that any of them
/// may be left out.
package enum HistoryStep: Hashable, Sendable {
  case read(HistoryView, HistoryRead)
  case commit(HistoryCommit)
  case transaction(HistoryTransaction)
  /// Takes a snapshot and keeps it, in place of the one kept there before.
  case hold(Int)
  case letGo(Int)
  case compact
  case checkpoint
  case train(HistorySpace)
  case sync
  case verify
  /// Gets keyspaces and indexes again, and the store's statistics.
  case lookAround
  case reopen(HistoryOptions, closes: Bool)
  /// Opens for reading beside the writer, or refreshes to the newest state.
  case follow
  case unfollow

  /// Whether it changes nothing readable.
  package var isUpkeep: Bool {
    switch self {
    case .compact, .checkpoint, .train, .sync, .verify, .lookAround, .reopen: true
    case .read, .commit, .transaction, .hold, .letGo, .follow, .unfollow: false
    }
  }
}

/// A program for a store, as a value.
package struct History: Hashable, Sendable {
  package var universe: HistoryUniverse
  /// Of the first opening.
  package var options: HistoryOptions
  package var steps: [HistoryStep]

  package init(universe: HistoryUniverse, options: HistoryOptions, steps: [HistoryStep]) {
    self.universe = universe
    self.options = options
    self.steps = steps
  }
}
