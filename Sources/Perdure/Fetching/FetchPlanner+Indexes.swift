// Access paths by attribute and unique indexes.
//
// An index serves a predicate by a prefix of its components. The predicate must restrict all of
// them except the last to single values, and may restrict the last to any ranges. An index serves
// an order by its components. Components that the predicate restricts to a single value are
// skipped, because all requested objects have the same bytes there. Entries with equal keys are in
// the order of references, or in the opposite order if the index is read from its end. If ties need
// the other direction, the executor reverses each run of equal keys.

internal import PerdurePredicates

extension FetchPlanner {
  /// The maximum number of ranges of an access path.
  private static let rangesMax = 1000

  func indexCandidates() -> [Candidate] {
    fetch.schema.indexes.indices.compactMap { position in
      let definition = fetch.schema.indexes[position]
      guard let components = definition.components, covers(definition) else { return nil }
      return indexCandidate(StoreIndex(rawValue: position), definition, components)
    }
  }

  /// The candidate of a unique index whose whole key the request contains. It finds at most one
  /// object, so no other access path is examined. Nil if there is no such index, or if a scan may
  /// be as cheap.
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

  /// The number of rows up to which a scan costs no more than an index.
  static let scannedMax = 3
  /// The cost of an index entry with its row, in rows of a scan.
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
    // Without a bound or an order, an index of all objects has no advantage over a scan.
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

  /// Whether a unique index contains every requested object. It has no entry if a component is
  /// null. So the predicate must exclude nulls, or there must be none.
  private func isComplete(
    _ index: StoreIndex, _ definition: IndexDefinition, _ columns: [IndexColumn], _ match: Match
  ) -> Bool {
    if columns.allSatisfy({ bounds[$0]?.bounds.excludeNull ?? false }) { return true }
    let rows = definition.entities.reduce(0) { $0 + statistics.rowCount($1) }
    return statistics.entryCount(index, .all) == rows
  }

  // MARK: Matching

  struct Match {
    /// Ascending and disjoint, so reading them in turn reads a part of the index in its order.
    var ranges: [KeyRange] = [.all]
    var settled: Set<Int> = []
    /// The number of components whose bounds the ranges contain.
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

  /// The range of a component, after the bytes of the components before it.
  private static func join(_ prefix: [UInt8], _ range: KeyRange) -> KeyRange {
    KeyRange(
      lower: prefix + range.lower,
      upper: range.upper.map { prefix + $0 } ?? prefix.afterPrefix())
  }

  // MARK: Order

  /// The directions in which an index is read to produce the order.
  struct Ordering {
    let isReversed: Bool
    let reversesTies: Bool
  }

  /// How the index produces the requested order; nil if it cannot. Without a requested order, any
  /// direction is right.
  private func ordering(_ components: [IndexComponent], _ columns: [IndexColumn]) -> Ordering? {
    guard let first = fetch.order.first else {
      return Ordering(isReversed: false, reversesTies: false)
    }
    let wanted = fetch.order.filter { !($0.ownColumn.map(isPinned) ?? false) }
    let free = zip(components, columns).filter { !isPinned($0.1) }
    // Ties must be in the order of references only, so the order must use every free component.
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

  /// How the index produces the order of the first criterion, for a fetch with a window; nil if it
  /// cannot.
  private func leadingOrder(_ components: [IndexComponent], _ columns: [IndexColumn]) -> Ordering? {
    guard fetch.windowEnd != nil, let first = fetch.order.first, first.ownColumn == columns[0] else {
      return nil
    }
    let isReversed = first.order.isAscending == components[0].isDescending
    return Ordering(isReversed: isReversed, reversesTies: false)
  }

  /// Whether the predicate restricts a column to a single value.
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
  /// Whether the bounds are shorter than `keyLengthMax`. Stores shorten longer keys. A bound below
  /// this length is on the same side of a key and of its shortened form; a longer bound may not be.
  var fitsIndexes: Bool {
    lower.count < IndexDefinition.keyLengthMax && (upper?.count ?? 0) < IndexDefinition.keyLengthMax
  }
}
