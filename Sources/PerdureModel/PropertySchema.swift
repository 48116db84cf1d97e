/// A property in the form that the graph uses: it has a slot of one entity, and its inverse is
/// resolved.
///
/// An inherited property has a schema in each entity that inherits it.
package final class PropertySchema: Sendable {
  /// The content of the property.
  package enum Kind: Sendable, Hashable {
    /// A value of a type.
    case attribute(AttributeType)
    /// A link to at most one object.
    case toOne
    /// A link to any number of objects.
    case toMany
  }

  /// Where the links of a relationship are stored. Each link is stored once. If both ends have the
  /// same kind (one-to-one, many-to-many), the end with the lower property number stores the links.
  package enum LinkStorage: Sendable, Hashable {
    /// In this object's row, as an id. The relationship is to-one.
    case reference
    /// In the rows of the objects at the other end. The relationship is to-many, and its inverse is
    /// to-one.
    case inverseReference
    /// As separate entries. Both ends are to-many, or a to-many relationship has no inverse.
    case links
  }

  /// The end of a relationship in a resolved entity.
  package struct Endpoint: Sendable, Hashable {
    /// The index of the entity in the model.
    package let entity: Int
    /// The slot of the property in that entity; the same in all its subentities.
    package let slot: Int
  }

  /// The property's name.
  package let name: String
  /// The position among the entity's properties. An inherited property has the same slot in
  /// subentities.
  package let slot: Int
  /// The content of the property.
  package let kind: Kind
  /// The index of the entity that declares the property.
  package let declaringEntity: Int
  /// Whether an object may be saved without a value.
  package let isOptional: Bool
  /// The value of a new object, in the form of the attribute's type.
  package let defaultValue: DefaultValue?
  /// The source of a computed attribute.
  package let derivation: Derivation?
  /// Whether a save sets the attribute to the time of the save.
  package let isSetBySaves: Bool
  /// The slot of the to-many relationship that a derived attribute counts.
  package let countedSlot: Int?
  /// Whether no store contains the property's values or links.
  package let isTransient: Bool
  /// The name of the transformer that converts the values of a transformable attribute into bytes.
  package let transformerName: String?
  /// The validation rules of an attribute.
  package let rules: [ValidationRule]
  /// Whether the property is the first element of some index of the entity.
  package let isIndexed: Bool
  /// Whether the property alone is unique.
  package let isUnique: Bool
  /// The destination's index in the model, for relationships.
  package let destination: Int?
  /// The other end, for relationships that have an inverse.
  package let inverse: Endpoint?
  /// Where links are stored, for relationships that are not transient.
  package let linkStorage: LinkStorage?
  /// The relationship's delete rule; `noAction` for attributes.
  package let deleteRule: DeleteRule
  /// Whether the objects at the other end have an order.
  package let isOrdered: Bool
  /// The least number of objects at the other end.
  package let minCount: Int
  /// The greatest number of objects at the other end; 0 for no limit.
  package let maxCount: Int

  /// The attribute's type, or nil for relationships.
  package var attributeType: AttributeType? {
    if case .attribute(let type) = kind { type } else { nil }
  }

  /// Whether the property links objects.
  package var isRelationship: Bool { attributeType == nil }

  /// Whether the value is computed from other properties, so that no row contains it.
  package var isDerived: Bool { derivation != nil }

  init(_ source: PropertySource, slot: Int, in model: SchemaResolution) {
    name = source.property.name
    self.slot = slot
    declaringEntity = source.declaringEntity
    isOptional = source.property.isOptional
    isIndexed = source.isIndexed
    isUnique = source.isUnique
    isTransient = source.property.isTransient
    switch source.property {
    case .attribute(let attribute):
      kind = .attribute(attribute.type)
      rules = attribute.rules
      transformerName = attribute.valueTransformerName
      defaultValue = attribute.defaultValue.flatMap { $0.converted(to: attribute.type) }
      derivation = attribute.isComputed ? attribute.derivation.flatMap { try? Derivation($0) } : nil
      isSetBySaves = attribute.isSetBySaves
      countedSlot = derivation.flatMap(\.countedRelationship).flatMap { source.slots[$0] }
      destination = nil
      inverse = nil
      linkStorage = nil
      isOrdered = false
      deleteRule = .noAction
      (minCount, maxCount) = (0, 1)
    case .relationship(let relationship):
      kind = relationship.isToMany ? .toMany : .toOne
      rules = []
      transformerName = nil
      defaultValue = nil
      derivation = nil
      isSetBySaves = false
      countedSlot = nil
      destination = model.indices[relationship.destinationEntityName]
      inverse = model.endpoint(inverseOf: relationship)
      linkStorage = model.linkStorage(of: relationship)
      isOrdered = relationship.isOrdered
      deleteRule = relationship.deleteRule
      (minCount, maxCount) = (relationship.minCount, relationship.maxCount)
    case .composite: preconditionFailure("A composite has no slot: only its leaves have slots.")
    }
  }
}
