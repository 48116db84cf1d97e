// Lookups of an object by a unique attribute. A lookup finds the object that a fetch of
// `email == "ann@acme.com"` finds, but creates no request and no plan.
//
//   UK1. The index has an entry for each object of the entity and of its subentities that has a
//        value, and for no other. The whole key of the index is the attribute. Lookups by any other
//        attribute make a fetch.
//   UK2. A context resolves a key path once. The key path is retained, so that no other key path
//        gets its identity.

internal import PerdurePredicates

/// A unique attribute of a class's entity, resolved for lookups.
struct UniqueKey {
  let entity: EntityShape
  let name: String
  /// The index and the kind of its keys; nil if a fetch must find the objects.
  let column: (index: StoreIndex, kind: FieldKind)?

  init(_ entity: EntityShape, _ name: String, in graph: GraphSchema) throws(FetchError) {
    guard let slot = entity.storage.slot(named: name) else {
      throw .unknownProperty(name, of: entity.storage)
    }
    guard entity.schema.uniquenessConstraints.contains(where: { $0.slots == [slot] }) else {
      throw FetchError(
        .notUnique,
        "\(entity.name).\(name.shortened) is not unique, so it identifies no object. Declare the attribute unique, "
          + "or fetch with a request.", entity: entity.name, key: name)
    }
    self.entity = entity
    self.name = name
    guard graph.entities(like: entity.number).count == 1,
      let column = graph.store.searchColumn(name, ofEntity: entity.number), let index = column.uniqueIndex
    else {
      self.column = nil
      return
    }
    self.column = (index, column.kind)
  }

  /// The range of the index that has the entry of a key; nil if a fetch must find the object.
  func range(_ key: Value) -> (index: StoreIndex, range: KeyRange)? {
    guard let column, !key.isNull, column.kind.mayEqual(key),
      let bounds = SearchBounds(column.kind, .equal, key, []),
      bounds.arePoints, bounds.areExact, bounds.ranges.count == 1, bounds.ranges[0].fitsIndexes
    else { return nil }
    return (column.index, bounds.ranges[0])
  }

  /// The condition for the object with a key.
  func predicate(_ key: Value) -> FetchPredicate {
    .comparison(FetchComparison(.keyPath(PropertyPath(name)), .equal, .constant(key)))
  }
}

/// The unique attributes that a context has looked up, by class and key path (UK2).
struct UniqueKeys {
  private struct Question: Hashable {
    let type: ObjectIdentifier
    let keyPath: ObjectIdentifier
  }

  /// The maximum number of entries. There is a maximum because programs can create key paths at run
  /// time.
  private static let countMax = 256

  private var known: [Question: (key: UniqueKey, keyPath: AnyKeyPath)] = [:]

  /// The attribute of a key path; nil if `note` has not recorded it.
  func key(_ type: ManagedObject.Type, _ keyPath: AnyKeyPath) -> UniqueKey? {
    known[Question(type: ObjectIdentifier(type), keyPath: ObjectIdentifier(keyPath))]?.key
  }

  mutating func note(_ key: UniqueKey, _ type: ManagedObject.Type, _ keyPath: AnyKeyPath) {
    if known.count == Self.countMax { known = [:] }
    known[Question(type: ObjectIdentifier(type), keyPath: ObjectIdentifier(keyPath))] = (key, keyPath)
  }
}
