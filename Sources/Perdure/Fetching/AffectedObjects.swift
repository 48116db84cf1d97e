// Which untouched objects a fetch may find otherwise than their rows say, because unsaved changes touch
// what they lead to.
//
// An object that is not touched has the relationships that the store says. So if it reaches a touched
// object along a path of the predicate or the order, the store knows the way up to there, and knows it
// backwards: from a touched object to those that have it at the end of a step, from these to theirs, and so
// on. What is not met on any such way back reaches untouched objects only, and its row tells the truth.
//
// The ways are followed without regard to where in a path a step stands, which finds too many at worst.

internal import PerdurePredicates

/// How to get from an object to those that have it at the other end of a relationship.
enum WayBack: Hashable, Sendable {
  /// The entries of an index under the object's key.
  case entries(StoreIndex)
  /// A column of the object itself, by its property number.
  case column(UInt32)
}

struct AffectedObjects {
  let fetch: PreparedFetch
  let graph: RowGraph
  let pending: any PendingChanges

  /// The affected objects among those that the fetch is about; nil when more than `limit` objects were met on
  /// the ways back.
  func find(limit: Int) throws -> Set<ObjectReference>? {
    var met: Set<ObjectReference> = []
    for entity in fetch.reached { met.formUnion(pending.touchedObjects(of: entity)) }
    var unexplored = Array(met)
    while let object = unexplored.popLast() {
      for way in fetch.waysBack {
        try visitOwners(of: object, way) { owner in
          if met.insert(owner).inserted { unexplored.append(owner) }
        }
        if met.count > limit { return nil }
      }
    }
    return met.filter { fetch.concrete.contains($0.entityNumber) && !pending.isTouched($0) }
  }

  private func visitOwners(
    of object: ObjectReference, _ way: WayBack, _ body: (ObjectReference) -> Void
  ) throws {
    switch way {
    case .entries(let index): try graph.targets(index, of: object).forEach(body)
    case .column(let property):
      guard let slot = graph.schema.entity(object.entityNumber).slot(ofProperty: property),
        let row = try graph.row(object)
      else { return }
      let field = row.fields[slot]
      if row.isPresent(field) { body(row.reference(field)) }
    }
  }
}

extension StoreSchema {
  /// The ways back along a path.
  func waysBack(along path: PropertyPath, from start: EntityStorage) -> Set<WayBack> {
    var ways: Set<WayBack> = []
    var entity = start
    for name in path.names {
      guard let slot = entity.slot(named: name) else { break }
      let property = entity.properties[slot]
      if let read = reads(property, of: entity) { ways.formUnion(waysBack(along: read, from: entity)) }
      guard let destination = property.destination else { break }
      if let way = wayBack(along: property) { ways.insert(way) }
      entity = self.entity(destination)
    }
    return ways
  }

  private func wayBack(along property: PropertyStorage) -> WayBack? {
    switch property.form {
    case .attribute, .count, .derived: return nil
    case .toOne(_, let index): return .entries(index)
    case .inverse(_, _, let owners?, _): return .entries(owners)
    case .inverse(_, let index, nil, _):
      guard case .relation(let column) = definition(index).kind else { return nil }
      return .column(column)
    }
  }
}
