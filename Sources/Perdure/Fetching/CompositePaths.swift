// Paths into composite attributes. Rows and indexes store only the leaves of a composite, under
// their whole paths. So before a query is checked, `company.address.street` becomes the two names
// `company` and `address.street`. A comparison of a composite with nil becomes comparisons of its
// leaves with nil.

internal import PerdurePredicates

/// Joins the names that select an element of a composite into one name.
struct CompositePaths {
  private let schema: StoreSchema
  private let entity: EntityStorage
  private let types: ConstantFitting

  /// Nil if no entity has composites: then no path changes.
  init?(schema: StoreSchema, entity: EntityStorage) {
    guard schema.hasComposites else { return nil }
    self.schema = schema
    self.entity = entity
    types = ConstantFitting(schema: schema, entity: entity)
  }

  func joined(_ predicate: FetchPredicate) -> FetchPredicate { joined(predicate, [:]) }

  func joined(_ order: FetchOrder) -> FetchOrder {
    var order = order
    order.path = joined(order.path, from: .object(entity))
    return order
  }

  private func joined(_ predicate: FetchPredicate, _ variables: [String: PathType]) -> FetchPredicate {
    let joined = predicate.mapChildren(
      predicate: { self.joined($0, variables) }, expression: { self.joined($0, variables) })
    guard case .comparison(let comparison) = joined else { return joined }
    return whole(comparison, variables) ?? joined
  }

  private func joined(_ expression: FetchExpression, _ variables: [String: PathType]) -> FetchExpression {
    switch expression {
    case .keyPath(let path): return .keyPath(joined(path, from: .object(entity)))
    case .member(let base, let path):
      let base = joined(base, variables)
      return .member(of: base, joined(path, from: types.type(base, variables)))
    case .subquery(let collection, let variable, let predicate):
      let collection = joined(collection, variables)
      var inner = variables
      inner[variable] = types.type(collection, variables).element
      return .subquery(collection: collection, variable: variable, predicate: joined(predicate, inner))
    default:
      return expression.mapChildren(
        predicate: { joined($0, variables) }, expression: { joined($0, variables) })
    }
  }

  private func joined(_ path: PropertyPath, from start: PathType) -> PropertyPath {
    guard case .object(let start) = start.element else { return path }
    var names: [String] = []
    var pending = ""
    var entity: EntityStorage? = start
    for name in path.names {
      let whole = pending.isEmpty ? name : "\(pending).\(name)"
      if let here = entity, here.hasComposite(named: whole) {
        pending = whole
        continue
      }
      pending = ""
      names.append(whole)
      entity = entity.flatMap { here in here.slot(named: whole).flatMap { here.properties[$0].destination } }
        .map { schema.entity($0) }
    }
    if !pending.isEmpty { names.append(pending) }
    return PropertyPath(names, aggregate: path.aggregate)
  }

  /// A comparison of a composite with nil, as comparisons of its leaves; nil for any other
  /// comparison.
  ///
  /// - Parameter comparison: Its paths are already joined.
  private func whole(_ comparison: FetchComparison, _ variables: [String: PathType]) -> FetchPredicate? {
    guard comparison.modifier == .direct, comparison.op == .equal || comparison.op == .notEqual else {
      return nil
    }
    let asked: FetchExpression
    switch (comparison.left, comparison.right) {
    case (let side, .constant(.null)), (.constant(.null), let side): asked = side
    default: return nil
    }
    guard let leaves = leaves(of: asked, variables) else { return nil }
    let absent = FetchPredicate.and(
      leaves.map { .comparison(FetchComparison($0, .equal, .constant(.null))) })
    return comparison.op == .equal ? absent : .not(absent)
  }

  /// The leaves of the composite that an expression selects; nil if it does not select a composite.
  private func leaves(of expression: FetchExpression, _ variables: [String: PathType]) -> [FetchExpression]? {
    let (path, start): (PropertyPath, PathType)
    switch expression {
    case .keyPath(let own): (path, start) = (own, .object(entity))
    case .member(let base, let behind): (path, start) = (behind, types.type(base, variables))
    default: return nil
    }
    guard path.aggregate == nil, let composite = path.names.last, case .object(let first) = start,
      let end = end(of: path.names.dropLast(), from: first), end.hasComposite(named: composite)
    else { return nil }
    return end.properties.map(\.name).filter { $0.hasPrefix("\(composite).") }.map { leaf in
      let whole = PropertyPath(path.names.dropLast() + [leaf])
      if case .member(let base, _) = expression { return .member(of: base, whole) }
      return .keyPath(whole)
    }
  }

  /// The entity at the end of a path; nil if the path has other names than to-one relationships.
  private func end(of names: ArraySlice<String>, from start: EntityStorage) -> EntityStorage? {
    var entity = start
    for name in names {
      guard let slot = entity.slot(named: name), let next = entity.properties[slot].destination,
        !entity.properties[slot].isToMany
      else { return nil }
      entity = schema.entity(next)
    }
    return entity
  }
}
