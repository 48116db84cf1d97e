/// One way in which a model differs from the model in a store.
public struct ModelDifference: Sendable, Hashable {
  /// What differs.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The store does not know the entity.
    case entityAdded
    /// The model no longer has an entity that the store has.
    case entityRemoved
    /// The entity inherits from another entity, or no longer from any.
    case superentityChanged
    /// The entity became abstract, or concrete.
    case abstractChanged
    /// The store does not know the property.
    case propertyAdded
    /// The model no longer has a property that the store has.
    case propertyRemoved
    /// An attribute became a relationship, or the reverse.
    case propertyKindChanged
    /// A property became optional, or required.
    case optionalChanged
    /// The attribute has another type.
    case typeChanged
    /// The attribute follows from other properties in another way.
    case derivationChanged
    /// A stored attribute became transient, or the reverse.
    case transientChanged
    /// The validation rules of the attribute are not the same. Objects are held against the new ones when they are
    /// saved next.
    case rulesChanged
    /// The hash modifier of an entity or a property is another.
    case versionHashModifierChanged
    /// The relationship leads to another entity.
    case destinationChanged
    /// The relationship has another inverse.
    case inverseChanged
    /// The relationship has other limits, or changed between to-one and to-many.
    case countChanged
    /// The uniqueness constraints of the entity are not the same.
    case constraintsChanged
    /// The indexes of the entity are not the same; they are built anew.
    case indexesChanged
    /// Only what is not stored in rows differs: class name, default value, delete rule, renaming
    /// identifier, user info, anything of an attribute that is and was transient, or the order of declaration.
    case detailsChanged
  }

  /// What differs.
  public let kind: Kind
  /// The entity's name.
  public let entity: String
  /// The property's name, or nil when the entity as a whole differs.
  public let property: String?
  /// Whether a store takes the difference on as it is, without a migration.
  public let isCompatible: Bool
  /// What was and what is, in one sentence.
  public let message: String
}

extension ModelDifference: CustomStringConvertible {
  /// The place, the message, and whether a migration is needed.
  public var description: String {
    let place = property.map { "\(entity).\($0)" } ?? entity
    return "\(place): \(message)\(isCompatible ? "" : " Needs a migration.") [\(kind.rawValue)]"
  }
}

extension ModelDifference {
  /// Every difference between the model of a store and another one: entities in the store's order, then
  /// added ones in the new model's. Empty when the two are equal up to the order of entities, to configurations and to
  /// version identifiers.
  public static func differences(
    from stored: ManagedObjectModel, to model: ManagedObjectModel
  ) -> [ModelDifference] {
    var comparison = ModelComparison()
    for entity in stored.entities {
      if let other = model.entitiesByName[entity.name] {
        comparison.compare(entity, other)
      } else {
        comparison.note(.entityRemoved, entity.name, nil, false, "The entity was removed.")
      }
    }
    for entity in model.entities where stored.entitiesByName[entity.name] == nil {
      comparison.note(.entityAdded, entity.name, nil, true, "The entity was added.")
    }
    return comparison.differences
  }
}

/// Collects the differences of a pair of models.
struct ModelComparison {
  private(set) var differences: [ModelDifference] = []

  mutating func note(
    _ kind: ModelDifference.Kind, _ entity: String, _ property: String?, _ isCompatible: Bool,
    _ message: String
  ) {
    differences.append(
      ModelDifference(
        kind: kind, entity: entity, property: property, isCompatible: isCompatible, message: message))
  }

  mutating func compare(_ old: EntityDescription, _ new: EntityDescription) {
    let name = old.name
    if old.superentityName != new.superentityName {
      note(
        .superentityChanged, name, nil, false,
        "The superentity was \(text(old.superentityName)) and is \(text(new.superentityName)).")
    }
    if old.isAbstract != new.isAbstract {
      note(
        .abstractChanged, name, nil, false, "The entity became \(new.isAbstract ? "abstract" : "concrete").")
    }
    compareModifiers(old.versionHashModifier, new.versionHashModifier, name, nil)
    compareProperties(old, new)
    if Set(old.uniquenessConstraints) != Set(new.uniquenessConstraints) {
      note(
        .constraintsChanged, name, nil, false,
        "The constraints were \(old.uniquenessConstraints) and are \(new.uniquenessConstraints).")
    }
    if Set(old.indexes) != Set(new.indexes) {
      note(.indexesChanged, name, nil, true, "The indexes changed and are built anew.")
    }
    if old.managedObjectClassName != new.managedObjectClassName
      || old.renamingIdentifier != new.renamingIdentifier || old.userInfo != new.userInfo
      || (old.properties != new.properties && Set(old.properties) == Set(new.properties))
    {
      note(.detailsChanged, name, nil, true, "Class name, renaming identifier, user info or order changed.")
    }
  }

