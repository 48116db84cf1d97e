/// The description of an attribute: a named value of one type that every object of an entity has.
public struct AttributeDescription: Sendable, Hashable {
  /// The name, unique in the entity and its superentities.
  public var name: String
  /// The type of the values.
  public var type: AttributeType
  /// Whether the value may be absent when an object is saved. Checked at save, not at assignment.
  public var isOptional: Bool
  /// The value of a new object; nil leaves it absent. It is also the value of an older row, written
  /// before the attribute existed.
  public var defaultValue: DefaultValue?
  /// The derivation of the value from others, or nil for a value that the program sets.
  ///
  /// | derivation | gives |
  /// |---|---|
  /// | `workers.@count` | how many objects a to-many relationship has; whole numbers |
  /// | `workers.salary.@sum`, `workers.@sum.salary` | the sum of an attribute of these objects, 0 of none |
  /// | `company.name`, `company.owner.name`, `name` | an attribute at the end of to-one relationships, or an own one |
  /// | `canonical:(company.name)`, `lowercase:(name)`, `uppercase:(name)` | text at the end of such a path, changed |
  ///
  /// The named attribute may itself be derived. The value is always current: before a save and
  /// after it, for every change along the path. It is not stored, it cannot be set, and it is not
  /// among the changed values. In predicates and orders it is equivalent to its derivation.
  ///
  /// A path has no value where one of its relationships leads nowhere or its attribute has none;
  /// the derived attribute is optional then. A sum of whole numbers may be decimal. If its type
  /// cannot hold a sum, the property and orders have the nearest number; predicates and other sums
  /// take the exact one.
  ///
  /// Reading one follows its path; a sum looks at all members, O(n), each time, unless an index on
  /// it keeps the sum.
  public var derivation: String?
  /// The name that the attribute had in an earlier version of the model, for migration.
  public var renamingIdentifier: String?
  /// The rules that values must satisfy at a save. Checked at save and on demand, not at
  /// assignment; an absent value violates no rule. Not part of the version hash.
  public var rules: [ValidationRule]
  /// The name of the transformer of a transformable attribute's values into bytes and back. Not
  /// part of the version hash.
  public var valueTransformerName: String?
  /// Whether the value lives with the object in its context only: never stored, and not in
  /// predicates, orders, indexes or constraints.
  public var isTransient: Bool
  /// Whatever a program wants to say about the attribute; stored with the model, and not part of
  /// the version hash.
  public var userInfo: [String: String]
  /// Changes the version hash, if stored values have a new meaning. A store that was written with
  /// another modifier is not opened without a migration.
  public var versionHashModifier: String?

  /// Makes a description. Nothing is checked here: the model checks everything at once.
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
