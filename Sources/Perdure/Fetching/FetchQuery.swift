// A fetch request without its class: as a query of a store schema, and prepared for the planner.

package import PerdurePredicates

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// The objects to fetch, their order and the window.
package struct FetchQuery: Sendable {
  /// The number of the entity.
  package var entity: UInt16
  /// Whether objects of sub-entities are included.
  package var includesSubentities = true
  package var predicate: FetchPredicate?
  package var order: [FetchOrder] = []
  /// The maximum number of objects; nil for all.
  package var limit: Int?
  /// The number of objects to skip at the beginning.
  package var offset = 0

  package init(entity: UInt16) {
    self.entity = entity
  }
}

extension FetchQuery {
  /// - Throws: `FetchError` for a negative limit or offset.
  func checkWindow(_ schema: StoreSchema) throws(FetchError) {
    guard offset < 0 || limit ?? 0 < 0 else { return }
    throw FetchError(
      .invalidWindow, "The request has a negative limit or offset. Use 0 or more.",
      entity: schema.entity(entity).name)
  }
}

/// A query that fits the schema, with a folded predicate and a resolved order.
package struct PreparedFetch {
  package let schema: StoreSchema
  package let entity: EntityStorage
  /// The concrete entities of the requested objects, ascending.
  package let concrete: [UInt16]
  /// Folded (PredicateFolding.swift).
  package private(set) var predicate: FetchPredicate
  package private(set) var order: [SortCriterion]
  package private(set) var limit: Int?
  package private(set) var offset: Int
  /// The value of `now()`.
  package let now: Date

  /// Checks a query against the schema.
  ///
  /// - Throws: `FetchError`.
  package init(_ query: FetchQuery, _ schema: StoreSchema, now: Date = Date()) throws {
    let entity = schema.entity(query.entity)
    try query.checkWindow(schema)
    var query = query
    query.predicate = query.predicate?.replacingNamedElements()
    if !schema.hasEntityProperty { query.predicate = query.predicate?.replacingEntityNames() }
    if let composites = CompositePaths(schema: schema, entity: entity) {
      query.predicate = query.predicate.map(composites.joined)
      query.order = query.order.map(composites.joined)
    }
    var check = PredicateCheck(schema: schema, entity: entity)
    let asked = ConstantFitting(schema: schema, entity: entity)
      .fit((query.predicate ?? .true).replacingObjectIDs())
    try check.check(asked)
    self.schema = schema
    self.entity = entity
    concrete =
      query.includesSubentities ? entity.concrete : entity.concrete.filter { $0 == entity.number }
    predicate = asked.folded(now: now).replacingCopies(schema, entity)
    order = try query.order.map { try SortCriterion($0, entity, schema) }
    limit = query.limit
    offset = query.offset
    self.now = now
  }

  /// The fetch of all objects that satisfy a part of the predicate, without an order.
  func all(satisfying part: FetchPredicate) -> PreparedFetch {
    var fetch = self
    (fetch.predicate, fetch.order, fetch.limit, fetch.offset) = (part, [], nil, 0)
    return fetch
  }

  /// The same fetch with another offset.
  func skipping(_ offset: Int) -> PreparedFetch {
    var fetch = self
    fetch.offset = offset
    return fetch
  }

  /// The number of objects up to the end of the window; nil for all.
  var windowEnd: Int? { Self.windowEnd(offset: offset, limit: limit) }

  static func windowEnd(offset: Int, limit: Int?) -> Int? {
    guard let limit else { return nil }
    let (end, overflow) = offset.addingReportingOverflow(limit)
    return overflow ? nil : end
  }
}

/// A criterion of the order, resolved.
package struct SortCriterion {
  package let order: FetchOrder
  /// A property along the path.
  struct Step {
    let slot: Int
    let property: PropertyStorage
    /// The value to read if a layout of rows does not have the slot.
    let standIn: Value
  }

  /// The properties along the path. The last one has the value, or its objects are counted.
  let steps: [Step]
  /// The kind of the values.
  let kind: FieldKind

  /// - Throws: `FetchError` if the path does not exist or ends at many values.
  init(_ order: FetchOrder, _ entity: EntityStorage, _ schema: StoreSchema) throws(FetchError) {
    let type = try schema.type(of: order.path, from: .object(entity), asked: entity)
    var order = order
    order.path = schema.expanded(order.path, from: entity)
    var steps: [Step] = []
    var here: EntityStorage? = entity
    for name in order.path.names {
      guard let at = here, let slot = at.slot(named: name) else { break }
      let property = at.properties[slot]
      steps.append(Step(slot: slot, property: property, standIn: schema.standIn(slot, of: at)))
      here = property.destination.map { schema.entity($0) }
    }
    let many = steps.firstIndex(where: \.property.isToMany)
    let isCounted = order.path.aggregate == .count && many == steps.count - 1
    let isSingle = order.path.aggregate == nil && many == nil
    guard isCounted || isSingle, steps.count == order.path.names.count, !steps.isEmpty else {
      throw FetchError(
        .toManyOrder,
        "\(FetchExpression.keyPath(order.path)) of \(entity.name) does not lead to one value to sort by.",
        entity: entity.name, key: FetchExpression.keyPath(order.path).description)
    }
    if steps.last?.property.isOpaque == true {
      throw FetchError(
        .typeMismatch,
        "\(FetchExpression.keyPath(order.path)) of \(entity.name) is transformable: its bytes have no order.",
        entity: entity.name, key: FetchExpression.keyPath(order.path).description)
    }
    self.order = order
    self.steps = steps
    ownColumn = steps.count == 1 && isSingle ? entity.column(ofSlot: steps[0].slot)?.column : nil
    switch type {
    case .value(let kind): self.kind = kind
    case .object, .many, .either, .any: self.kind = .reference
    }
  }

  /// The slot, if the value is a property of the object itself.
  var ownSlot: Int? {
    steps.count == 1 && order.path.aggregate == nil ? steps[0].slot : nil
  }

  /// The column of the value, if it is a property of the object itself.
  let ownColumn: IndexColumn?
}