  private func text(_ name: String?) -> String { name.map { "\"\($0)\"" } ?? "none" }

  private mutating func compareModifiers(
    _ old: String?, _ new: String?, _ entity: String, _ property: String?
  ) {
    if old != new {
      note(
        .versionHashModifierChanged, entity, property, false,
        "The hash modifier was \(text(old)) and is \(text(new)).")
    }
  }

  private mutating func compareProperties(_ old: EntityDescription, _ new: EntityDescription) {
    let oldNames = Set(old.properties.map(\.name))
    let newByName = Dictionary(uniqueKeysWithValues: new.properties.map { ($0.name, $0) })
    for property in old.properties {
      if let other = newByName[property.name] {
        compare(property, other, of: old.name)
      } else {
        note(.propertyRemoved, old.name, property.name, property.isTransient, "The property was removed.")
      }
    }
    for property in new.properties where !oldNames.contains(property.name) {
      noteAddition(property, to: old.name)
    }
  }

  /// Older rows must be able to do without an added property.
  private mutating func noteAddition(_ property: PropertyDescription, to entity: String) {
    let isCompatible =
      switch property {
      case .attribute(let attribute):
        attribute.isOptional || attribute.defaultValue != nil || attribute.derivation != nil
          || attribute.isTransient
      case .relationship(let relationship): relationship.isOptional
      }
    let message =
      isCompatible
      ? "The property was added."
      : "A required property was added without a value for existing objects: make it optional"
        + " or give it a default."
    note(.propertyAdded, entity, property.name, isCompatible, message)
  }

  private mutating func compare(
    _ old: PropertyDescription, _ new: PropertyDescription, of entity: String
  ) {
    guard old != new else { return }
    let count = differences.count
    compareModifiers(old.versionHashModifier, new.versionHashModifier, entity, old.name)
    if old.isTransient, new.isTransient {
      note(.detailsChanged, entity, old.name, true, "A transient attribute changed.")
      return
    }
    if old.isOptional != new.isOptional {
      note(
        .optionalChanged, entity, old.name, false,
        "The property became \(new.isOptional ? "optional" : "required").")
    }
    switch (old, new) {
    case (.attribute(let old), .attribute(let new)): compare(old, new, of: entity)
    case (.relationship(let old), .relationship(let new)): compare(old, new, of: entity)
    case (.attribute, .relationship):
      note(.propertyKindChanged, entity, old.name, false, "The attribute became a relationship.")
    case (.relationship, .attribute):
      note(.propertyKindChanged, entity, old.name, false, "The relationship became an attribute.")
    }
    if differences.count == count {
      note(
        .detailsChanged, entity, old.name, true,
        "Default value, delete rule, renaming identifier or user info changed.")
    }
  }

  private mutating func compare(
    _ old: AttributeDescription, _ new: AttributeDescription, of entity: String
  ) {
    if old.type != new.type {
      note(.typeChanged, entity, old.name, false, "The type was \(old.type) and is \(new.type).")
    }
    if old.isTransient != new.isTransient {
      note(
        .transientChanged, entity, old.name, false,
        "The attribute became \(new.isTransient ? "transient" : "stored").")
    }
    let (oldRules, newRules) = (old.rules.map(\.wholeText), new.rules.map(\.wholeText))
    if oldRules != newRules {
      note(
        .rulesChanged, entity, old.name, true, "The validation rules were \(oldRules) and are \(newRules).")
    }
    if old.derivation != new.derivation {
      note(
        .derivationChanged, entity, old.name, false,
        "The derivation was \(text(old.derivation)) and is \(text(new.derivation)).")
    }
  }

  private mutating func compare(
    _ old: RelationshipDescription, _ new: RelationshipDescription, of entity: String
  ) {
    if old.destinationEntityName != new.destinationEntityName {
      note(
        .destinationChanged, entity, old.name, false,
        "The destination was \(text(old.destinationEntityName)) and is \(text(new.destinationEntityName)).")
    }
    if old.inverseName != new.inverseName {
      note(
        .inverseChanged, entity, old.name, false,
        "The inverse was \(text(old.inverseName)) and is \(text(new.inverseName)).")
    }
    if (old.minCount, old.maxCount) != (new.minCount, new.maxCount) {
      note(
        .countChanged, entity, old.name, false,
        "The limits were \(old.minCount)...\(old.maxCount) and are \(new.minCount)...\(new.maxCount).")
    }
  }
}
