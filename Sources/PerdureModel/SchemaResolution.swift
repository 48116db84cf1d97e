internal import PerdurePredicates

/// A property and the data from which its slot is resolved.
struct PropertySource {
  let property: PropertyDescription
  let declaringEntity: Int
  let isIndexed: Bool
  let isUnique: Bool
  /// The slots of the entity, for properties that refer to others.
  let slots: [String: Int]
}

/// The data of the whole model for resolving entities. The model must have passed every check.
struct SchemaResolution {
  let entities: [EntityDescription]
  let parents: [Int?]
  let indices: [String: Int]
  /// For each entity, the entity and its ancestors, nearest first.
  let lineages: [[Int]]
  /// For each entity, all entities below it, ascending.
  let subentities: [[Int]]
  /// For each entity, the slots by name, including inherited ones.
  let slots: [[String: Int]]

  init(_ entities: [EntityDescription], parents: [Int?], indices: [String: Int]) {
    self.entities = entities
    self.parents = parents
    self.indices = indices
    var lineages: [[Int]] = Array(repeating: [], count: entities.count)
    var subentities = lineages
    var slots: [[String: Int]] = Array(repeating: [:], count: entities.count)
    for index in EntityOrder.ancestorsFirst(parents) {
      if let parent = parents[index] {
        lineages[index] = [index] + lineages[parent]
        slots[index] = slots[parent]
      } else {
        lineages[index] = [index]
      }
      for property in entities[index].slotted { slots[index][property.name] = slots[index].count }
    }
    for index in entities.indices {
      for ancestor in lineages[index].dropFirst() { subentities[ancestor].append(index) }
    }
    self.lineages = lineages
    self.subentities = subentities
    self.slots = slots
  }
}

extension EntitySchema {
  /// Resolves all entities of a checked model.
  static func resolve(
    _ entities: [EntityDescription], parents: [Int?], indices: [String: Int]
  ) -> [EntitySchema] {
    let model = SchemaResolution(entities, parents: parents, indices: indices)
    return entities.indices.map { EntitySchema($0, in: model) }
  }
}

// MARK: - Of one entity

extension SchemaResolution {
  func properties(
    of index: Int, indexes: [EntitySchema.Index], constraints: [EntitySchema.UniquenessConstraint]
  ) -> [PropertySchema] {
    let indexed = Set(indexes.compactMap(\.slots.first))
    let unique = Set(constraints.filter { $0.slots.count == 1 }.flatMap(\.slots))
    var result: [PropertySchema] = []
    for ancestor in lineages[index].reversed() {
      for property in entities[ancestor].slotted {
        let slot = result.count
        let source = PropertySource(
          property: property, declaringEntity: ancestor, isIndexed: indexed.contains(slot),
          isUnique: unique.contains(slot), slots: slots[index])
        result.append(PropertySchema(source, slot: slot, in: self))
      }
    }
    return result
  }

  func indexes(of index: Int) -> [EntitySchema.Index] {
    lineages[index].reversed().flatMap { ancestor in
      entities[ancestor].indexes.compactMap { description in
        if !isKept(description, of: index) { return nil }
        let parts = description.elements.compactMap { $0.parts }
        return EntitySchema.Index(
          name: description.name, declaringEntity: ancestor,
          slots: parts.compactMap { slots[index][$0.path] }, functions: parts.map(\.function),
          isAscending: description.elements.map(\.isAscending), predicate: description.partialPredicate)
      }
    }
  }

  /// Whether this version can read the definition of an index. A later version may have written its
  /// predicate.
  private func isKept(_ description: FetchIndexDescription, of index: Int) -> Bool {
    if description.unreadablePartialPredicate != nil { return false }
    guard let predicate = description.partialPredicate else { return true }
    let properties = lineages[index].flatMap { entities[$0].slotted }
    let byName = Dictionary(properties.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    let checked = PartialPredicate { name in
      byName[name].flatMap { PartialPredicate.Column($0, inverse: inverse) }
    }
    return checked.flaw(in: predicate.simplified()) == nil
  }

  func constraints(of index: Int) -> [EntitySchema.UniquenessConstraint] {
    lineages[index].reversed().flatMap { ancestor in
      entities[ancestor].uniquenessConstraints.map { names in
        EntitySchema.UniquenessConstraint(
          declaringEntity: ancestor, slots: names.compactMap { slots[index][$0] })
      }
    }
  }
}

// MARK: - Of one relationship

extension SchemaResolution {
  func endpoint(inverseOf relationship: RelationshipDescription) -> PropertySchema.Endpoint? {
    guard let name = relationship.inverseName, let entity = indices[relationship.destinationEntityName],
      let slot = slots[entity][name]
    else { return nil }
    return PropertySchema.Endpoint(entity: entity, slot: slot)
  }

  private func inverse(of relationship: RelationshipDescription) -> RelationshipDescription? {
    guard let name = relationship.inverseName, let entity = indices[relationship.destinationEntityName] else {
      return nil
    }
    return entities[entity].relationships.first { $0.name == name }
  }

  func linkStorage(of relationship: RelationshipDescription) -> PropertySchema.LinkStorage? {
    if relationship.isTransient { return nil }
    guard relationship.isToMany else { return .reference }
    guard let inverse = inverse(of: relationship) else { return .links }
    return inverse.isToMany ? .links : .inverseReference
  }
}
