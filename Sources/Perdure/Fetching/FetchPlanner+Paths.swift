// Access paths through other entities: an index on an attribute at the end of a path finds the objects there, and
// the indexes of the relationships lead back from them, step by step.
//
// For a predicate this finds what satisfies it: null at the end of a path may as well mean that the path ends
// earlier, so bounds that null satisfies do not qualify. For an order along to-one relationships the index is walked
// in order, and what it leads to has the values in order; what has none, for whatever reason, stands before all
// others and is found by looking at every row, unless the indexes show that there is nothing of the kind.

internal import PerdurePredicates

extension FetchPlanner {
  /// A path that can be followed backwards.
  struct WayIn {
    /// From the objects at the end to those of the fetch: indexes from what is related to what it is related to.
    var outers: [StoreIndex] = []
    /// The steps in words, from the object on.
    var words: [String] = []
    /// About how many objects there are for each at the end.
    var perTarget = 1.0
    /// The entity at the end.
    var destination: EntityStorage
    /// The slot of the value there.
    var slot: Int
    var kind: FieldKind
    /// Whether the object's own relationship is that of the wanted entities alone.
    var isExact = false
  }

  // MARK: Joins

  /// `company.name == "x"`, `company.owner.name == "x"`, `ANY tags.label IN {…}`.
  func joinCandidates() -> [Candidate] {
    conjuncts.indices.flatMap { position -> [Candidate] in
      guard case .comparison(let comparison) = conjuncts[position],
        let path = comparison.left.pathOfValue, let way = wayIn(path.names, comparison.modifier)
      else { return [] }
      var asked = comparison
      asked.left = comparison.left.asked(of: way.destination.properties[way.slot].name)
      let bounds = way.destination.bounds(asked).filter { $0.value.excludeNull }
      return indexes(at: way, for: Set(bounds.keys.map(\.function))).compactMap { inner, component, name in
        let column = IndexColumn(slot: way.slot, function: component.function)
        guard let bounds = bounds[column] else { return nil }
        let ranges = (component.isDescending ? bounds.flipped() : bounds).ranges
        guard ranges.allSatisfy(\.fitsIndexes) else { return nil }
        let found = ranges.reduce(0) { $0 + statistics.entryCount(inner, $1) }
        return Candidate(
          access: .join(outers: way.outers, inner: inner, ranges), isOrdered: fetch.order.isEmpty,
          filtersEntities: true, count: Int((Double(found) * way.perTarget).rounded(.up)),
          costPerCandidate: Double(way.outers.count) + 3, costAtFirst: Double(found),
          settled: bounds.areExact ? [position] : [],
          words: { "objects whose \(way.words.joined(separator: ".")) is found by the index on \(name)" })
      }
    }
  }

  /// The indexes that begin with what a way ends at, or with one of some functions of it, and know every object that
  /// may have it.
  private func indexes(
    at way: WayIn, for functions: Set<TextFunction?> = [nil]
  ) -> [(index: StoreIndex, component: IndexComponent, name: String)] {
    let property = way.destination.properties[way.slot]
    return fetch.schema.indexes.indices.compactMap { position in
      let definition = fetch.schema.indexes[position]
      guard let components = definition.components, let first = components.first,
        definition.condition == nil, first.property == property.number, functions.contains(first.function),
        components.count == 1 || !definition.isUnique,
        definition.serves(way.destination.concrete)
      else { return nil }
      let name = first.function.map { "\($0.rawValue)(\(property.name))" } ?? property.name
      return (StoreIndex(rawValue: position), first, "\(way.destination.name).\(name)")
    }
  }

