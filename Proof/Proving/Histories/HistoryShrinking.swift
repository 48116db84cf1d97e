import PerdureLog
import PerdureTestSupport

/// Makes a failing history smaller: first fewer steps, then simpler steps, then options closer to
/// the defaults.
package enum HistoryShrinking {
  /// - Parameter reason: Runs a history, and returns why it fails; nil if it does not fail. If a
  ///   smaller history fails for another reason, it is a different failure.
  /// - Returns: The smaller history and its reason; nil if the given history does not fail this
  ///   time.
  package static func shrink(
    _ history: History, trialsMax: Int = 3_000, _ reason: (History) -> String?
  ) -> (history: History, reason: String)? {
    guard var text = reason(history) else { return nil }
    let kind = kind(of: text)
    var smallest = history
    var shrinker = Shrinker<HistoryStep>()
    shrinker.trialsMax = trialsMax
    smallest.steps =
      shrinker.shrink(
        history.steps, simplifying: { $0.simpler },
        while: { steps in
          var candidate = smallest
          candidate.steps = steps
          guard let found = reason(candidate), self.kind(of: found) == kind else { return false }
          text = found
          return true
        }
      ).elements
    for _ in 0..<3 {
      for options in smallest.options.simpler {
        var candidate = smallest
        candidate.options = options
        if let found = reason(candidate), self.kind(of: found) == kind {
          (smallest, text) = (candidate, found)
        }
      }
    }
    return (smallest, text)
  }

  /// The beginning of a reason, without its numbers. In a smaller history, the numbers of steps,
  /// keys and commits are different.
  private static func kind(of reason: String) -> [Substring] {
    let line = reason.prefix { $0 != "\n" }
    return Array(line.split { !$0.isLetter }.prefix(6))
  }
}

extension HistoryStep {
  /// Simpler forms of this step.
  package var simpler: [HistoryStep] {
    switch self {
    case .commit(let commit): return commit.simpler.map(HistoryStep.commit)
    case .transaction(let transaction): return transaction.simpler.map(HistoryStep.transaction)
    case .reopen(let options, let closes): return options.simpler.map { .reopen($0, closes: closes) }
    case .read(let view, .getMany(let space, let positions)) where positions.count > 1:
      return positions.indices.map {
        var fewer = positions
        fewer.remove(at: $0)
        return .read(view, .getMany(space, fewer))
      }
    case .read(let view, let read) where view != .newest: return [.read(.newest, read)]
    default: return []
    }
  }
}

/// Returns copies of a list. Each copy lacks one element, or has a simpler form of one element.
private func simpler<Element>(_ list: [Element], _ parts: (Element) -> [Element]) -> [[Element]] {
  list.indices.flatMap { index -> [[Element]] in
    var without = list
    without.remove(at: index)
    let changed = parts(list[index]).map { part in
      var changed = list
      changed[index] = part
      return changed
    }
    return [without] + changed
  }
}

extension HistoryChange {
  fileprivate var simpler: [HistoryChange] {
    guard let value else { return [] }
    var found: [HistoryChange] = []
    if pieces > 0 { found.append(HistoryChange(place, value)) }
    var plain = value
    (plain.style, plain.seed) = (.constant, 0)
    for length in [0, 16, value.length / 2] where length < value.length {
      plain.length = length
      found.append(HistoryChange(place, plain, pieces: pieces))
    }
    plain.length = value.length
    if plain != value { found.append(HistoryChange(place, plain, pieces: pieces)) }
    return found
  }
}

extension HistoryCommit {
  fileprivate var simpler: [HistoryCommit] {
    var found: [HistoryCommit] = []
    func add(_ change: (inout HistoryCommit) -> Void) {
      var copy = self
      change(&copy)
      if copy != self { found.append(copy) }
    }
    if changes.count > 3 {
      add { $0.changes = Array(changes.prefix(changes.count / 2)) }
      add { $0.changes = Array(changes.suffix(changes.count / 2)) }
    }
    for fewer in PerdureProving.simpler(changes, { $0.simpler }) { add { $0.changes = fewer } }
    for fewer in PerdureProving.simpler(conditions, { _ in [] }) { add { $0.conditions = fewer } }
    add { $0.durability = nil }
    return found
  }
}

extension HistoryTransaction {
  fileprivate var simpler: [HistoryTransaction] {
    var found: [HistoryTransaction] = []
    func add(_ change: (inout HistoryTransaction) -> Void) {
      var copy = self
      change(&copy)
      if copy != self { found.append(copy) }
    }
    let fewerMoves = PerdureProving.simpler(moves) { move in
      if case .write(let change) = move { change.simpler.map(HistoryMove.write) } else { [] }
    }
    for fewer in fewerMoves { add { $0.moves = fewer } }
    for fewer in PerdureProving.simpler(between, { $0.simpler }) { add { $0.between = fewer } }
    add { $0.attemptsMax = 1 }
    return found
  }
}
