import PerdureText

/// One difference between a model and the model in a store.
public struct ModelDifference: Sendable, Hashable {
  /// The kind of a difference.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The store does not have the entity.
    case entityAdded
    /// The store has an entity that the model no longer has.
    case entityRemoved
    /// The entity has another superentity, gained one, or lost one.
    case superentityChanged
    /// The entity became abstract, or concrete.
    case abstractChanged
    /// The store does not have the property.
    case propertyAdded
    /// The store has a property that the model no longer has.
    case propertyRemoved
    /// The property changed its kind: attribute, composite or relationship.
    case propertyKindChanged
    /// A property became optional, or required.
    case optionalChanged
    /// The attribute has another type.
    case typeChanged
    /// The attribute has another derivation, or became stored or derived. Another derivation is
    /// compatible, because rows do not store derived values.
    case derivationChanged
    /// The property became transient, or became stored.
    case transientChanged
    /// The validation rules of the attribute differ. Objects are checked against the new rules when
    /// they are next saved.
    case rulesChanged
    /// An entity or a property has another hash modifier.
    case versionHashModifierChanged
    /// The relationship has another destination.
    case destinationChanged
    /// The relationship has another inverse.
    case inverseChanged
    /// The relationship has other count limits, or changed between to-one and to-many.
    case countChanged
    /// The relationship became ordered or unordered. A change to ordered is compatible. Until the
    /// program orders the members, those without an order key come last, in the order of ids.
    case orderedChanged
    /// The entity has other uniqueness constraints.
    case constraintsChanged
    /// The indexes of the entity differ. They are rebuilt.
    case indexesChanged
    /// Only parts outside the rows differ: class name, default value, delete rule, renaming
    /// identifier, value transformer, user info, fetched properties, or the order of declaration.
    /// This kind also covers any change of a property that is transient in both models. Objects
    /// that are older than a property keep the default with which it was added.
    case detailsChanged
    /// A fetch request template was added, removed or changed. The difference names the fetched
    /// entity, and the template instead of a property.
    case templateChanged
  }

  /// The difference.
  public let kind: Kind
  /// The entity's name.
  public let entity: String
  /// The name of the property or of the template, or the path of a composite's element; nil if the
  /// entity as a whole differs.
  public let property: String?
  /// Whether a store accepts the difference without a migration.
  public let isCompatible: Bool
  /// The change in words, in some cases with a remedy.
  public let message: String
}

extension ModelDifference: CustomStringConvertible {
  /// The entity and property, the message, whether a migration is needed, and the kind, in one
  /// line. Control characters and marks of text direction in names are escapes such as `\n`.
  public var description: String {
    let place = property.map { "\(entity).\($0)" } ?? entity
    let remedy = isCompatible ? "" : " Needs a migration."
    return VisibleText.line("\(place): \(message)\(remedy) [\(kind.rawValue)]")
  }
}

extension ModelDifference {
  /// Every difference between a store's model and another model.
  ///
  /// Entities of the stored model come first, in its order, then added entities in the order of the
  /// new model, and templates last. The result is empty if the models differ only in the order of
  /// entities or templates, in configurations and in version identifiers.
  public static func differences(
    from stored: ManagedObjectModel, to model: ManagedObjectModel
  ) -> [ModelDifference] {
    var comparison = ModelComparison()
    for entity in stored.entities {
      if let other = model.entitiesByName[entity.name] {
        comparison.compare(entity, other)
      } else {
        let renamed = model.entities.first { $0.renamingIdentifier == entity.name }
        comparison.note(
          .entityRemoved, entity.name, nil, false,
          renamed.map { "The entity was renamed to \"\($0.name)\"." } ?? "The entity was removed.")
      }
    }
    for entity in model.entities where stored.entitiesByName[entity.name] == nil {
      comparison.note(.entityAdded, entity.name, nil, true, "The entity was added.")
    }
    comparison.compareTemplates(stored.fetchRequestTemplates, model.fetchRequestTemplates)
    return comparison.differences
  }
}

