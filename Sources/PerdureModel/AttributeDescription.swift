/// The description of an attribute: a named value of one type in every object of an entity.
public struct AttributeDescription: Sendable, Hashable {
  /// The name, which is unique in the entity and its superentities.
  public var name: String
  /// The type of the values.
  public var type: AttributeType
  /// Whether the value may be absent at a save. An assignment does not check this.
  public var isOptional: Bool
  /// The value of a new object; nil if a new object has no value.
  ///
  /// Rows that are older than the attribute have the default with which the attribute was added. A
  /// later change of the default does not affect them.
  public var defaultValue: DefaultValue?
  /// The derivation of the value from other properties; nil if the program sets the value.
  ///
  /// | derivation | gives |
  /// |---|---|
  /// | `workers.@count` | the number of objects of a to-many relationship, a whole number |
  /// | `workers.salary.@sum`, `workers.@sum.salary` | the sum of an attribute of these objects; 0 without any |
  /// | `company.name`, `company.owner.name`, `name` | an attribute of the entity, or at the end of to-one relationships |
  /// | `now()` | the time of the last save of the object, a date |
  /// | `canonical:(company.name)`, `lowercase:(name)`, `uppercase:(name)` | a function of text at the end of such a path |
  ///
  /// A save sets an attribute with `now()` in each inserted object, and in each object whose stored
  /// attributes or relationships changed. All these objects get the same time. The value is stored,
  /// and is nil before the first save. The program cannot set it, and it causes no conflict between
  /// two saves. If the save fails, the object keeps the time as an unsaved change, and the next
  /// save replaces it.
  ///
  /// All other derivations are computed. The named attribute may itself be derived. The value is
  /// always current, before and after a save, for every change along the path. It is not stored,
  /// the program cannot set it, and the changed values do not contain it. In predicates and sort
  /// orders it is equivalent to its derivation.
  ///
  /// A path has no value if a relationship in it has no object, or if its attribute has no value. A
  /// derived attribute must be optional if its path can have no value. A sum of integers may be a
  /// decimal attribute. If the attribute's type cannot represent a sum, the property and sort
  /// orders use the nearest number. Predicates and other sums use the exact sum.
  ///
  /// Reading a derived attribute follows its path. Reading a sum visits all members, O(n), each
  /// time, unless an index on the attribute maintains the sum.
  public var derivation: String?
  /// The name that the attribute had in an earlier version of the model, for migration.
  public var renamingIdentifier: String?
  /// The rules for values. They are checked at a save and on demand, but not at assignment.
  ///
  /// An absent value violates no rule. Rules are not part of the version hash.
  public var rules: [ValidationRule]
  /// The name of the transformer that converts a transformable attribute's values to bytes and
  /// back. The name is not part of the version hash.
  public var valueTransformerName: String?
  /// Whether the value exists only in the object's context.
  ///
  /// Such a value is never stored. Predicates, sort orders, indexes and constraints cannot use the
  /// attribute.
  public var isTransient: Bool
  /// The program's own data about the attribute. It is stored with the model, but is not part of
  /// the version hash.
  public var userInfo: [String: String]
  /// A text that changes the version hash. Set it if stored values get a new meaning.
  ///
  /// A store that was written with another modifier cannot be opened without a migration.
  public var versionHashModifier: String?

  /// The name of the transformer that reads and writes secure archives.
  ///
  /// Core Data uses this transformer for transformable attributes that name no transformer. Perdure
  /// gives this name to such attributes when it reads a model file. `KeyedArchiveTransformer` of
  /// PerdureKeyedArchives registers itself under this name.
  public static let secureArchiveTransformerName = "NSSecureUnarchiveFromData"

  /// Makes a description. `ManagedObjectModel.init` checks it later.
  public init(
    _ name: String, _ type: AttributeType, isOptional: Bool = true, defaultValue: DefaultValue? = nil,
    derivation: String? = nil, renamingIdentifier: String? = nil, rules: [ValidationRule] = [],
    isTransient: Bool = false, valueTransformerName: String? = nil, userInfo: [String: String] = [:],
    versionHashModifier: String? = nil
  ) {
    self.name = name
    self.type = type
    self.isOptional = isOptional
    self.defaultValue = defaultValue
    self.derivation = derivation
    self.renamingIdentifier = renamingIdentifier
    self.rules = rules
    self.isTransient = isTransient
    self.valueTransformerName = valueTransformerName
    self.userInfo = userInfo
    self.versionHashModifier = versionHashModifier
  }
}