  private func wayIn(_ names: [String], _ modifier: FetchComparison.Modifier) -> WayIn? {
    guard names.count > 1, modifier != .all else { return nil }
    var way = WayIn(destination: fetch.entity, slot: 0, kind: .absent)
    var hasMany = false
    for name in names.dropLast() {
      guard let slot = way.destination.slot(named: name) else { return nil }
      let property = way.destination.properties[slot]
      let outer: StoreIndex
      switch property.form {
      case .toOne(_, let index): outer = index
      case .inverse(_, _, let owners?, true) where modifier == .any:
        outer = owners
        hasMany = true
      default: return nil
      }
      if way.outers.isEmpty { way.isExact = fetch.schema.definition(outer).entities == fetch.concrete }
      guard let next = property.destination.map({ fetch.schema.entity($0) }) else { return nil }
      way.outers.insert(outer, at: 0)
      way.words.append(name)
      way.destination = next
      let targets = max(1, next.concrete.reduce(0) { $0 + statistics.rowCount($1) })
      way.perTarget *= Double(statistics.entryCount(outer, .all)) / Double(targets)
    }
    guard hasMany == (modifier == .any), let slot = names.last.flatMap(way.destination.slot(named:)),
      case .attribute(let kind) = way.destination.properties[slot].form, kind != .absent
    else { return nil }
    (way.slot, way.kind) = (slot, kind)
    return way
  }

  // MARK: Orders

  /// Order by an attribute at the end of to-one relationships, and bounds on the same attribute, if there are any.
  func pathOrderCandidates() -> [Candidate] {
    guard fetch.order.count == 1, let criterion = fetch.order.first, criterion.order.path.aggregate == nil,
      let way = wayIn(criterion.order.path.names, .direct)
    else { return [] }
    let bounded = bounds(along: criterion.order.path, way.kind)
    return indexes(at: way).compactMap { inner, component, name in
      guard fetch.schema.definition(inner).components?.count == 1,
        let bounds = bounded?.bounds ?? SearchBounds(way.kind, .notEqual, .null, [])
      else { return nil }
      let ranges = (component.isDescending ? bounds.flipped() : bounds).ranges
      guard ranges.allSatisfy(\.fitsIndexes) else { return nil }
      let isAscending = criterion.order.isAscending
      let found = ranges.reduce(0) { $0 + statistics.entryCount(inner, $1) }
      // Entries that are walked over until one leads to an object: not all do.
      let walked = min(Double(found), way.perTarget > 0 ? 1 / way.perTarget : .infinity)
      var candidate = Candidate(
        access: .pathOrder(
          outers: way.outers, inner: inner, ranges, isReversed: isAscending == component.isDescending,
          includesNull: bounded == nil),
        isReversed: !isAscending, isOrdered: true, filtersEntities: !way.isExact, count: rowTotal,
        costPerCandidate: Double(way.outers.count) + 3 + walked,
        words: { "\(way.words.joined(separator: ".")), in the order of the index on \(name)" })
      if let bounded {
        candidate.settled = bounded.bounds.areExact ? bounded.conjuncts : []
        candidate.count = min(rowTotal, Int((Double(found) * way.perTarget).rounded(.up)))
      } else if isAscending {
        // What has no value comes first: the indexes are asked whether there is any, or all rows are.
        let isCertain = way.isExact && statistics.entryCount(way.outers.last ?? inner, .all) == rowTotal
        candidate.costAtFirst = Double(isCertain ? found : 3 * rowTotal)
      }
      return candidate
    }
  }

  /// What the conjuncts say about the value at the end of a path, where that leaves out null.
  private func bounds(along path: PropertyPath, _ kind: FieldKind) -> ColumnBounds? {
    var known: ColumnBounds?
    for (position, conjunct) in conjuncts.enumerated() {
      guard case .comparison(let comparison) = conjunct, comparison.modifier == .direct,
        comparison.left == .keyPath(path), case .constant(let value) = comparison.right,
        let found = SearchBounds(kind, comparison.op, value, comparison.options), found.excludeNull
      else { continue }
      var next = known ?? ColumnBounds(bounds: found, conjuncts: [])
      next.bounds = next.bounds.intersected(found)
      next.conjuncts.insert(position)
      known = next
    }
    return known
  }
}

extension FetchExpression {
  /// The path that the expression is, or is a function of text of.
  fileprivate var pathOfValue: PropertyPath? {
    switch self {
    case .keyPath(let path): path.aggregate == nil ? path : nil
    case .function(let function, let arguments) where TextFunction(function) != nil && arguments.count == 1:
      arguments[0].pathOfValue
    default: nil
    }
  }

  /// The same, asked of the object at the end of the path.
  fileprivate func asked(of name: String) -> FetchExpression {
    switch self {
    case .function(let function, let arguments): .function(function, arguments.map { $0.asked(of: name) })
    default: .keyPath(PropertyPath(name))
    }
  }
}
