/// The effect of deleting an object on the objects at the other end. The raw values are stored.
public enum DeleteRule: UInt8, Sendable, Hashable, CaseIterable {
  /// No effect: references to the deleted object remain. The program must handle them.
  case noAction = 0
  /// The links to the deleted object are removed.
  case nullify = 1
  /// The objects at the other end are deleted too, each once.
  case cascade = 2
  /// The delete is rejected while there is an object at the other end.
  case deny = 3
}

/// The description of a relationship: a named link from the objects of one entity to those of
/// another.
public struct RelationshipDescription: Sendable, Hashable {
  /// The name, unique in the entity and its superentities.
  public var name: String
  /// The name of the entity at the other end.
  public var destinationEntityName: String
  /// The name of the destination's inverse relationship, or nil for a one-way link.
  public var inverseName: String?
  /// The least number of objects at the other end at a save. An optional relationship may also have
  /// no object.
  public var minCount: Int
  /// The greatest number of objects at the other end: 1 makes the relationship to-one, 0 means no
  /// limit.
  public var maxCount: Int
  /// Whether an object may be saved without an object at the other end.
  ///
  /// If false, saving such an object fails with error 1570 for a to-one relationship, and 1580 for
  /// a to-many relationship.
  public var isOptional: Bool
  /// The effect of deleting an object on the objects at the other end.
  public var deleteRule: DeleteRule
  /// Whether the program orders the objects at the other end. Only a to-many relationship can be
  /// ordered. In a many-to-many relationship, each end may be ordered.
  public var isOrdered = false
  /// Whether the links are not stored. They exist only in the context that made them. The save
  /// of a child context passes them to its parent.
  ///
  /// The links are discarded with the context. A link is also discarded when an object at either
  /// end is deleted, or refreshed without merging. A save keeps the links and writes nothing. The
  /// inverse must be transient too, and neither end can be ordered. Count limits, `isOptional` and
  /// delete rules apply as usual.
  public var isTransient = false
  /// The name that the relationship had in an earlier version of the model, for migration.
  public var renamingIdentifier: String?
  /// The program's own data about the relationship. It is stored with the model, but is not part of
  /// the version hash.
  public var userInfo: [String: String]
  /// A text that changes the version hash. A store that was written with another modifier cannot be
  /// opened without a migration.
  public var versionHashModifier: String?

  /// Makes a description. `ManagedObjectModel.init` checks it later.
  public init(
    _ name: String, to destinationEntityName: String, inverse inverseName: String? = nil,
    minCount: Int = 0, maxCount: Int, isOptional: Bool = true, deleteRule: DeleteRule = .nullify,
    isOrdered: Bool = false, isTransient: Bool = false, renamingIdentifier: String? = nil,
    userInfo: [String: String] = [:],
    versionHashModifier: String? = nil
  ) {
    self.name = name
    self.destinationEntityName = destinationEntityName
    self.inverseName = inverseName
    self.minCount = minCount
    self.maxCount = maxCount
    self.isOptional = isOptional
    self.deleteRule = deleteRule
    self.isOrdered = isOrdered
    self.isTransient = isTransient
    self.renamingIdentifier = renamingIdentifier
    self.userInfo = userInfo
    self.versionHashModifier = versionHashModifier
  }

  /// Whether more than one object may be at the other end.
  public var isToMany: Bool { maxCount != 1 }
}
