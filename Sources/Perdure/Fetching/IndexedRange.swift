// Objects by one range of one index, `email == "ann@acme.com"`, `salary >= 10 AND salary < 20` or `name BEGINSWITH "an"`:
// what programs ask most often, and what costs less than a plan of it. Such a request is known by its shape, without one.
//
//   U1. What is recognised is what the planner would choose: the index, the range, no order, and no residual but that of
//       a prefix, which keys tell as well as rows (TextPrefix.swift). So the objects are the same, in the same order,
//       and `explain` tells the truth.
//   U2. Whatever is unusual, also a mistake in the request, is not recognised, and goes the way of all others.
//   U3. The planner takes a range when a scan would cost more, which it counts the entries for. Here they are taken
//       right away, until they are too many for it: then the plan is made after all.

internal import PerdurePredicates

/// A range of an index that a fetch asks for, and nothing else.
struct IndexedRange {
  let index: StoreIndex
  let range: KeyRange
  /// Whether it is the whole key of a unique index.
  let isUniqueKey: Bool
  /// What the keys in the range have to be looked at for.
  private let prefix: TextPrefix?
  private let concrete: [UInt16]

  /// So many entries are taken without a plan at most: of more it is a small part of the cost.
  private static let entriesMax = 1024

  /// The range that a query asks for; nil when it asks for anything else. O(length of the keys).
  init?(_ query: FetchQuery, _ schema: StoreSchema) {
    guard query.order.isEmpty, query.offset == 0, let predicate = query.predicate,
      let (name, comparisons) = Self.comparisons(predicate),
      let column = schema.searchColumn(name, ofEntity: query.entity),
      query.includesSubentities || column.isAlone
    else { return nil }
    var known: SearchBounds?
    for comparison in comparisons {
      guard case .constant(let value) = comparison.right, column.kind.mayBeIn(comparison.op, value),
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

  /// Comparisons that all hold, as they are written, between one property and something.
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

  /// The objects in a view; nil where a plan has to say how to find them (U3).
  func references(in view: any StateReader) throws -> [ObjectReference]? {
    let rowTotal = try concrete.reduce(0) { try $0 + view.rowCount(entity: $1) }
    let countMax = isUniqueKey ? .max : min(Self.entriesMax, (rowTotal - 1) / FetchPlanner.rowsAnEntry)
    if rowTotal <= FetchPlanner.scannedMax { return nil }
    var found: [ObjectReference] = []
    var lookedAt = 0
    return try reading {
      // Several by a unique key only where somebody has written to the store who knows nothing of its indexes.
      try view.visitEntries(index, range, descending: false) { key, reference in
        if prefix?.holds(key) != false { found.append(reference) }
        lookedAt += 1
        return lookedAt <= countMax
      }
      return lookedAt <= countMax ? found : nil
    }
  }

  /// How many objects there are in a view, without a look at any; nil where a plan has to say. O(log n), of a prefix
  /// besides O(m), m entries where it is followed by other than ASCII.
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

  /// An index that cannot be read is as dear as can be: a scan does without it.
  private func reading<R>(_ body: () throws -> R?) throws -> R? {
    do { return try body() } catch {
      guard isUniqueKey else { return nil }
      throw error
    }
  }
}

/// A property whose values alone are the keys of indexes that have all objects of an entity and no others.
struct SearchColumn: Sendable {
  let kind: FieldKind
  /// Whether the entity has no sub-entities with rows.
  let isAlone: Bool
  /// The unique index of which it is the whole key.
  var uniqueIndex: StoreIndex?
  /// The only index that serves a range of it.
  var index: StoreIndex?

  /// The columns of an entity that can be looked up, by name. Numbers with fractions are left out: constants are fitted
  /// to them (ConstantFitting.swift); references, as what they are compared with is looked up first.
  static func columns(of entity: EntityStorage, _ indexes: [IndexDefinition]) -> [String: SearchColumn] {
    var columns: [String: SearchColumn] = [:]
    let serving = indexes.indices.filter {
      indexes[$0].components != nil && indexes[$0].serves(entity.concrete)
    }
    // What holds only for some objects may hold for those that are wanted, and be shorter.
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
      // Of several that begin with it, the planner chooses.
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
  /// Whether a comparison with a constant is no mistake.
  fileprivate func mayBeIn(_ op: FetchComparison.Operator, _ value: Value) -> Bool {
    guard op == .between else { return mayEqual(value) }
    if case .list(let ends) = value, ends.count == 2 { return ends.allSatisfy(mayEqual) }
    return false
  }

  /// Whether the order of values is that of their keys, and constants are compared as they are.
  fileprivate var isOrderedExactly: Bool {
    switch self {
    case .int16, .int32, .int64, .string, .date: true
    case .float, .double, .decimal, .reference, .absent, .uuid, .data, .url, .bool: false
    }
  }
}
