/// The effect on the objects at the other end when an object is deleted. Raw values are stored.
public enum DeleteRule: UInt8, Sendable, Hashable, CaseIterable {
  /// None: references to the deleted object stay. The program is responsible.
  case noAction = 0
  /// The other end drops the deleted object.
  case nullify = 1
  /// The objects at the other end are deleted too, each once.
  case cascade = 2
  /// The delete is refused while an object is at the other end.
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
  /// none.
  public var minCount: Int
  /// The greatest number of objects at the other end: 1 makes the relationship to-one, 0 means no
  /// limit.
  public var maxCount: Int
  /// Whether an object may be saved without an object at the other end. If not, saving one without
  /// is error 1570 for a to-one and 1580 for a to-many relationship.
  public var isOptional: Bool
  /// What deleting an object does to the other end.
  public var deleteRule: DeleteRule
  /// Whether the program orders the objects at the other end; only for to-many relationships. Each
  /// end of a many-to-many relationship may have one, or both.
  public var isOrdered = false
  /// Whether the links are not stored. They exist in the context that made them. They end when an
  /// object that has the relationship or its inverse is refreshed without merging or deleted, and
  /// with the context. A save keeps them and writes nothing. The inverse must be transient as well;
  /// neither can be ordered. Counts, whether it is optional, and delete rules hold as for any other
  /// relationship.
  public var isTransient = false
  /// The name that the relationship had in an earlier version of the model, for migration.
  public var renamingIdentifier: String?
  /// The program's own data about the relationship; stored with the model, and not part of the
  /// version hash.
  public var userInfo: [String: String]
  /// Changes the version hash. A store that was written with another modifier is not opened without
  /// a migration.
  public var versionHashModifier: String?

  /// Makes a description. Nothing is checked here: the model checks everything at once.
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
