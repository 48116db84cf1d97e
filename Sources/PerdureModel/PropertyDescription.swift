/// A property of an entity: an attribute, a composite of attributes, or a relationship.
///
/// Static functions are short forms for the usual properties:
///
///     EntityDescription("Company", properties: [
///       .string("name", optional: false),
///       .toMany("workers", "Worker", inverse: "company", deleteRule: .cascade),
///       .derived("workerCount", "workers.@count"),
///     ])
public enum PropertyDescription: Sendable, Hashable {
  /// A value.
  case attribute(AttributeDescription)
  /// A link to other objects.
  case relationship(RelationshipDescription)
  /// Several values under one name.
  case composite(CompositeAttributeDescription)

  /// The property's name.
  public var name: String {
    switch self {
    case .attribute(let attribute): attribute.name
    case .relationship(let relationship): relationship.name
    case .composite(let composite): composite.name
    }
  }

  /// Whether an object may be saved without a value, or without an object at the other end.
  public var isOptional: Bool {
    switch self {
    case .attribute(let attribute): attribute.isOptional
    case .relationship(let relationship): relationship.isOptional
    case .composite(let composite): composite.isOptional
    }
  }

  /// The name that the property had in an earlier version of the model.
  public var renamingIdentifier: String? {
    switch self {
    case .attribute(let attribute): attribute.renamingIdentifier
    case .relationship(let relationship): relationship.renamingIdentifier
    case .composite(let composite): composite.renamingIdentifier
    }
  }

  /// The program's own data about the property.
  public var userInfo: [String: String] {
    switch self {
    case .attribute(let attribute): attribute.userInfo
    case .relationship(let relationship): relationship.userInfo
    case .composite(let composite): composite.userInfo
    }
  }

  /// A text that changes the version hash.
  public var versionHashModifier: String? {
    switch self {
    case .attribute(let attribute): attribute.versionHashModifier
    case .relationship(let relationship): relationship.versionHashModifier
    case .composite(let composite): composite.versionHashModifier
    }
  }

  /// Whether no store contains the property's values or links.
  public var isTransient: Bool {
    switch self {
    case .attribute(let attribute): attribute.isTransient
    case .relationship(let relationship): relationship.isTransient
    case .composite: false
    }
  }
}

extension PropertyDescription {
  /// Describes an attribute of any type.
  public static func attribute(
    _ name: String, _ type: AttributeType, optional: Bool = true, default value: DefaultValue? = nil,
    rules: [ValidationRule] = []
  ) -> PropertyDescription {
    .attribute(AttributeDescription(name, type, isOptional: optional, defaultValue: value, rules: rules))
  }

  /// Describes text.
  public static func string(
    _ name: String, optional: Bool = true, default value: DefaultValue? = nil, rules: [ValidationRule] = []
  ) -> PropertyDescription { .attribute(name, .string, optional: optional, default: value, rules: rules) }

  /// Describes a truth value.
  public static func boolean(
    _ name: String, optional: Bool = true, default value: DefaultValue? = nil, rules: [ValidationRule] = []
  ) -> PropertyDescription { .attribute(name, .boolean, optional: optional, default: value, rules: rules) }

  /// Describes a whole number of 16 bits.
  public static func int16(
    _ name: String, optional: Bool = true, default value: DefaultValue? = nil, rules: [ValidationRule] = []
  ) -> PropertyDescription { .attribute(name, .int16, optional: optional, default: value, rules: rules) }

  /// Describes a whole number of 32 bits.
  public static func int32(
    _ name: String, optional: Bool = true, default value: DefaultValue? = nil, rules: [ValidationRule] = []
  ) -> PropertyDescription { .attribute(name, .int32, optional: optional, default: value, rules: rules) }

  /// Describes a whole number of 64 bits.
  public static func int64(
    _ name: String, optional: Bool = true, default value: DefaultValue? = nil, rules: [ValidationRule] = []
  ) -> PropertyDescription { .attribute(name, .int64, optional: optional, default: value, rules: rules) }

  /// Describes a floating-point number of 32 bits.
  public static func float(
    _ name: String, optional: Bool = true, default value: DefaultValue? = nil, rules: [ValidationRule] = []
  ) -> PropertyDescription { .attribute(name, .float, optional: optional, default: value, rules: rules) }

