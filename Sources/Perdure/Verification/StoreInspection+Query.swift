// Queries of a store without the classes of its program: a fetch on rows, with values by name.

package import PerdureModel
package import PerdurePredicates

/// A query that uses only names.
package struct InspectionQuery: Sendable {
  /// The name of the entity.
  package var entity: String
  /// Whether objects of subentities are results too.
  package var includesSubentities = true
  /// The condition on the objects; nil for all.
  package var predicate: FetchPredicate?
  /// The order; empty for no particular order.
  package var order: [FetchOrder] = []
  /// Paths of the values to read, such as `company.name` or `workers.@count`. The path `objectID`
  /// returns the object itself. Empty for all values that are not to-many relationships.
  package var columns: [String] = []
  /// The maximum number of objects; nil for no limit.
  package var limit: Int?
  /// The number of objects to skip at the beginning.
  package var offset = 0

  package init(entity: String) {
    self.entity = entity
  }
}

/// A column of the results.
package struct InspectedColumn: Sendable, Hashable {
  package let name: String
  /// Whether its values are numbers.
  package let isNumeric: Bool
}

/// The results of a query, which are read one by one.
package struct InspectionResults {
  package let columns: [InspectedColumn]
  private let inspection: StoreInspection
  private let executor: FetchExecutor
  private let paths: [ColumnPath]

  fileprivate init(_ inspection: StoreInspection, _ executor: FetchExecutor, _ paths: [ColumnPath]) {
    self.inspection = inspection
    self.executor = executor
    self.paths = paths
    columns = paths.map { InspectedColumn(name: $0.name, isNumeric: $0.isNumeric) }
  }

  /// Visits the objects until `body` returns false. `body` receives the values of the columns.
  ///
  /// - Throws: The errors of `body`. `FetchError`, `PredicateEvaluationError` or `StoreError` if an
  ///   object cannot be read or compared. The visit then ends.
  /// - Complexity: The same as for the fetch. The visit needs memory for one object at a time. If
  ///   no index provides the order, it needs memory for the keys of all objects, or of as many as
  ///   offset and limit together.
  package func forEach(_ body: ([InspectedObject.Property]) throws -> Bool) throws {
    do {
      try executor.visit { reference, stored in
        let row = try stored.map { try executor.graph.check($0, reference) }
        let source = RowSource(reference, executor.graph, row: row)
        return try body(paths.map { try inspection.value(of: $0, source, reference) })
      }
    } catch let error as PredicateEvaluationError where error.code == .sourceFailed {
      throw error.cause ?? error
    }
  }
}

/// A column whose path fits the model.
private struct ColumnPath {
  let name: String
  /// Nil for the object itself.
  let path: PropertyPath?
  /// The kind of the values; nil if it is known only with the value.
  let kind: FieldKind?
  let isNumeric: Bool

  static let object = ColumnPath(name: "objectID", path: nil, kind: .reference, isNumeric: false)
}

extension StoreInspection {
  /// The model that is stored in the store.
  package var model: ManagedObjectModel { store.model.model }

  /// Prepares a query. Reads no object.
  ///
  /// - Throws: `FetchError` if the query does not fit the model.
  package func results(of query: InspectionQuery) throws -> InspectionResults {
    guard let entity = schema.entity(named: query.entity) else {
      let near = entities(like: query.entity)
      throw FetchError(
        .unknownEntity, "The stored model has no entity \(query.entity).\(NearMisses.question(near))",
        entity: query.entity,
        suggestions: near)
    }
    var fetch = FetchQuery(entity: entity.number)
    (fetch.order, fetch.limit, fetch.offset) = (query.order, query.limit, query.offset)
    fetch.includesSubentities = query.includesSubentities
    if let predicate = query.predicate {
      guard let flat = predicate.flattened() else { throw FetchError.tooDeep(entity: entity.name) }
      fetch.predicate = flat
    }
    let names = query.columns.isEmpty ? defaultColumns(of: entity) : query.columns
    let paths = try names.map { name throws(FetchError) in try path(name, of: entity) }
    let view = store.view()
    let prepared = try PreparedFetch(fetch, view.schema)
    let plan = FetchPlanner.plan(prepared, FetchStatistics(view))
    return InspectionResults(self, FetchExecutor(prepared, plan, view: view), paths)
  }

  /// The reference to an object, for predicates. Whether the object exists is not checked.
  ///
  /// - Parameter text: The object as queries show it, such as `Worker/p1`.
  /// - Returns: Nil if the text has another form, or names no entity that has objects.
  package func reference(_ text: some StringProtocol) -> ObjectReference? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[1].first == "p", let id = UInt64(parts[1].dropFirst()),
      let entity = schema.entity(named: String(parts[0])), entity.layouts != nil, id >> 48 == 0
    else { return nil }
    return ObjectReference(entity: entity.number, id: id)
  }

  private func defaultColumns(of entity: EntityStorage) -> [String] {
    let stored = entity.properties.filter { property in
      if case .attribute(.absent) = property.form { return false }
      return !property.isToMany
    }
    return [ColumnPath.object.name] + stored.map(\.name)
  }

  private func path(_ name: String, of entity: EntityStorage) throws(FetchError) -> ColumnPath {
    if name == ColumnPath.object.name { return .object }
    var order = FetchOrder(name)
    guard !order.path.names.isEmpty else { throw .unknownProperty(name, of: entity) }
    if let composites = CompositePaths(schema: schema, entity: entity) { order = composites.joined(order) }
    let type = try schema.type(of: order.path, from: .object(entity), asked: entity)
    var kind: FieldKind?
    if case .value(let found) = type { kind = found }
    return ColumnPath(name: name, path: order.path, kind: kind, isNumeric: kind?.isNumeric ?? false)
  }

  fileprivate func value(
    of column: ColumnPath, _ source: RowSource, _ reference: ObjectReference
  ) throws -> InspectedObject.Property {
    guard let path = column.path else { return inspected(.reference(reference), .reference) }
    // The kind is needed only for Float. Other values have their own kind.
    return inspected(try FetchExpression.keyPath(path).value(with: source), column.kind ?? .absent)
  }
}
