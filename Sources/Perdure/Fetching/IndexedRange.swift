// Finds objects by one range of one index, for example by `email == "ann@acme.com"`, `salary >= 10
// AND salary < 20` or `name BEGINSWITH "an"`. Most fetches of programs have this form, and making a
// plan costs more than such a fetch. So the range is derived from the request without a plan.
//
//   U1. The range is the one that the planner chooses for this request: the same index and bounds,
//       no order and no residual. The residual of a prefix is the exception: keys suffice to check
//       it (TextPrefix.swift). So the objects and their order are those of the plan that `explain`
//       describes.
//   U2. Any other request, including an invalid one, is planned as usual.
//   U3. The planner counts the entries of a range, and uses the range if a scan costs more.
//       `IndexedRange` reads the entries without counting them first. If it finds more entries than
//       the planner accepts, or more than `entriesMax`, the planner runs after all. For a key of a
//       unique index, there is no limit. If there are at most `FetchPlanner.scannedMax` rows, the
//       planner always runs.

internal import PerdurePredicates

/// A fetch that is one range of an index.
struct IndexedRange {
  let index: StoreIndex
  let range: KeyRange
  /// Whether the range is one whole key of a unique index.
  let isUniqueKey: Bool
  /// Set if the keys in the range must be checked against a prefix.
  private let prefix: TextPrefix?
  private let concrete: [UInt16]

  /// The maximum number of entries to read without a plan. With more, a plan is a small part of the
  /// cost.
  private static let entriesMax = 1024

  /// The range of a query; nil if the query needs the planner (U2). O(length of the keys).
  init?(_ query: FetchQuery, _ schema: StoreSchema) {
    guard query.order.isEmpty, query.offset == 0, let predicate = query.predicate,
      let (name, comparisons) = Self.comparisons(predicate),
      let column = schema.searchColumn(name, ofEntity: query.entity),
      query.includesSubentities || column.isAlone
    else { return nil }
    var known: SearchBounds?
    for comparison in comparisons {
      guard case .constant(let value) = comparison.right, column.kind.acceptsComparison(comparison.op, value),
        comparison.op == .equal || column.kind.isOrderedExactly,
        let bounds = SearchBounds(column.kind, comparison.op, value, [])
      else { return nil }
      known = known.map { $0.intersected(bounds) } ?? bounds
    }
    guard let known, known.excludeNull, known.ranges.count == 1, known.ranges[0].fitsIndexes
    else { return nil }
    if known.areExact {
      prefix = nil
    } else if comparisons.count == 1, comparisons[0].op == .beginsWith,
      let front = TextPrefix(known.ranges[0])
    {
      prefix = front
    } else {
      return nil
    }
    if known.arePoints, let unique = column.uniqueIndex, query.limit.map({ $0 > 0 }) ?? true {
      (index, isUniqueKey) = (unique, true)
    } else if let led = column.index, column.uniqueIndex == nil || !known.arePoints, query.limit == nil {
      (index, isUniqueKey) = (led, false)
    } else {
      return nil
    }
    range = known.ranges[0]
    concrete = schema.entity(query.entity).concrete
  }

  /// The comparisons of a conjunction, if all of them compare the same property.
  private static func comparisons(_ predicate: FetchPredicate) -> (name: String, [FetchComparison])? {
    let parts: [FetchPredicate]
    if case .and(let all) = predicate { parts = Array(all) } else { parts = [predicate] }
    var (name, comparisons) = ("", [FetchComparison]())
    for part in parts {
      guard case .comparison(let comparison) = part, comparison.modifier == .direct,
        comparison.options.isEmpty, ordering.contains(comparison.op),
        case .keyPath(let path) = comparison.left, path.names.count == 1, path.aggregate == nil,
        comparisons.isEmpty || path.names[0] == name
      else { return nil }
      name = path.names[0]
      comparisons.append(comparison)
    }
    return comparisons.isEmpty ? nil : (name, comparisons)
  }

  private static let ordering: [FetchComparison.Operator] = [
    .equal, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .between, .beginsWith,
  ]

