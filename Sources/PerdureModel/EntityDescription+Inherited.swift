// What an entity of a model has by itself and by inheritance.

extension EntityDescription {
  /// The entity that this one inherits from; nil for a root. A description that was not taken from
  /// a model knows its name alone, and gives nil.
  ///
  /// - Complexity: O(1).
  public var superentity: EntityDescription? {
    superentityName.flatMap { family.entity(named: $0) }
  }

  /// The entities that inherit from this one directly, in the order of the model; none for a
  /// description that was not taken from a model.
  ///
  /// - Complexity: O(e) for a model of e entities.
  public var subentities: [EntityDescription] { family.entities.filter { $0.superentityName == name } }

  /// The entities that inherit from this one directly, by name; as ``subentities``.
  public var subentitiesByName: [String: EntityDescription] {
    Dictionary(subentities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// All properties by name, inherited ones included. A composite attribute is one property.
  ///
  /// A description that was not taken from a model has those that it declares.
  ///
  /// - Complexity: O(p) for p properties.
  public var propertiesByName: [String: PropertyDescription] {
    Dictionary(allProperties.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// All attributes by name, inherited ones included; composite attributes are in
  /// ``compositesByName``. As ``propertiesByName``.
  public var attributesByName: [String: AttributeDescription] {
    byName { if case .attribute(let attribute) = $0 { attribute } else { nil } }
  }

  /// All composite attributes by name, inherited ones included; as ``propertiesByName``.
  public var compositesByName: [String: CompositeAttributeDescription] {
    byName { if case .composite(let composite) = $0 { composite } else { nil } }
  }

  /// All relationships by name, inherited ones included; as ``propertiesByName``.
  public var relationshipsByName: [String: RelationshipDescription] {
    byName { if case .relationship(let relationship) = $0 { relationship } else { nil } }
  }

  /// Whether objects of this entity are also objects of another one: of itself, or of one above it.
  public func isKind(of entity: EntityDescription) -> Bool {
    lineage.contains { $0.name == entity.name }
  }

  /// The entity and all above it, nearest first.
  private var lineage: [EntityDescription] {
    var lineage = [self]
    // Descriptions can be changed after they were taken from a model, up to an entity above itself.
    while let above = lineage.last?.superentity, !lineage.contains(where: { $0.name == above.name }) {
      lineage.append(above)
    }
    return lineage
  }

  /// Inherited properties first, in the order of the slots.
  private var allProperties: [PropertyDescription] { lineage.reversed().flatMap(\.properties) }

  private func byName<Description>(
    _ select: (PropertyDescription) -> Description?
  ) -> [String: Description] {
    propertiesByName.compactMapValues(select)
  }
}

/// The entities of the model that a description was taken from. Descriptions compare without it.
struct EntityFamily: Sendable, Hashable {
  private let table: Table?

  /// Of a description that was not taken from a model.
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

  /// The entities as they are without a family, so that none refers to itself.
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
  /// Nothing: a dump of a description would be one of its whole model.
  var customMirror: Mirror { Mirror(self, children: []) }
}

extension EntityDescription {
  /// The description as one of a model.
  func joining(_ family: EntityFamily) -> EntityDescription {
    var entity = self
    entity.family = family
    return entity
  }
}
