// One object by the whole key of a unique index, `email == "ann@acme.com"`: what programs ask most often, and
// what costs less than a plan of it. Such a request is known by its shape, without one.
//
//   U1. What is recognised is what the planner would choose: the index, the range, no residual, no order. So the
//       objects are the same, and `explain` tells the truth.
//   U2. Whatever is unusual, also a mistake in the request, is not recognised, and goes the way of all others.

internal import PerdurePredicates

/// A key of a unique index that a fetch asks for, and nothing else.
struct UniqueKey {
  let index: StoreIndex
  let range: KeyRange

  /// The key that a query asks for; nil when it asks for anything else. O(length of the key).
  init?(_ query: FetchQuery, _ schema: StoreSchema) {
    guard query.order.isEmpty, query.offset == 0, query.limit.map({ $0 > 0 }) ?? true,
      case .comparison(let comparison) = query.predicate, comparison.op == .equal,
      comparison.modifier == .direct, comparison.options.isEmpty,
      case .keyPath(let path) = comparison.left, path.names.count == 1, path.aggregate == nil,
      case .constant(let value) = comparison.right,
      let column = schema.uniqueColumn(path.names[0], ofEntity: query.entity),
      query.includesSubentities || column.isAlone, column.kind.mayEqual(value),
      let bounds = SearchBounds(column.kind, .equal, value, []),
      bounds.arePoints, bounds.areExact, bounds.excludeNull, bounds.ranges.count == 1,
      bounds.ranges[0].fitsIndexes
    else { return nil }
    index = column.index
    range = bounds.ranges[0]
  }

  /// Hands out the object with the key in a view, if there is one: several only where somebody has written to the
  /// store who knows nothing of its indexes.
  func visit(_ view: any StoreView, _ body: (ObjectReference) throws -> Void) throws {
    try view.visitEntries(index, range, descending: false) { _, reference in
      try body(reference)
      return true
    }
  }
}

/// A property whose value alone is the key of a unique index that has all objects of an entity and no others.
struct UniqueColumn: Sendable {
  let index: StoreIndex
  let kind: FieldKind
  /// Whether the entity has no sub-entities with rows.
  let isAlone: Bool

  /// The unique columns of an entity, by name. Numbers with fractions are left out: constants are fitted to them
  /// (ConstantFitting.swift); references, as what they are compared with is looked up first.
  static func columns(of entity: EntityStorage, _ indexes: [IndexDefinition]) -> [String: UniqueColumn] {
    var columns: [String: UniqueColumn] = [:]
    for (position, definition) in indexes.enumerated() {
      guard case .unique(let components) = definition.kind, components.count == 1,
        definition.condition == nil,
        definition.entities == entity.concrete, definition.serves(entity.concrete),
        let column = entity.column(components[0]), column.function == nil, !components[0].isDescending,
        let (own, kind) = entity.column(ofSlot: column.slot), own == column, isExact(kind)
      else { continue }
      let name = entity.properties[column.slot].name
      guard !name.utf8.contains(UInt8(ascii: ".")), columns[name] == nil else { continue }
      columns[name] = UniqueColumn(
        index: StoreIndex(rawValue: position), kind: kind, isAlone: entity.concrete.count == 1)
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
