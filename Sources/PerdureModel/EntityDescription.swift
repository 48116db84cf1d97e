/// The description of an entity: a named kind of object, its properties, and its superentity.
///
/// A description is a plain value and can be built in any order. `ManagedObjectModel` checks the
/// descriptions of a whole model together. After that they cannot change.
public struct EntityDescription: Sendable, Hashable {
  /// The name, which is unique in the model.
  public var name: String
  /// The entity whose properties, indexes and constraints this one inherits; nil for a root.
  public var superentityName: String?
  /// Whether only the subentities have objects, and the entity itself has none.
  public var isAbstract: Bool
  /// The name of the objects' Swift class. It is not part of the version hash.
  public var managedObjectClassName: String
  /// The declared properties, in slot order. ``propertiesByName`` includes the inherited ones.
  public var properties: [PropertyDescription]
  /// The declared fetched properties. They have no slots, are not in rows, and are not part of the
  /// version hash. ``fetchedPropertiesByName`` includes the inherited ones.
  public var fetchedProperties: [FetchedPropertyDescription]
  /// The declared indexes. They are not part of the version hash.
  public var indexes: [FetchIndexDescription]
  /// The uniqueness constraints: sets of attributes whose combined values must be unique.
  ///
  /// They apply to all objects of the entity and its subentities. An object with an absent value in
  /// the set is not constrained.
  public var uniquenessConstraints: [[String]]
  /// The name that the entity had in an earlier version of the model, for migration.
  public var renamingIdentifier: String?
  /// The program's own data about the entity. It is stored with the model, but is not part of the
  /// version hash.
  public var userInfo: [String: String]
  /// A text that changes the version hash. A store that was written with another modifier cannot be
  /// opened without a migration.
  public var versionHashModifier: String?
  /// The entities of the model from which the description comes.
  var family = EntityFamily()

  /// Makes a description. `ManagedObjectModel.init` checks it later.
  ///
  /// - Parameter className: The name of the objects' class. By default, the entity's name.
  public init(
    _ name: String, superentity superentityName: String? = nil, isAbstract: Bool = false,
    className: String? = nil, properties: [PropertyDescription],
    fetchedProperties: [FetchedPropertyDescription] = [], indexes: [FetchIndexDescription] = [],
    uniquenessConstraints: [[String]] = [], renamingIdentifier: String? = nil,
    userInfo: [String: String] = [:], versionHashModifier: String? = nil
  ) {
    self.name = name
    self.superentityName = superentityName
    self.isAbstract = isAbstract
    self.managedObjectClassName = className ?? name
    self.properties = properties
    self.fetchedProperties = fetchedProperties
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
