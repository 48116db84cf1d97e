import PerdureFileIO

// Commits are noted as their changes, by sequence number, so that several writers may note theirs
// in any order. The state after a commit is the sum of all changes up to it. A writer that makes a
// definition beside other writers learns no number, and needs none. Definitions are made one at a
// time, so the first of those without a number has the first unused number.

/// The required content of a store after each commit.
package final class CrashHistory: Sendable {
  package typealias Content = [CrashKey: [UInt8]]
  package typealias Change = [(key: CrashKey, value: [UInt8]?)]

  private struct Commits {
    var changes: [UInt64: Change] = [:]
    var definitions: [UInt64: CrashDefinition] = [:]
    /// Those with unknown numbers, in order.
    var unnumbered: [CrashDefinition] = []
    var compactions = 0
    /// Commits that have begun and are not done, and how many began beside another.
    var openCount = 0
    var overlapCount = 0
  }

  private let commits = Guarded(Commits())
  /// Locked while a definition is made.
  private let known = Guarded(CrashCatalog())

  package init() {}

  /// A commit with this number was made.
  package func note(_ sequence: UInt64, _ change: Change, defining definition: CrashDefinition? = nil) {
    commits.withLock { commits in
      commits.changes[sequence] = change
      commits.definitions[sequence] = definition
    }
  }

  /// A commit begins.
  func begin() {
    commits.withLock { commits in
      if commits.openCount > 0 { commits.overlapCount += 1 }
      commits.openCount += 1
    }
  }

  /// A commit that had begun has ended.
  func end() { commits.withLock { $0.openCount -= 1 } }

  /// How many commits began during another one.
  package var overlapCount: Int { commits.withLock { $0.overlapCount } }

  /// The store has compacted itself.
  package func noteCompaction() { commits.withLock { $0.compactions += 1 } }

  /// How often this was so.
  package var compactions: Int { commits.withLock { $0.compactions } }

  /// Makes a definition if the store has no equal one, while no other thread makes one.
  package func define<R>(_ definition: CrashDefinition, _ make: () throws -> R) throws -> R {
    try define { (try make(), definition) }
  }

  /// The same, with the resulting definition known; nil: none.
  package func define<R>(_ make: () throws -> (R, CrashDefinition?)) throws -> R {
    try known.withLock { known in
      let (result, definition) = try make()
      if let definition, known.add(definition) { commits.withLock { $0.unnumbered.append(definition) } }
      return result
    }
  }

  /// The content after every commit up to `last`.
  package func states(upTo last: UInt64) -> [CrashState] {
    let commits = commits.withLock { $0 }
    var unnumbered = commits.unnumbered[...]
    var states = [CrashState()]
    for sequence in 1..<(max(last, 1) + 1) {
      var state = states[states.count - 1]
      let change = commits.changes[sequence]
      for (key, value) in change ?? [] { state.content[key] = value }
      let definition = commits.definitions[sequence] ?? (change == nil ? unnumbered.popFirst() : nil)
      if let definition { state.catalog.add(definition) }
      states.append(state)
    }
    return states
  }

  /// The values alone.
  package func contents(upTo last: UInt64) -> [Content] { states(upTo: last).map(\.content) }

  /// Throws unless each commit up to `last` was noted, and each definition is a commit.
  package func checkComplete(upTo last: UInt64) throws {
    let (noted, defined) = commits.withLock { ($0.changes.keys.count { $0 <= last }, $0.unnumbered.count) }
    guard UInt64(noted + defined) == last else {
      throw Violation("\(last) commits were made, of \(noted) changes and \(defined) definitions")
    }
  }
}
