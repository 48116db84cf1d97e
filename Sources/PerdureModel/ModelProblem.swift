import PerdureText

/// One error or suspicious declaration in a model: its entity and property, the rule, and the
/// remedy.
public struct ModelProblem: Sendable, Hashable {
  /// The rule that a part of the model breaks.
  public enum Rule: String, Sendable, Hashable, CaseIterable {
    // Errors

    /// A name is empty, too long or not an identifier, or begins with an underscore.
    case nameSyntax
    /// A property has the name of a member of every managed object.
    case reservedName
    /// Two entities have the same name.
    case duplicateEntity
    /// Two properties of an entity have the same name.
    case duplicateProperty
    /// A property has the name of an inherited one.
    case redefinedProperty
    /// The superentity is not in the model.
    case unknownSuperentity
    /// An entity is its own superentity, directly or through others.
    case superentityCycle
    /// There are too many entities, properties or levels of inheritance.
    case tooMany
    /// The destination of a relationship is not in the model.
    case unknownDestination
    /// The inverse does not exist or is not a relationship.
    case unknownInverse
    /// The two ends of a relationship do not name each other as inverses.
    case inverseMismatch
    /// The limits of a relationship's count are negative, too large, or contradict each other.
    case countRange
    /// A relationship to one object is ordered.
    case orderedToOne
    /// A default value does not fit the attribute's type, or a transient attribute has a default
    /// that is made for each object.
    case defaultType
    /// A derivation is not supported.
    case derivation
    /// An index has an invalid name or no element, or a name or an element is repeated.
    case indexShape
    /// An element of an index is not a stored attribute or a to-one relationship of the entity. Or
    /// it is a function of a property that is not text.
    case indexProperty
    /// The predicate of a partial index cannot be read, depends on more than an object's own row,
    /// or has an operator or a value that indexes do not support.
    case indexPredicate
    /// A uniqueness constraint is empty, occurs twice, or repeats an attribute.
    case constraintShape
    /// A uniqueness constraint names an element that is not a stored attribute of the entity.
    case constraintProperty
    /// Two properties of an entity, or two entities, have the same renaming identifier.
    case renamingClash
    /// A transient relationship is ordered, or its inverse is not transient.
    case transientRelationship
    /// An attribute of the type `undefined` is not transient.
    case undefinedType
    /// A composite attribute has no elements or unsupported elements, or is nested too deeply.
    case compositeShape
    /// An attribute that is not transformable names a value transformer.
    case valueTransformer
    /// A validation rule does not fit the attribute, contradicts another rule, or cannot be read.
    case validationRule
    /// A configuration has an invalid name, names an entity that is not in the model, or contains
    /// only a part of a hierarchy.
    case configuration
    /// A fetch request template has no name or the name of another template, or its request has an
    /// error. Examples are an unknown entity or path, and a predicate that cannot be read.
    case fetchTemplate
    /// The request of a fetched property has an error. Examples are an unknown entity, path or user
    /// info key, and a predicate that cannot be read.
    case fetchedProperty

    // Warnings

    /// A relationship has no inverse. Its links to deleted objects are removed, and no delete rule
    /// applies in the other direction.
    case noInverse
    /// Deletes can cascade from an entity through other entities back to it.
    case cascadeCycle
    /// Deleting an object leaves a required relationship empty, so the save fails.
    case nullifiedRequired
    /// An abstract entity has no subentity that can have objects.
    case abstractWithoutConcrete
    /// The default value of an attribute breaks one of its validation rules.
    case defaultBreaksRule
    /// The destination of a relationship is outside of a configuration. No store can be opened with
    /// that configuration.
    case configurationSplitsRelationship
    /// Stores do not maintain an index, or possibly do not maintain it. Either the index contains a
    /// derived attribute that cannot be indexed in this way. Or it has several elements, and one of
    /// them is an end of a one-to-one relationship.
    case indexNotKept
    /// A uniqueness constraint contains a transformable attribute. The constraint compares the
    /// bytes, not the values.
    case constraintOfBytes
    /// An optional attribute has a default, so it is not nil in a new object.
    case optionalWithDefault
  }

  /// The broken rule.
  public let rule: Rule
  /// The entity's name, or the name of the configuration; empty if the problem is about neither.
  public let entity: String
  /// The property, index, constraint or template; nil if the problem is about the entity as a
  /// whole.
  public let property: String?
  /// The description of the problem.
  public let message: String
  /// The remedy.
  public let remedy: String
}

extension ModelProblem: CustomStringConvertible {
  /// The entity and property, the message, the remedy and the rule, in one line. Control characters
  /// and marks of text direction in names are escapes such as `\n`.
  public var description: String {
    let place = property.map { "\(entity).\($0)" } ?? (entity.isEmpty ? "model" : entity)
    return VisibleText.line("\(place): \(message) \(remedy) [\(rule.rawValue)]")
  }
}