  /// The objects in a view; nil if a plan must find them (U3), or if the index cannot be read.
  func references(in view: any StateReader) throws -> [ObjectReference]? {
    let rowTotal = try concrete.reduce(0) { try $0 + view.rowCount(entity: $1) }
    let countMax = isUniqueKey ? .max : min(Self.entriesMax, (rowTotal - 1) / FetchPlanner.rowsAnEntry)
    if rowTotal <= FetchPlanner.scannedMax { return nil }
    var found: [ObjectReference] = []
    found.reserveCapacity(isUniqueKey ? 1 : 16)
    var visitedCount = 0
    return try reading {
      // A unique key has several entries only if a writer ignored the indexes of the store.
      try view.visitEntries(index, range, descending: false) { key, reference in
        if prefix?.holds(key) != false { found.append(reference) }
        visitedCount += 1
        return visitedCount <= countMax
      }
      return visitedCount <= countMax ? found : nil
    }
  }

  /// The number of objects in a view, without reading their rows; nil if the index cannot be read.
  /// O(log n). A prefix adds O(m), where m entries have a non-ASCII character directly after the
  /// prefix.
  func count(in view: any StateReader) throws -> Int? {
    try reading {
      guard let prefix else { return try view.entryCount(index, range) }
      var count = try view.entryCount(index, prefix.certain)
      try view.visitEntries(index, prefix.doubtful, descending: false) { key, _ in
        if prefix.holds(key) { count += 1 }
        return true
      }
      return count
    }
  }

  /// Returns nil if the index cannot be read, so that a plan can use a scan. Errors of a unique
  /// index are thrown.
  private func reading<R>(_ body: () throws -> R?) throws -> R? {
    do { return try body() } catch {
      guard isUniqueKey else { return nil }
      throw error
    }
  }
}

/// A property that is the only component of some indexes over exactly the rows of one entity and
/// its subentities.
struct SearchColumn: Sendable {
  let kind: FieldKind
  /// Whether the entity has no subentities with rows.
  let isAlone: Bool
  /// The unique index whose only component is the property.
  var uniqueIndex: StoreIndex?
  /// The only index that serves a range of the property.
  var index: StoreIndex?

  /// The columns of an entity that can be looked up, by name. Numbers with fractions are excluded,
  /// because constants are converted for them (ConstantFitting.swift). References are excluded,
  /// because object IDs in their comparisons must be resolved first.
  static func columns(of entity: EntityStorage, _ indexes: [IndexDefinition]) -> [String: SearchColumn] {
    var columns: [String: SearchColumn] = [:]
    let serving = indexes.indices.filter {
      indexes[$0].components != nil && indexes[$0].serves(entity.concrete)
    }
    // A partial index may contain all requested objects and be shorter, so the planner must choose.
    let hasPartial = serving.contains { indexes[$0].condition != nil }
    for position in serving {
      let definition = indexes[position]
      guard let components = definition.components, components.count == 1, definition.condition == nil,
        definition.entities == entity.concrete, let column = entity.column(components[0]),
        column.function == nil, !components[0].isDescending,
        let (own, kind) = entity.column(ofSlot: column.slot), own == column, isExact(kind)
      else { continue }
      let name = entity.properties[column.slot].name
      guard !name.utf8.contains(UInt8(ascii: ".")) else { continue }
      var known = columns[name] ?? SearchColumn(kind: kind, isAlone: entity.concrete.count == 1)
      let index = StoreIndex(rawValue: position)
      if definition.isUnique, known.uniqueIndex == nil { known.uniqueIndex = index }
      // If several indexes begin with the column, the planner must choose.
      let led = serving.count { indexes[$0].components?.first.flatMap(entity.column)?.slot == column.slot }
      if led == 1, !hasPartial { known.index = index }
      columns[name] = known
    }
    return columns
  }

  private static func isExact(_ kind: FieldKind) -> Bool {
    switch kind {
    case .int16, .int32, .int64, .string, .uuid, .date, .data, .url, .bool: true
    case .float, .double, .decimal, .reference, .absent: false
    }
  }
}

extension FieldKind {
  /// Whether a comparison with a constant is valid.
  fileprivate func acceptsComparison(_ op: FetchComparison.Operator, _ value: Value) -> Bool {
    guard op == .between else { return mayEqual(value) }
    if case .list(let ends) = value, ends.count == 2 { return ends.allSatisfy(mayEqual) }
    return false
  }

  /// Whether values are ordered like their keys, and constants are compared without conversion.
  fileprivate var isOrderedExactly: Bool {
    switch self {
    case .int16, .int32, .int64, .string, .date: true
    case .float, .double, .decimal, .reference, .absent, .uuid, .data, .url, .bool: false
    }
  }
}
