// Fetch requests without their classes: queries of a store schema, and queries that are prepared
// for the planner.

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
  /// Whether objects of subentities are included.
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

/// A query that fits the schema, with a folded predicate and a resolved order. It is a class,
/// because the planner, the plan and the executor each retain it.
package final class PreparedFetch {
  package let schema: StoreSchema
  package let entity: EntityStorage
  /// The concrete entities of the requested objects, ascending.
  package let concrete: [UInt16]
  /// The folded predicate (PredicateFolding.swift).
  package let predicate: FetchPredicate
  package let order: [SortCriterion]
  package let limit: Int?
  package let offset: Int
  /// The value of `now()`.
  package let now: Date

  /// Checks a query against the schema.
  ///
  /// - Throws: `FetchError`.
  package init(_ query: FetchQuery, _ schema: StoreSchema, now: Date = Date()) throws {
    let entity = schema.entity(query.entity)
    try query.checkWindow(schema)
    let composites = CompositePaths(schema: schema, entity: entity)
    let predicate = query.predicate ?? .true
    let traits = composites == nil ? predicate.traits : .isUnusual
    let isPlain = !traits.contains(.isUnusual)
    let written = isPlain ? predicate : predicate.withPlainNames(schema, composites)
    let asked = ConstantFitting(schema: schema, entity: entity).fit(written, traits: traits)
    var check = PredicateCheck(schema: schema, entity: entity)
    try check.check(asked)
    self.schema = schema
    self.entity = entity
    concrete =
      query.includesSubentities ? entity.concrete : entity.concrete.filter { $0 == entity.number }
    // A plain predicate has no function, and its constants are on the right.
    let folded = isPlain ? asked.simplified() : asked.folded(now: now)
    self.predicate = folded.replacingCopies(schema, entity)
    let order = composites.map { query.order.map($0.joined) } ?? query.order
    self.order = try order.map { try SortCriterion($0, entity, schema) }
    limit = query.limit
    offset = query.offset
    self.now = now
  }

  private init(
    _ other: PreparedFetch, predicate: FetchPredicate, order: [SortCriterion], limit: Int?, offset: Int
  ) {
    (schema, entity, concrete, now) = (other.schema, other.entity, other.concrete, other.now)
    self.predicate = predicate
    self.order = order
    self.limit = limit
    self.offset = offset
  }

  /// The fetch of all objects that satisfy a part of the predicate, without an order.
  func all(satisfying part: FetchPredicate) -> PreparedFetch {
    PreparedFetch(self, predicate: part, order: [], limit: nil, offset: 0)
  }

  /// The same fetch with another offset.
  func skipping(_ offset: Int) -> PreparedFetch {
    PreparedFetch(self, predicate: predicate, order: order, limit: limit, offset: offset)
  }

  /// The number of objects up to the end of the window; nil for all.
  var windowEnd: Int? { Self.windowEnd(offset: offset, limit: limit) }

  static func windowEnd(offset: Int, limit: Int?) -> Int? {
    guard let limit else { return nil }
    let (end, overflow) = offset.addingReportingOverflow(limit)
    return overflow ? nil : end
  }
}

extension FetchPredicate {
  /// The predicate with one spelling for each property. Paths replace names in brackets, `entity`
  /// replaces `entity.name`, and `objectID` is removed. Each element of a composite has one name.
  fileprivate func withPlainNames(_ schema: StoreSchema, _ composites: CompositePaths?) -> FetchPredicate {
    var predicate = replacingNamedElements()
    if !schema.hasEntityProperty { predicate = predicate.replacingEntityNames() }
    if let composites { predicate = composites.joined(predicate) }
    return predicate.replacingObjectIDs()
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

  /// The properties along the path. The value is the last property's value, or the number of its
  /// objects.
  let steps: [Step]
  /// The kind of the values.
  let kind: FieldKind

  /// - Throws: `FetchError` if the path does not exist, or ends at many values or at a
  ///   transformable attribute.
  init(_ order: FetchOrder, _ entity: EntityStorage, _ schema: StoreSchema) throws(FetchError) {
    if let own = SortCriterion(ofOwn: order, entity, schema) {
      self = own
      return
    }
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

  /// The criterion for an attribute of the object itself; nil for any other path, including invalid
  /// ones.
  private init?(ofOwn order: FetchOrder, _ entity: EntityStorage, _ schema: StoreSchema) {
    guard order.path.names.count == 1, order.path.aggregate == nil,
      let slot = entity.slot(named: order.path.names[0]),
      case .attribute(let kind) = entity.properties[slot].form, kind != .absent,
      !entity.properties[slot].isOpaque
    else { return nil }
    self.order = order
    steps = [Step(slot: slot, property: entity.properties[slot], standIn: schema.standIn(slot, of: entity))]
    ownColumn = IndexColumn(slot: slot)
    self.kind = kind
  }

  /// The slot, if the value is a property of the object itself.
  var ownSlot: Int? {
    steps.count == 1 && order.path.aggregate == nil ? steps[0].slot : nil
  }

  /// The column of the value, if it is a property of the object itself.
  let ownColumn: IndexColumn?
}
