/// What an attribute is: a named value of one type that every object of an entity carries.
public struct AttributeDescription: Sendable, Hashable {
  /// The name, unique in the entity and its superentities.
  public var name: String
  /// The type of the values.
  public var type: AttributeType
  /// Whether the value may be absent when an object is saved. Checked at save, not at assignment.
  public var isOptional: Bool
  /// The value of a new object; nil leaves it absent. Also what an older row, written before the
  /// attribute existed, reads as.
  public var defaultValue: DefaultValue?
  /// How the value follows from others, or nil for a value that the program sets.
  ///
  /// At present exactly `relationship.@count` for a to-many relationship of the same entity.
  public var derivation: String?
  /// The name that the attribute had in an earlier version of the model, for migration.
  public var renamingIdentifier: String?

  /// Makes a description. Nothing is checked here: the model checks everything at once.
  public init(
    _ name: String, _ type: AttributeType, isOptional: Bool = true, defaultValue: DefaultValue? = nil,
    derivation: String? = nil, renamingIdentifier: String? = nil
  ) {
    self.name = name
    self.type = type
    self.isOptional = isOptional
    self.defaultValue = defaultValue
    self.derivation = derivation
    self.renamingIdentifier = renamingIdentifier
  }
}
