import PerdureFileIO

// Commits are noted as changes, by sequence number. So several writers may note their commits in
// any order. The state after a commit is the result of all changes up to it. A writer that makes a
// definition during commits of other writers does not get its sequence number, and does not need
// it. Definitions are made one at a time. So the first definition without a number has the first
// unused number.

/// The required content of a store after each commit.
package final class CrashHistory: Sendable {
  package typealias Content = [CrashKey: [UInt8]]
  package typealias Change = [(key: CrashKey, value: [UInt8]?)]

  private struct Commits {
    var changes: [UInt64: Change] = [:]
    var definitions: [UInt64: CrashDefinition] = [:]
    /// The definitions with unknown sequence numbers, in order.
    var unnumbered: [CrashDefinition] = []
    var compactions = 0
    /// The number of commits that have begun but not ended.
    var openCount = 0
    /// The number of commits that began during another commit.
    var overlapCount = 0
  }

  private let commits = Guarded(Commits())
  /// The definitions so far; locked while a definition is made.
  private let known = Guarded(CrashCatalog())

  package init() {}

  /// Notes the changes of the commit with this sequence number.
  package func note(_ sequence: UInt64, _ change: Change, defining definition: CrashDefinition? = nil) {
    commits.withLock { commits in
      commits.changes[sequence] = change
      commits.definitions[sequence] = definition
    }
  }

  /// Notes that a commit begins.
  func begin() {
    commits.withLock { commits in
      if commits.openCount > 0 { commits.overlapCount += 1 }
      commits.openCount += 1
    }
  }

  /// Notes that a commit has ended.
  func end() { commits.withLock { $0.openCount -= 1 } }

  /// The number of commits that began during another commit.
  package var overlapCount: Int { commits.withLock { $0.overlapCount } }

  /// Notes that the store has compacted itself.
  package func noteCompaction() { commits.withLock { $0.compactions += 1 } }

  /// How many times the store has compacted itself.
  package var compactions: Int { commits.withLock { $0.compactions } }

  /// Calls `make`, and notes the definition if it is new. No other thread makes a definition during
  /// the call.
  package func define<R>(_ definition: CrashDefinition, _ make: () throws -> R) throws -> R {
    try define { (try make(), definition) }
  }

  /// Like `define(_:_:)`, for a `make` that returns the resulting definition. If the definition is
  /// nil, none is noted.
  package func define<R>(_ make: () throws -> (R, CrashDefinition?)) throws -> R {
    try known.withLock { known in
      let (result, definition) = try make()
      if let definition, known.add(definition) { commits.withLock { $0.unnumbered.append(definition) } }
      return result
    }
  }

  /// The states after every commit up to `last`, beginning with the empty store.
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

  /// The contents after every commit up to `last`, without the catalogs.
  package func contents(upTo last: UInt64) -> [Content] { states(upTo: last).map(\.content) }

  /// Throws unless every commit up to `last` is a noted change or a noted definition.
  package func checkComplete(upTo last: UInt64) throws {
    let (noted, defined) = commits.withLock { ($0.changes.keys.count { $0 <= last }, $0.unnumbered.count) }
    guard UInt64(noted + defined) == last else {
      throw Violation(
        "\(last) commits were made, but the history has \(noted) changes and \(defined) definitions")
    }
  }
}
