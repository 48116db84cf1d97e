// Access paths by attribute and unique indexes.
//
// An index serves a predicate by a prefix of its components. The predicate must restrict each
// component of the prefix except the last to one or several single values. It may restrict the last
// one to any ranges. An index serves an order by its components. Components that the predicate
// restricts to a single value are skipped, because all requested objects have the same bytes there.
// Entries with equal keys are in the order of references, or in the opposite order if the index is
// read from its end. If the order needs ties in the other direction, the executor reverses each run
// of equal keys.

internal import PerdurePredicates

extension FetchPlanner {
  /// The maximum number of ranges of an access path.
  private static let rangesMax = 1000

  /// The candidate for a unique index if the predicate restricts each of its components to a single
  /// value. The index finds at most one object, so no other access path is examined. Nil if there
  /// is no such index, or if a scan may be as cheap.
  func uniqueCandidate() -> Candidate? {
    if conjuncts.isEmpty { return nil }
    let unique = searchIndexes.first {
      $0.isUnique && $0.condition == nil && $0.columns.allSatisfy(hasSingleValue)
    }
    guard let unique, rowTotal > Self.scannedMax else { return nil }
    return indexCandidate(unique)
  }

  /// The number of rows up to which a scan costs no more than an index.
  static let scannedMax = 3
  /// The cost of an index entry with its row, in rows of a scan.
  static let rowsAnEntry = 3

  func indexCandidate(_ search: SearchIndex) -> Candidate? {
    guard mayServe(search), let covered = covered(by: search.condition) else { return nil }
    let match = match(search)
    let whole = ordering(search)
    let ordering = whole ?? leadingOrder(search)
    // Without a bound or an order, an index of all objects has no advantage over a scan.
    guard match.usedCount > 0 || (ordering != nil && !fetch.order.isEmpty) || search.condition != nil
    else { return nil }
    let count = match.ranges.reduce(0) { $0 + statistics.entryCount(search.index, $1) }
    if search.isUnique, !isComplete(search, match, count: count) { return nil }
    return Candidate(
      access: .index(search.index, match.ranges), isReversed: ordering?.isReversed ?? false,
      reversesTies: ordering?.reversesTies ?? false, isOrdered: whole != nil,
      leadsOrder: whole == nil && ordering != nil, filtersEntities: search.overshoots, count: count,
      costPerCandidate: Double(Self.rowsAnEntry), covered: match.covered.union(covered),
      words: { [self] in words(search, match) })
  }

  /// Whether an index has a condition, or its first column has a bound or is in the order. If not,
  /// the index gives neither a range nor an order.
  private func mayServe(_ search: SearchIndex) -> Bool {
    if search.condition != nil { return true }
    let first = search.columns[0]
    return bounds[first] != nil || fetch.order.contains { $0.ownColumn == first }
  }

  /// Whether a unique index contains every requested object. The index has no entry for an object
  /// with a null component. So the predicate must exclude nulls, or there must be no nulls.
  ///
  /// - Parameter count: The number of entries in the ranges.
  private func isComplete(_ search: SearchIndex, _ match: Match, count: Int) -> Bool {
    if search.columns.allSatisfy({ bounds[$0]?.bounds.excludeNull ?? false }) { return true }
    let rows = search.definition.entities.reduce(0) { $0 + statistics.rowCount($1) }
    return (match.usedCount == 0 ? count : statistics.entryCount(search.index, .all)) == rows
  }

  // MARK: Matching

  struct Match {
    /// The ranges to read. They are ascending and disjoint, so entries are found in the order of
    /// the index.
    var ranges: [KeyRange] = [.all]
    var covered: Set<Int> = []
    /// The number of components whose bounds the ranges contain.
    var usedCount = 0
  }

  private func match(_ search: SearchIndex) -> Match {
    var match = Match()
    var prefixes: [[UInt8]] = [[]]
    for (component, column) in zip(search.components, search.columns) {
      guard let known = bounds[column] else { break }
      let found = component.isDescending ? known.bounds.flipped() : known.bounds
      guard prefixes.count * found.ranges.count <= Self.rangesMax else { break }
      let ranges = prefixes.flatMap { prefix in found.ranges.map { Self.join(prefix, $0) } }
      guard ranges.allSatisfy(\.fitsIndexes) else { break }
      match.usedCount += 1
      if found.areExact { match.covered.formUnion(known.conjuncts) }
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
  private func ordering(_ search: SearchIndex) -> Ordering? {
    guard let first = fetch.order.first else {
      return Ordering(isReversed: false, reversesTies: false)
    }
    let wanted = fetch.order.indices.filter { !(fetch.order[$0].ownColumn.map(hasSingleValue) ?? false) }
    let free = search.columns.indices.filter { !hasSingleValue(search.columns[$0]) }
    // Ties must be in the order of references only, so the order must use every free component.
    guard wanted.count == free.count else { return nil }
    let tiesDescend = !first.order.isAscending
    for isReversed in [tiesDescend, !tiesDescend] {
      let agrees = zip(wanted, free).allSatisfy { criterion, part in
        fetch.order[criterion].ownColumn == search.columns[part]
          && fetch.order[criterion].order.isAscending == (search.components[part].isDescending == isReversed)
      }
      if agrees { return Ordering(isReversed: isReversed, reversesTies: isReversed != tiesDescend) }
    }
    return nil
  }

  /// How the index produces the order of the first criterion, for a fetch with a window; nil if it
  /// cannot.
  private func leadingOrder(_ search: SearchIndex) -> Ordering? {
    guard fetch.windowEnd != nil, let first = fetch.order.first, first.ownColumn == search.columns[0] else {
      return nil
    }
    let isReversed = first.order.isAscending == search.components[0].isDescending
    return Ordering(isReversed: isReversed, reversesTies: false)
  }

  /// Whether the predicate restricts a column to a single value.
  private func hasSingleValue(_ column: IndexColumn) -> Bool {
    bounds[column].map { $0.bounds.arePoints && $0.bounds.ranges.count == 1 } ?? false
  }

  private func words(_ search: SearchIndex, _ match: Match) -> String {
    let names = zip(search.components, search.columns).map {
      $0.words(fetch.entity.properties[$1.slot].name)
    }
    let kind = search.isUnique ? "unique index" : "index"
    let used = search.columns.prefix(match.usedCount).map(name)
    let ranges =
      used.isEmpty
      ? "all of it"
      : "\(counted(match.ranges.count, "range")) by "
        + used.joined(separator: ", ")
    return "\(kind) on \(names.joined(separator: ", "))\(search.definition.conditionWords): \(ranges)"
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
