/// The description of an entity: a named kind of object, its properties, and its superentity.
///
/// A description is a plain value and may be built in any order; `ManagedObjectModel` checks the
/// descriptions of a whole model together and freezes them.
public struct EntityDescription: Sendable, Hashable {
  /// The name, unique in the model.
  public var name: String
  /// The entity whose properties, indexes and constraints this one inherits, or nil for a root.
  public var superentityName: String?
  /// Whether only subentities have objects.
  public var isAbstract: Bool
  /// The name of the Swift class of the objects. Not part of the version hash.
  public var managedObjectClassName: String
  /// The properties that the entity declares, attributes and relationships in the order of their
  /// slots. Inherited ones are in ``propertiesByName``.
  public var properties: [PropertyDescription]
  /// The indexes that the entity declares. Not part of the version hash.
  public var indexes: [FetchIndexDescription]
  /// The sets of attributes whose values, taken together, no two objects of the entity and its
  /// subentities share. A set with an absent value in it constrains nothing.
  public var uniquenessConstraints: [[String]]
  /// The name that the entity had in an earlier version of the model, for migration.
  public var renamingIdentifier: String?
  /// Whatever a program wants to say about the entity; stored with the model, and not part of the
  /// version hash.
  public var userInfo: [String: String]
  /// Makes the version hash another one. A store that was written with another modifier is not
  /// opened without a migration.
  public var versionHashModifier: String?
  /// The entities of the model that the description was taken from.
  var family = EntityFamily()

  /// Makes a description. Nothing is checked here: the model checks everything at once.
  ///
  /// - Parameter className: The name of the objects' class; the entity's own name unless given.
  public init(
    _ name: String, superentity superentityName: String? = nil, isAbstract: Bool = false,
    className: String? = nil, properties: [PropertyDescription], indexes: [FetchIndexDescription] = [],
    uniquenessConstraints: [[String]] = [], renamingIdentifier: String? = nil,
    userInfo: [String: String] = [:], versionHashModifier: String? = nil
  ) {
    self.name = name
    self.superentityName = superentityName
    self.isAbstract = isAbstract
    self.managedObjectClassName = className ?? name
    self.properties = properties
    self.indexes = indexes
    self.uniquenessConstraints = uniquenessConstraints
    self.renamingIdentifier = renamingIdentifier
    self.userInfo = userInfo
    self.versionHashModifier = versionHashModifier
  }

  /// The declared attributes, in order. ``attributesByName`` includes inherited ones.
  public var attributes: [AttributeDescription] {
    properties.compactMap { property in
      if case .attribute(let attribute) = property { attribute } else { nil }
    }
  }

  /// The declared relationships, in order. ``relationshipsByName`` includes inherited ones.
  public var relationships: [RelationshipDescription] {
    properties.compactMap { property in
      if case .relationship(let relationship) = property { relationship } else { nil }
    }
  }
}