  /// Describes a floating-point number of 64 bits.
  public static func double(
    _ name: String, optional: Bool = true, default value: DefaultValue? = nil, rules: [ValidationRule] = []
  ) -> PropertyDescription { .attribute(name, .double, optional: optional, default: value, rules: rules) }

  /// Describes an exact decimal number.
  public static func decimal(
    _ name: String, optional: Bool = true, default value: DefaultValue? = nil, rules: [ValidationRule] = []
  ) -> PropertyDescription { .attribute(name, .decimal, optional: optional, default: value, rules: rules) }

  /// Describes a point in time.
  public static func date(
    _ name: String, optional: Bool = true, default value: DefaultValue? = nil, rules: [ValidationRule] = []
  ) -> PropertyDescription { .attribute(name, .date, optional: optional, default: value, rules: rules) }

  /// Describes a 128-bit identifier.
  public static func uuid(
    _ name: String, optional: Bool = true, default value: DefaultValue? = nil, rules: [ValidationRule] = []
  ) -> PropertyDescription { .attribute(name, .uuid, optional: optional, default: value, rules: rules) }

  /// Describes a URL.
  public static func uri(
    _ name: String, optional: Bool = true, default value: DefaultValue? = nil, rules: [ValidationRule] = []
  ) -> PropertyDescription { .attribute(name, .uri, optional: optional, default: value, rules: rules) }

  /// Describes the identity of an object; see `AttributeType.objectID`.
  public static func objectID(_ name: String, optional: Bool = true) -> PropertyDescription {
    .attribute(name, .objectID, optional: optional)
  }

  /// Describes bytes.
  public static func binary(
    _ name: String, optional: Bool = true, default value: DefaultValue? = nil, rules: [ValidationRule] = []
  ) -> PropertyDescription { .attribute(name, .binary, optional: optional, default: value, rules: rules) }

  /// Describes a derived attribute, for example `"workers.@count"`, `"workers.salary.@sum"`,
  /// `"company.name"` or `"canonical:(name)"`. See ``AttributeDescription/derivation``.
  ///
  /// - Parameter optional: Whether the value may be absent. By default, counts and sums are always
  ///   present, and other derived values may be absent.
  public static func derived(
    _ name: String, _ derivation: String, type: AttributeType = .int64, optional: Bool? = nil
  ) -> PropertyDescription {
    let isAggregate = (try? Derivation(derivation))?.isAggregate ?? true
    return .attribute(
      AttributeDescription(name, type, isOptional: optional ?? !isAggregate, derivation: derivation))
  }

  /// Describes an attribute that is never stored. By default its values can have any type.
  public static func transient(
    _ name: String, _ type: AttributeType = .undefined, optional: Bool = true,
    default value: DefaultValue? = nil, rules: [ValidationRule] = []
  ) -> PropertyDescription {
    .attribute(
      AttributeDescription(
        name, type, isOptional: optional, defaultValue: value, rules: rules, isTransient: true))
  }

  /// Describes a relationship to at most one object; see ``RelationshipDescription/isTransient``
  /// for `transient`.
  public static func toOne(
    _ name: String, _ destination: String, inverse: String? = nil, optional: Bool = true,
    deleteRule: DeleteRule = .nullify, transient: Bool = false
  ) -> PropertyDescription {
    .relationship(
      RelationshipDescription(
        name, to: destination, inverse: inverse, minCount: optional ? 0 : 1, maxCount: 1,
        isOptional: optional, deleteRule: deleteRule, isTransient: transient))
  }

  /// Describes a relationship to any number of objects. A `maxCount` of 0 means no limit.
  ///
  /// An `ordered` relationship keeps the objects in the program's order. See
  /// ``RelationshipDescription/isTransient`` for `transient`.
  public static func toMany(
    _ name: String, _ destination: String, inverse: String? = nil, optional: Bool = true,
    minCount: Int = 0, maxCount: Int = 0, deleteRule: DeleteRule = .nullify, ordered: Bool = false,
    transient: Bool = false
  ) -> PropertyDescription {
    .relationship(
      RelationshipDescription(
        name, to: destination, inverse: inverse, minCount: minCount, maxCount: maxCount,
        isOptional: optional, deleteRule: deleteRule, isOrdered: ordered, isTransient: transient))
  }
}
