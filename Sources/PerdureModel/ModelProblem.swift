/// One error or suspicious declaration in a model: the place, the rule, and the remedy.
public struct ModelProblem: Sendable, Hashable {
  /// The rule that a description breaks.
  public enum Rule: String, Sendable, Hashable, CaseIterable {
    // Errors

    /// A name is empty, too long, no identifier, or begins with an underscore.
    case nameSyntax
    /// A property is named like a member of every managed object.
    case reservedName
    /// Two entities have one name.
    case duplicateEntity
    /// Two properties of an entity have one name.
    case duplicateProperty
    /// A property has the name of an inherited one.
    case redefinedProperty
    /// The superentity is not in the model.
    case unknownSuperentity
    /// An entity is its own superentity, through any number of others.
    case superentityCycle
    /// There are too many entities, properties or levels of inheritance.
    case tooMany
    /// The destination of a relationship is not in the model.
    case unknownDestination
    /// The inverse does not exist, or is no relationship.
    case unknownInverse
    /// The two ends of a relationship do not name each other.
    case inverseMismatch
    /// The limits of a relationship's count contradict each other.
    case countRange
    /// A relationship to one object is ordered.
    case orderedToOne
    /// A default value is not of the attribute's type.
    case defaultType
    /// A derivation is not one that is supported.
    case derivation
    /// An index has no name or no element, or repeats a name or an element.
    case indexShape
    /// An index names an element that is not an attribute or to-one relationship of the entity.
    case indexProperty
    /// The predicate of a partial index depends on more than an object's own stored attributes.
    case indexPredicate
    /// A uniqueness constraint is empty or repeats an attribute.
    case constraintShape
    /// A uniqueness constraint names an element that is not a stored attribute of the entity.
    case constraintProperty
    /// Two properties of an entity, or two entities, claim one earlier name.
    case renamingClash
    /// A transient relationship is ordered, or its inverse is not transient.
    case transientRelationship
    /// An attribute of the type undefined is not transient.
    case undefinedType
    /// A composite attribute has no element, has elements that it cannot have, or is nested too
    /// deeply.
    case compositeShape
    /// An attribute that is not transformable names a value transformer.
    case valueTransformer
    /// A validation rule does not fit the attribute's type, contradicts another, or cannot be read.
    case validationRule
    /// A configuration has no valid name, names an entity that is not in the model, or has a part
    /// of a hierarchy only.
    case configuration

    // Warnings

    /// A relationship has no inverse: it drops deleted objects, and no delete rule applies in the
    /// other direction.
    case noInverse
    /// Deletes can cascade from an entity back to itself through other entities.
    case cascadeCycle
    /// Deleting would leave a required relationship empty, and the save would fail.
    case nullifiedRequired
    /// An abstract entity has no subentity that can have objects.
    case abstractWithoutConcrete
    /// The default value of an attribute breaks one of its validation rules.
    case defaultBreaksRule
    /// A relationship leads out of a configuration: no store can be opened with it.
    case configurationSplitsRelationship
    /// An index has a derived attribute, or an end of a one-to-one relationship, among several
    /// elements: stores do without it, or may.
    case indexNotKept
    /// A uniqueness constraint has a transformable attribute: the bytes are unique, not the values.
    case constraintOfBytes
    /// An optional attribute has a default, so that it is not nil until a program removes it.
    case optionalWithDefault
  }

  /// The broken rule.
  public let rule: Rule
  /// The entity, as named in its description; for a configuration its name, where no entity is
  /// meant.
  public let entity: String
  /// The property, index or constraint, or nil when the entity as a whole is meant.
  public let property: String?
  /// The problem, in one sentence.
  public let message: String
  /// The remedy, in one sentence.
  public let remedy: String
}

extension ModelProblem: CustomStringConvertible {
  /// The place, the message and the remedy in one line.
  public var description: String {
    let place = property.map { "\(entity).\($0)" } ?? (entity.isEmpty ? "model" : entity)
    return "\(place): \(message) \(remedy) [\(rule.rawValue)]"
  }
}
