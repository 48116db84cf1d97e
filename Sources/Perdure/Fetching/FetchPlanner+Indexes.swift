// Access paths by attribute and unique indexes.
//
// An index serves a predicate through a prefix of its components: points on all but the last of them,
// anything on the last. It serves an order through the components behind those that are pinned to one point.
// Walking it gives ties in the order of references, or the opposite; where that is not the direction wanted,
// the executor turns each run of equal keys round.

internal import PerdurePredicates

extension FetchPlanner {
  /// The most ranges that one access path has.
  private static let rangesMax = 1000

  func indexCandidates() -> [Candidate] {
    fetch.schema.indexes.indices.compactMap { position in
      let definition = fetch.schema.indexes[position]
      guard let components = definition.components, covers(definition) else { return nil }
      return indexCandidate(StoreIndex(rawValue: position), definition, components)
    }
  }

  private func indexCandidate(
    _ index: StoreIndex, _ definition: IndexDefinition, _ components: [IndexComponent]
  ) -> Candidate? {
    let slots = components.compactMap { fetch.entity.slot(ofProperty: $0.property) }
    guard slots.count == components.count else { return nil }
    let match = match(components, slots)
    let ordering = ordering(components, slots, pinned: match.pinned, inOrder: match.isOneRun)
    // Without a bound or an order, an index has nothing on a scan.
    guard match.usedCount > 0 || (ordering != nil && !fetch.order.isEmpty) else { return nil }
    if definition.isUnique, !isComplete(index, definition, slots, match) { return nil }
    let count = match.ranges.reduce(0) { $0 + statistics.entryCount(index, $1) }
    return Candidate(
      access: .index(index, match.ranges), isReversed: ordering?.isReversed ?? false,
      reversesTies: ordering?.reversesTies ?? false, isOrdered: ordering != nil,
      filtersEntities: overshoots(definition), count: count,
      costPerCandidate: 3, settled: match.settled,
      words: words(definition, components, slots, match))
  }

  /// A unique index has no entry where a component is null. It knows every wanted object when the predicate
  /// leaves out nulls, or when there are none.
  private func isComplete(
    _ index: StoreIndex, _ definition: IndexDefinition, _ slots: [Int], _ match: Match
  ) -> Bool {
    if slots.allSatisfy({ bounds[$0]?.bounds.excludeNull ?? false }) { return true }
    let rows = definition.entities.reduce(0) { $0 + statistics.rowCount($1) }
    return statistics.entryCount(index, .all) == rows
  }

  // MARK: Matching

  struct Match {
    var ranges: [KeyRange] = [.all]
    var settled: Set<Int> = []
    /// How many components have bounds that the ranges are made of.
    var usedCount = 0
    /// How many components in front have one value.
    var pinned = 0
    /// Whether the ranges in turn are a run of the index in order: only the last used component has several.
    var isOneRun = true
  }

  private func match(_ components: [IndexComponent], _ slots: [Int]) -> Match {
    var match = Match()
    var prefixes: [[UInt8]] = [[]]
    for (component, slot) in zip(components, slots) {
      guard let slotBounds = bounds[slot] else { break }
      let found = component.isDescending ? slotBounds.bounds.flipped() : slotBounds.bounds
      guard prefixes.count * found.ranges.count <= Self.rangesMax else { break }
      let ranges = prefixes.flatMap { prefix in found.ranges.map { Self.join(prefix, $0) } }
      guard ranges.allSatisfy(\.fitsIndexes) else { break }
      match.isOneRun = prefixes.count <= 1
      match.usedCount += 1
      if found.areExact { match.settled.formUnion(slotBounds.conjuncts) }
      match.ranges = ranges
      guard found.arePoints else { break }
      if found.ranges.count == 1, match.pinned == match.usedCount - 1 { match.pinned += 1 }
      prefixes = prefixes.flatMap { prefix in found.ranges.map { prefix + $0.lower } }
    }
    return match
  }

  /// A range of one component behind the bytes of those in front.
  private static func join(_ prefix: [UInt8], _ range: KeyRange) -> KeyRange {
    KeyRange(
      lower: prefix + range.lower,
      upper: range.upper.map { prefix + $0 } ?? prefix.afterPrefix())
  }

  // MARK: Order

  /// How an index is walked to give the order.
  struct Ordering {
    let isReversed: Bool
    let reversesTies: Bool
  }

  /// How the index gives the order asked for; nil when it does not. Without an order any way will do.
  private func ordering(
    _ components: [IndexComponent], _ slots: [Int], pinned: Int, inOrder: Bool
  ) -> Ordering? {
    guard let first = fetch.order.first else {
      return Ordering(isReversed: false, reversesTies: false)
    }
    guard inOrder else { return nil }
    let fixed = Set(slots.prefix(pinned))
    let wanted = fetch.order.filter { $0.ownSlot.map { !fixed.contains($0) } ?? true }
    let behind = Array(zip(components, slots).dropFirst(pinned))
    // Ties must fall by reference alone, so no component may be left over.
    guard wanted.count == behind.count else { return nil }
    let tiesDescend = !first.order.isAscending
    for isReversed in [tiesDescend, !tiesDescend] {
      let agrees = zip(wanted, behind).allSatisfy { criterion, part in
        criterion.ownSlot == part.1 && criterion.order.isAscending == (part.0.isDescending == isReversed)
      }
      if agrees { return Ordering(isReversed: isReversed, reversesTies: isReversed != tiesDescend) }
    }
    return nil
  }

  private func words(
    _ definition: IndexDefinition, _ components: [IndexComponent], _ slots: [Int], _ match: Match
  ) -> String {
    let names = zip(components, slots).map {
      fetch.entity.properties[$1].name + ($0.isDescending ? " descending" : "")
    }
    let kind = definition.isUnique ? "unique index" : "index"
    let used = slots.prefix(match.usedCount).map { fetch.entity.properties[$0].name }
    let ranges =
      used.isEmpty
      ? "all of it"
      : "\(counted(match.ranges.count, "range")) by "
        + used.joined(separator: ", ")
    return "\(kind) on \(names.joined(separator: ", ")): \(ranges)"
  }
}

extension KeyRange {
  /// Stores cut keys that are longer. A bound that is shorter than where they cut lies on the same side of a
  /// key as of what is left of it; a longer one does not.
  fileprivate var fitsIndexes: Bool {
    lower.count < IndexDefinition.keyLengthMax && (upper?.count ?? 0) < IndexDefinition.keyLengthMax
  }
}
