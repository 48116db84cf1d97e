// Access paths by attribute and unique indexes.
//
// An index serves a predicate through a prefix of its components: points on all but the last of them,
// anything on the last. It serves an order through its components without those that the predicate pins to one
// point, wherever these stand: all objects that are wanted have the same bytes there.
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

  /// The candidate of a unique index of which the request gives the whole key: as there is one object at most, others need
  /// not be looked for. Nil where there is none, or where a scan may be as cheap.
  func uniqueCandidate() -> Candidate? {
    for position in fetch.schema.indexes.indices where fetch.schema.indexes[position].isUnique {
      let definition = fetch.schema.indexes[position]
      guard let components = definition.components, definition.condition == nil, covers(definition),
        components.allSatisfy({ fetch.entity.column($0).map(isPinned) ?? false }), rowTotal > Self.scannedMax
      else { continue }
      return indexCandidate(StoreIndex(rawValue: position), definition, components)
    }
    return nil
  }

  /// Rows that are scanned as soon as an index is walked.
  static let scannedMax = 3
  /// How many rows are met in a scan while one is found by an entry.
  static let rowsAnEntry = 3

  private func indexCandidate(
    _ index: StoreIndex, _ definition: IndexDefinition, _ components: [IndexComponent]
  ) -> Candidate? {
    let isLed = components.first.flatMap(fetch.entity.column).map { bounds[$0] != nil } ?? false
    guard isLed || !fetch.order.isEmpty || definition.condition != nil else { return nil }
    let columns = components.compactMap { fetch.entity.column($0) }
    guard columns.count == components.count, let settled = settled(by: definition.condition) else {
      return nil
    }
    let match = match(components, columns)
    let whole = ordering(components, columns)
    let ordering = whole ?? leadingOrder(components, columns)
    // Without a bound or an order, an index of all objects has nothing on a scan.
    guard match.usedCount > 0 || (ordering != nil && !fetch.order.isEmpty) || definition.condition != nil
    else { return nil }
    if definition.isUnique, !isComplete(index, definition, columns, match) { return nil }
    let count = match.ranges.reduce(0) { $0 + statistics.entryCount(index, $1) }
    return Candidate(
      access: .index(index, match.ranges), isReversed: ordering?.isReversed ?? false,
      reversesTies: ordering?.reversesTies ?? false, isOrdered: whole != nil,
      leadsOrder: whole == nil && ordering != nil, filtersEntities: overshoots(definition), count: count,
      costPerCandidate: Double(Self.rowsAnEntry), settled: match.settled.union(settled),
      words: { words(definition, components, columns, match) })
  }

  /// A unique index has no entry where a component is null. It knows every wanted object when the predicate
  /// leaves out nulls, or when there are none.
  private func isComplete(
    _ index: StoreIndex, _ definition: IndexDefinition, _ columns: [IndexColumn], _ match: Match
  ) -> Bool {
    if columns.allSatisfy({ bounds[$0]?.bounds.excludeNull ?? false }) { return true }
    let rows = definition.entities.reduce(0) { $0 + statistics.rowCount($1) }
    return statistics.entryCount(index, .all) == rows
  }

  // MARK: Matching

  struct Match {
    /// Ascending and apart, so that walking them in turn is walking a part of the index.
    var ranges: [KeyRange] = [.all]
    var settled: Set<Int> = []
    /// How many components have bounds that the ranges are made of.
    var usedCount = 0
  }

  private func match(_ components: [IndexComponent], _ columns: [IndexColumn]) -> Match {
    var match = Match()
    var prefixes: [[UInt8]] = [[]]
    for (component, column) in zip(components, columns) {
      guard let known = bounds[column] else { break }
      let found = component.isDescending ? known.bounds.flipped() : known.bounds
      guard prefixes.count * found.ranges.count <= Self.rangesMax else { break }
      let ranges = prefixes.flatMap { prefix in found.ranges.map { Self.join(prefix, $0) } }
      guard ranges.allSatisfy(\.fitsIndexes) else { break }
      match.usedCount += 1
      if found.areExact { match.settled.formUnion(known.conjuncts) }
      match.ranges = ranges
      guard found.arePoints else { break }
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
  private func ordering(_ components: [IndexComponent], _ columns: [IndexColumn]) -> Ordering? {
    guard let first = fetch.order.first else {
      return Ordering(isReversed: false, reversesTies: false)
    }
    let wanted = fetch.order.filter { !($0.ownColumn.map(isPinned) ?? false) }
    let free = zip(components, columns).filter { !isPinned($0.1) }
    // Ties must fall by reference alone, so no component may be left over.
    guard wanted.count == free.count else { return nil }
    let tiesDescend = !first.order.isAscending
    for isReversed in [tiesDescend, !tiesDescend] {
      let agrees = zip(wanted, free).allSatisfy { criterion, part in
        criterion.ownColumn == part.1 && criterion.order.isAscending == (part.0.isDescending == isReversed)
      }
      if agrees { return Ordering(isReversed: isReversed, reversesTies: isReversed != tiesDescend) }
    }
    return nil
  }

  /// How the index gives the order of the first criterion, for a fetch of the first objects; nil if
  /// it does not.
  private func leadingOrder(_ components: [IndexComponent], _ columns: [IndexColumn]) -> Ordering? {
    guard fetch.windowEnd != nil, let first = fetch.order.first, first.ownColumn == columns[0] else {
      return nil
    }
    let isReversed = first.order.isAscending == components[0].isDescending
    return Ordering(isReversed: isReversed, reversesTies: false)
  }

  /// Whether every object that is wanted has the same value in a column.
  private func isPinned(_ column: IndexColumn) -> Bool {
    bounds[column].map { $0.bounds.arePoints && $0.bounds.ranges.count == 1 } ?? false
  }

  private func words(
    _ definition: IndexDefinition, _ components: [IndexComponent], _ columns: [IndexColumn], _ match: Match
  ) -> String {
    let names = zip(components, columns).map { $0.words(fetch.entity.properties[$1.slot].name) }
    let kind = definition.isUnique ? "unique index" : "index"
    let used = columns.prefix(match.usedCount).map(name)
    let ranges =
      used.isEmpty
      ? "all of it"
      : "\(counted(match.ranges.count, "range")) by "
        + used.joined(separator: ", ")
    return "\(kind) on \(names.joined(separator: ", "))\(definition.conditionWords): \(ranges)"
  }

  private func name(_ column: IndexColumn) -> String {
    let name = fetch.entity.properties[column.slot].name
    return column.function.map { "\($0.rawValue)(\(name))" } ?? name
  }
}

extension KeyRange {
  /// Stores cut keys that are longer. A bound that is shorter than where they cut lies on the same side of a
  /// key as of what is left of it; a longer one does not.
  var fitsIndexes: Bool {
    lower.count < IndexDefinition.keyLengthMax && (upper?.count ?? 0) < IndexDefinition.keyLengthMax
  }
}