/// Collects the differences between two models.
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
    compareProperties(old.properties, new.properties, of: name)
    if Set(old.uniquenessConstraints) != Set(new.uniquenessConstraints) {
      note(
        .constraintsChanged, name, nil, false,
        "The uniqueness constraints were \(old.uniquenessConstraints) and are \(new.uniquenessConstraints):"
          + " existing objects have not been checked against them.")
    }
    if Set(old.indexes) != Set(new.indexes) {
      note(.indexesChanged, name, nil, true, "The indexes changed and are rebuilt.")
    }
    if old.managedObjectClassName != new.managedObjectClassName
      || old.renamingIdentifier != new.renamingIdentifier || old.userInfo != new.userInfo
      || old.fetchedProperties != new.fetchedProperties
      || (old.properties != new.properties && Set(old.properties) == Set(new.properties))
    {
      note(
        .detailsChanged, name, nil, true,
        "Class name, renaming identifier, user info, fetched properties or order changed.")
    }
  }

  mutating func compareTemplates(_ old: [FetchRequestTemplate], _ new: [FetchRequestTemplate]) {
    let oldByName = Dictionary(old.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    let newByName = Dictionary(new.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    func note(_ template: FetchRequestTemplate, _ event: String) {
      self.note(
        .templateChanged, template.request.entityName, template.name, true, "The template was \(event).")
    }
    for template in old where newByName[template.name] != template {
      note(template, newByName[template.name] == nil ? "removed" : "changed")
    }
    for template in new where oldByName[template.name] == nil { note(template, "added") }
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

  /// - Parameter prefix: The path of the composite that contains these elements, followed by a dot.
  /// - Parameter isPresent: Whether the owner of the properties has a value in every older row.
  private mutating func compareProperties(
    _ old: [PropertyDescription], _ new: [PropertyDescription], of entity: String, behind prefix: String = "",
    isPresent: Bool = true
  ) {
    let oldNames = Set(old.map(\.name))
    let newByName = Dictionary(uniqueKeysWithValues: new.map { ($0.name, $0) })
    for property in old {
      let path = prefix + property.name
      if let other = newByName[property.name] {
        compare(property, other, of: entity, path, isPresent: isPresent)
      } else {
        let renamed = new.first { $0.renamingIdentifier == property.name }
        note(
          .propertyRemoved, entity, path, property.isTransient,
          renamed.map { "The property was renamed to \"\($0.name)\"." } ?? "The property was removed.")
      }
    }
    for property in new where !oldNames.contains(property.name) {
      let isCompatible = property.canBeAdded(isPresent: isPresent)
      let message =
        isCompatible
        ? "The property was added."
        : !isPresent
          ? "An element that is required or has a default was added to a composite that may be absent in"
            + " existing objects. Make the element optional, without a default (in a struct: `var name: T?` without an"
            + " initial value)."
          : "A required property was added without a value for existing objects. Make it optional,"
            + " or give it a default that is the same for all objects."
      note(.propertyAdded, entity, prefix + property.name, isCompatible, message)
    }
  }

  private mutating func compare(
    _ old: PropertyDescription, _ new: PropertyDescription, of entity: String, _ path: String, isPresent: Bool
  ) {
    guard old != new else { return }
    let count = differences.count
    compareModifiers(old.versionHashModifier, new.versionHashModifier, entity, path)
    if old.isTransient, new.isTransient {
      note(.detailsChanged, entity, path, true, "A transient property changed.")
      return
    }
    if old.isOptional != new.isOptional {
      note(
        .optionalChanged, entity, path, old.isDerived && new.isDerived,
        new.isOptional || old.isDerived && new.isDerived
          ? "The property became \(new.isOptional ? "optional" : "required")."
          : "The property became required, and existing objects may have no value, whatever default it has:"
            + " keep it optional.")
    }
    if old.isTransient != new.isTransient {
      note(
        .transientChanged, entity, path, false,
        "The \(old.kindName) became \(new.isTransient ? "transient" : "stored").")
    }
    switch (old, new) {
    case (.attribute(let old), .attribute(let new)): compare(old, new, of: entity, path)
    case (.relationship(let old), .relationship(let new)): compare(old, new, of: entity)
    case (.composite(let old), .composite(let new)):
      compareProperties(
        old.elements, new.elements, of: entity, behind: "\(path).", isPresent: isPresent && !old.isOptional)
    default:
      note(.propertyKindChanged, entity, path, false, "The \(old.kindName) became \(new.kindPhrase).")
    }
    if differences.count == count {
      note(
        .detailsChanged, entity, path, true,
        "Default value, delete rule, renaming identifier, value transformer or user info changed.")
    }
  }

  private mutating func compare(
    _ old: AttributeDescription, _ new: AttributeDescription, of entity: String, _ path: String
  ) {
    // Rows do not store computed values, and the indexes are rebuilt for the new model.
    let areDerived = old.isComputed && new.isComputed
    if old.type != new.type {
      note(.typeChanged, entity, path, areDerived, "The type was \(old.type) and is \(new.type).")
    }
    let (oldRules, newRules) = (old.rules.map(\.wholeText), new.rules.map(\.wholeText))
    if oldRules != newRules {
      note(
        .rulesChanged, entity, path, true, "The validation rules were \(oldRules) and are \(newRules).")
    }
    if old.derivation != new.derivation {
      note(
        .derivationChanged, entity, path, old.isComputed == new.isComputed,
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
    if old.isToMany != new.isToMany {
      note(
        .countChanged, entity, old.name, false,
        "The relationship became \(new.isToMany ? "to-many" : "to-one").")
    } else if (old.minCount, old.maxCount) != (new.minCount, new.maxCount) {
      note(
        .countChanged, entity, old.name, false,
        "The number of objects was \(old.limits) and is \(new.limits).")
    }
    if old.isOrdered != new.isOrdered {
      note(
        .orderedChanged, entity, old.name, new.isOrdered,
        "The relationship became \(new.isOrdered ? "ordered" : "unordered").")
    }
  }
}

extension RelationshipDescription {
  /// The count limits of the relationship, for messages.
  fileprivate var limits: String {
    maxCount == 0 ? "at least \(minCount)" : "\(minCount) to \(maxCount)"
  }
}

extension PropertyDescription {
  fileprivate var isDerived: Bool {
    if case .attribute(let attribute) = self { attribute.isComputed } else { false }
  }

  fileprivate var kindName: String {
    switch self {
    case .attribute: "attribute"
    case .relationship: "relationship"
    case .composite: "composite attribute"
    }
  }

  fileprivate var kindPhrase: String { (kindName.first == "a" ? "an " : "a ") + kindName }
}
