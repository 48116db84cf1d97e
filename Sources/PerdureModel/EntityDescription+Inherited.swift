// The properties and relatives of an entity. The properties include inherited ones.

extension EntityDescription {
  /// The entity from which this one inherits; nil for a root entity.
  ///
  /// It is also nil for a description that does not come from a model.
  ///
  /// - Complexity: O(1).
  public var superentity: EntityDescription? {
    superentityName.flatMap { family.entity(named: $0) }
  }

  /// The entities that inherit directly from this one, in the order of the model.
  ///
  /// Empty for a description that does not come from a model.
  ///
  /// - Complexity: O(e) for a model of e entities.
  public var subentities: [EntityDescription] { family.entities.filter { $0.superentityName == name } }

  /// The entities that inherit directly from this one, by name. See ``subentities``.
  ///
  /// - Complexity: O(e) for a model of e entities.
  public var subentitiesByName: [String: EntityDescription] {
    Dictionary(subentities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// All properties by name, including inherited ones. A composite attribute is one property.
  ///
  /// For a description that does not come from a model, only the declared properties.
  ///
  /// - Complexity: O(p) for p properties.
  public var propertiesByName: [String: PropertyDescription] {
    Dictionary(allProperties.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// All attributes by name, including inherited ones. Composite attributes are in
  /// ``compositesByName``.
  ///
  /// - Complexity: O(p) for p properties.
  public var attributesByName: [String: AttributeDescription] {
    byName { if case .attribute(let attribute) = $0 { attribute } else { nil } }
  }

  /// All composite attributes by name, including inherited ones.
  ///
  /// - Complexity: O(p) for p properties.
  public var compositesByName: [String: CompositeAttributeDescription] {
    byName { if case .composite(let composite) = $0 { composite } else { nil } }
  }

  /// All relationships by name, including inherited ones.
  ///
  /// - Complexity: O(p) for p properties.
  public var relationshipsByName: [String: RelationshipDescription] {
    byName { if case .relationship(let relationship) = $0 { relationship } else { nil } }
  }

  /// All fetched properties by name, including inherited ones.
  ///
  /// - Complexity: O(f) for f fetched properties.
  public var fetchedPropertiesByName: [String: FetchedPropertyDescription] {
    Dictionary(
      lineage.flatMap(\.fetchedProperties).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// Whether this entity is `entity` or inherits from it.
  ///
  /// - Parameter entity: An entity of the same model, compared by name.
  /// - Complexity: O(d²) for d levels of inheritance.
  public func isKind(of entity: EntityDescription) -> Bool {
    lineage.contains { $0.name == entity.name }
  }

  /// The entity and its ancestors, starting with the entity itself.
  package var lineage: [EntityDescription] {
    var lineage = [self]
    // Stop at a cycle: a program may set the superentity of a description to one of its
    // subentities.
    while let above = lineage.last?.superentity, !lineage.contains(where: { $0.name == above.name }) {
      lineage.append(above)
    }
    return lineage
  }

  /// All properties in slot order. Inherited properties come first.
  private var allProperties: [PropertyDescription] { lineage.reversed().flatMap(\.properties) }

  private func byName<Description>(
    _ select: (PropertyDescription) -> Description?
  ) -> [String: Description] {
    propertiesByName.compactMapValues(select)
  }
}

/// The entities of the model that a description comes from. All families compare as equal, so they
/// do not affect comparisons of descriptions.
struct EntityFamily: Sendable, Hashable {
  private let table: Table?

  /// Makes the family of a description that does not come from a model.
  init() { table = nil }

  init(_ entities: [EntityDescription], indices: [String: Int]) {
    table = Table(entities: entities, indices: indices)
  }

  var entities: [EntityDescription] { table?.entities.map { $0.joining(self) } ?? [] }

  func entity(named name: String) -> EntityDescription? {
    guard let table, let index = table.indices[name] else { return nil }
    return table.entities[index].joining(self)
  }

  static func == (left: EntityFamily, right: EntityFamily) -> Bool { true }

  func hash(into hasher: inout Hasher) {}

  /// Stores the entities without their family, to avoid a reference cycle.
  private final class Table: Sendable {
    let entities: [EntityDescription]
    let indices: [String: Int]

    init(entities: [EntityDescription], indices: [String: Int]) {
      self.entities = entities
      self.indices = indices
    }
  }
}

extension EntityFamily: CustomReflectable {
  /// Empty, so that a dump of a description does not contain its whole model.
  var customMirror: Mirror { Mirror(self, children: []) }
}

extension EntityDescription {
  /// A copy of the description that belongs to a model.
  func joining(_ family: EntityFamily) -> EntityDescription {
    var entity = self
    entity.family = family
    return entity
  }
}
