// Access paths through other entities. An index on an attribute at the end of a path finds the
// objects there. The indexes of the relationships then find the objects at the beginning of the
// path, step by step.
//
// A predicate can use such an access path if its bounds exclude null. If a relationship on the path
// has no object, the value is null too, and the indexes do not find the fetched object. For an
// order along to-one relationships, the index is read in order, so the objects are found in order.
// Objects without a value come first in ascending order, and last in descending order. A scan of
// all rows finds them, unless the indexes show that there are none.

internal import PerdurePredicates

extension FetchPlanner {
  /// A path that can be followed from its end to its beginning.
  struct JoinPath {
    /// The indexes of the relationships, from the end of the path. The key of an entry is the
    /// object that the relationship refers to, and its reference is an owner of the relationship.
    var outers: [StoreIndex] = []
    /// The names of the relationships, from the beginning of the path.
    var words: [String] = []
    /// The estimated number of fetched objects for each object at the end.
    var perTarget = 1.0
    /// The entity at the end.
    var destination: EntityStorage
    /// The slot of the value at the end.
    var slot: Int
    var kind: FieldKind
    /// Whether the index of the first relationship contains only objects of the fetched entities.
    var isExact = false
  }

  // MARK: Joins

  /// `company.name == "x"`, `company.owner.name == "x"`, `ANY tags.label IN {…}`.
  func joinCandidates() -> [Candidate] {
    conjuncts.indices.flatMap { position -> [Candidate] in
      guard case .comparison(let comparison) = conjuncts[position],
        let path = comparison.left.pathOfValue, let way = joinPath(path.names, comparison.modifier)
      else { return [] }
      var asked = comparison
      asked.left = comparison.left.replacingPath(with: way.destination.properties[way.slot].name)
      let bounds = way.destination.bounds(asked)
      let functions = Set(bounds.entries.filter(\.element.excludeNull).map(\.column.function))
      return indexes(at: way, for: functions).compactMap { inner, component, name in
        let column = IndexColumn(slot: way.slot, function: component.function)
        guard let bounds = bounds[column], bounds.excludeNull else { return nil }
        let ranges = (component.isDescending ? bounds.flipped() : bounds).ranges
        guard ranges.allSatisfy(\.fitsIndexes) else { return nil }
        let found = ranges.reduce(0) { $0 + statistics.entryCount(inner, $1) }
        return Candidate(
          access: .join(outers: way.outers, inner: inner, ranges), isOrdered: fetch.order.isEmpty,
          filtersEntities: true, count: Int((Double(found) * way.perTarget).rounded(.up)),
          costPerCandidate: Double(way.outers.count) + 3, costAtFirst: Double(found),
          covered: bounds.areExact ? [position] : [],
          words: { "objects whose \(way.words.joined(separator: ".")) is found by the index on \(name)" })
      }
    }
  }

  /// The indexes whose first component is one of `functions`, applied to the value at the end of a
  /// path. A nil function means the value itself. The indexes contain every object that may have
  /// the value.
  private func indexes(
    at way: JoinPath, for functions: Set<TextFunction?> = [nil]
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

  private func joinPath(_ names: [String], _ modifier: FetchComparison.Modifier) -> JoinPath? {
    guard names.count > 1, modifier != .all else { return nil }
    var way = JoinPath(destination: fetch.entity, slot: 0, kind: .absent)
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

  /// The candidates for an order by an attribute at the end of to-one relationships. They also use
  /// the bounds of the same attribute.
  func pathOrderCandidates() -> [Candidate] {
    guard fetch.order.count == 1, let criterion = fetch.order.first, criterion.order.path.aggregate == nil,
      let way = joinPath(criterion.order.path.names, .direct)
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
      // The number of entries that are read for each fetched object. It is large if many indexed
      // objects are not the target of a fetched object.
      let walked = min(Double(found), way.perTarget > 0 ? 1 / way.perTarget : .infinity)
      var candidate = Candidate(
        access: .pathOrder(
          outers: way.outers, inner: inner, ranges, isReversed: isAscending == component.isDescending,
          includesNull: bounded == nil),
        isReversed: !isAscending, isOrdered: true, filtersEntities: !way.isExact, count: rowTotal,
        costPerCandidate: Double(way.outers.count) + 3 + walked,
        words: { "\(way.words.joined(separator: ".")), in the order of the index on \(name)" })
      if let bounded {
        candidate.covered = bounded.bounds.areExact ? bounded.conjuncts : []
        candidate.count = min(rowTotal, Int((Double(found) * way.perTarget).rounded(.up)))
      } else if isAscending {
        // Objects without a value come first. Counting entries may show that there are none;
        // otherwise all rows are read.
        let isCertain = way.isExact && statistics.entryCount(way.outers.last ?? inner, .all) == rowTotal
        candidate.costAtFirst = Double(isCertain ? found : 3 * rowTotal)
      }
      return candidate
    }
  }

  /// The bounds of the value at the end of a path; nil if the conjuncts do not exclude null.
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
  /// The path, if the expression is a path without an aggregate, or text functions of one.
  fileprivate var pathOfValue: PropertyPath? {
    switch self {
    case .keyPath(let path): path.aggregate == nil ? path : nil
    case .function(let function, let arguments) where TextFunction(function) != nil && arguments.count == 1:
      arguments[0].pathOfValue
    default: nil
    }
  }

  /// The same expression, with a property of the object at the end instead of the path.
  fileprivate func replacingPath(with name: String) -> FetchExpression {
    switch self {
    case .function(let function, let arguments):
      .function(function, arguments.map { $0.replacingPath(with: name) })
    default: .keyPath(PropertyPath(name))
    }
  }
}
