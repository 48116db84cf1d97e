// Checks the invariants G5 and G6 of relationships, based on the stored model.

internal import PerdureModel
internal import PerdurePredicates

/// The checks of relationships in one view.
struct RelationshipChecks {
  /// A one-to-one relationship.
  struct Pair {
    /// The index from a target to the owners that refer to it.
    let index: StoreIndex
    /// The name of the end that is stored as a column.
    let name: String
    let destination: UInt16?
    /// Whether the relationship is its own inverse, so that both objects have the column.
    let isOwnInverse: Bool
  }

  private let view: any StateReader
  /// The one-to-one relationships.
  let pairs: [Pair]
  /// The link keyspaces in which each link needs its reverse.
  private var symmetric: Set<StoreIndex> = []
  /// The relationships that limit the number of their objects, by entity.
  private var limited: [UInt16: [RelationshipShape]] = [:]

  init(_ view: any StateReader, _ schema: StoreSchema, _ model: ManagedObjectModel) {
    self.view = view
    var pairs: [Pair] = []
    var seen: Set<StoreIndex> = []
    for case let entity? in schema.entities {
      guard let described = model.schema(named: entity.name) else { continue }
      for (property, storage) in zip(described.properties, entity.properties) where property.isRelationship {
        let inverse = property.inverse.map { model.schemas[$0.entity].properties[$0.slot] }
        guard let shape = RelationshipShape(property, storage, inverse: inverse, schema: schema) else {
          continue
        }
        let isOwnInverse =
          property.inverse.map { $0.slot == property.slot && $0.entity == property.declaringEntity } ?? false
        if !shape.isOptional || shape.hasCountLimits { limited[entity.number, default: []].append(shape) }
        if case .links(let links, _) = shape.form, isOwnInverse { symmetric.insert(links) }
        if shape.form == .column, shape.inverseIsToOne, let index = shape.index, seen.insert(index).inserted {
          pairs.append(
            Pair(
              index: index, name: property.name, destination: storage.destination,
              isOwnInverse: isOwnInverse))
        }
      }
    }
    self.pairs = pairs
  }

  /// The violated count limits of an object, as sentences.
  func brokenLimits(of reference: ObjectReference, _ row: RowView) throws -> [String] {
    try (limited[reference.entityNumber] ?? []).compactMap { relationship in
      let count: Int
      if relationship.form == .column {
        count = row.isPresent(row.fields[relationship.slot]) ? 1 : 0
      } else if let index = relationship.index {
        count = try view.entryCount(index, .owner(reference))
      } else {
        return nil
      }
      return PropertyRules.violation(relationship, count: count).map {
        "\(relationship.name) has \(count): it \($0.rule)"
      }
    }
  }

  /// Whether a required reverse link is missing.
  func isOneSided(_ links: StoreIndex, _ source: ObjectReference, _ target: ObjectReference) throws -> Bool {
    guard symmetric.contains(links), source != target else { return false }
    return try !view.hasEntry(under: target, source, in: links)
  }

  /// Whether only the first of two objects refers to the other one.
  func isOneSided(_ pair: Pair, _ source: ObjectReference, _ target: ObjectReference) throws -> Bool {
    guard pair.isOwnInverse, source != target else { return false }
    return try !view.hasEntry(under: source, target, in: pair.index)
  }
}
