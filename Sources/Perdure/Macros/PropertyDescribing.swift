// The code that `@Entity` generates calls these functions to describe a class. The macro sees
// source text and no types. So overloads let the compiler choose the kind of a property by the type
// of its variable.

public import PerdureModel
import PerdurePredicates

/// Collects the properties of a class for its entity's description. For generated code.
public struct _EntityAssembly {
  private let name: String?
  private let isAbstract: Bool
  private let originalName: String?
  private let userInfo: [String: String]
  private let versionHashModifier: String?
  private var properties: [PropertyDescription] = []
  var fetchedProperties: [FetchedPropertyDescription] = []
  private var indexes: [FetchIndexDescription]
  private var constraints: [[String]]

  /// Makes an assembly with the options of `@Entity`.
  public init(
    _ name: String? = nil, isAbstract: Bool = false, unique: [[String]] = [],
    indexes: [FetchIndexDescription] = [], originalName: String? = nil,
    userInfo: [String: String] = [:], versionHashModifier: String? = nil,
    propertiesInExtension: Bool = false
  ) {
    self.name = name
    self.isAbstract = isAbstract
    self.originalName = originalName
    self.userInfo = userInfo
    self.versionHashModifier = versionHashModifier
    constraints = unique
    self.indexes = indexes
  }

  /// The name of the entity of a class. It is known before any description is made, because
  /// descriptions of related entities name each other.
  public func entityName(of className: String) -> String { name ?? className }

  /// The description of the entity of a class.
  ///
  /// - Parameter count: The number of slots of the superclass that the macros know: those of its
  ///   entity, and those of classes with `@EntityBase` below that entity. If a superclass describes
  ///   its entity without `@Entity`, `count` lacks its slots. The program then stops.
  public func description(
    of className: String, superclass: ManagedObject.Type, after count: Int
  ) -> EntityDescription {
    let inherited = Self.inheritedProperties(superclass)
    var base = _EntityAssembly()
    superclass._addProperties(to: &base, after: inherited.count)
    if inherited.count + EntityDescription("", properties: base.properties).slotted.count != count {
      stop(
        "\(className) inherits from \(superclass), whose entity is not described by @Entity, so the positions of its "
          + "properties are not known. Mark \(superclass) with @Entity, or write @Accessors and a description for "
          + "\(className).")
    }
    return EntityDescription(
      entityName(of: className),
      superentity: superclass._entityName.isEmpty ? nil : superclass._entityName,
      isAbstract: isAbstract, className: className,
      properties: base.properties + properties,
      fetchedProperties: base.fetchedProperties + fetchedProperties, indexes: base.indexes + indexes,
      uniquenessConstraints: base.constraints + constraints, renamingIdentifier: originalName,
      userInfo: userInfo, versionHashModifier: versionHashModifier)
  }
}

extension _EntityAssembly {
  /// The properties of the entities of a class and its superclasses.
  private static func inheritedProperties(_ superclass: ManagedObject.Type) -> [PropertyDescription] {
    var entities: [String: [PropertyDescription]] = [:]
    var next: AnyClass? = superclass
    while let type = next as? ManagedObject.Type {
      let entity = type.entityDescription
      if !entity.name.isEmpty { entities[entity.name] = entity.slotted }
      next = _getSuperclass(type)
    }
    return entities.values.flatMap(\.self)
  }
}

// MARK: - Attributes

extension _EntityAssembly {
  /// Adds an attribute whose variable is not optional.
  public mutating func add<Attribute: AttributeValue>(
    _ name: String, _ type: Attribute.Type, default value: Attribute? = nil, _ options: AttributeOption...,
    derived: String? = nil, originalName: String? = nil
  ) {
    RequiredAttribute.check(name, type, default: value)
    addAttribute(
      AttributeDescription(
        name, Attribute.attributeType, isOptional: false,
        defaultValue: DefaultValue(initial: value?.predicateValue, of: name),
        derivation: derived, renamingIdentifier: originalName), options)
  }

  /// Adds an attribute whose variable is optional.
  public mutating func add<Attribute: AttributeValue>(
    _ name: String, _ type: Attribute?.Type, default value: Attribute? = nil, _ options: AttributeOption...,
    derived: String? = nil, originalName: String? = nil
  ) {
    addAttribute(
      AttributeDescription(
        name, Attribute.attributeType, isOptional: true,
        defaultValue: DefaultValue(initial: value?.predicateValue, of: name),
        derivation: derived, renamingIdentifier: originalName), options)
  }

  /// Adds an attribute whose variable is not optional, with a default made for each object.
  public mutating func add<Attribute: AttributeValue>(
    _ name: String, _ type: Attribute.Type, made value: DefaultValue, _ options: AttributeOption...,
    originalName: String? = nil
  ) {
    addAttribute(
      AttributeDescription(
        name, Attribute.attributeType, isOptional: false, defaultValue: value,
        renamingIdentifier: originalName), options)
  }

  /// Adds an attribute whose variable is optional, with a default made for each object.
  public mutating func add<Attribute: AttributeValue>(
    _ name: String, _ type: Attribute?.Type, made value: DefaultValue, _ options: AttributeOption...,
    originalName: String? = nil
  ) {
    addAttribute(
      AttributeDescription(
        name, Attribute.attributeType, isOptional: true, defaultValue: value,
        renamingIdentifier: originalName), options)
  }

  mutating func addAttribute(_ attribute: AttributeDescription, _ options: [AttributeOption]) {
    var attribute = attribute
    attribute.take(options)
    if options.contains(.transient) { attribute.isTransient = true }
    if options.contains(.optional) { attribute.isOptional = true }
    if options.contains(.required) { attribute.isOptional = false }
    for case .transformed(let name) in options { attribute.valueTransformerName = name }
    properties.append(.attribute(attribute))
    if options.contains(.indexed) { indexes.append(FetchIndexDescription(on: attribute.name)) }
    if options.contains(.unique) { constraints.append([attribute.name]) }
  }
}

// MARK: - Attributes with a transformer

extension _EntityAssembly {
  /// Adds an attribute whose values a transformer converts.
  public mutating func addTransformed<Other>(
    _ name: String, _ type: Other.Type, _ options: AttributeOption..., derived: String? = nil,
    originalName: String? = nil
  ) {
    addAttribute(
      AttributeDescription(
        name, .transformable, isOptional: type is any _MayBeNil.Type, derivation: derived,
        renamingIdentifier: originalName),
      options)
  }
}

// MARK: - Transient attributes

extension _EntityAssembly {
  /// Adds a transient attribute of an `AttributeValue` type whose variable is not optional.
  public mutating func addTransient<Attribute: AttributeValue>(
    _ name: String, _ type: Attribute.Type, default value: Attribute? = nil, _ options: AttributeOption...,
    originalName: String? = nil
  ) {
    RequiredAttribute.check(name, type, default: value)
    addAttribute(
      AttributeDescription(
        name, Attribute.attributeType, isOptional: false,
        defaultValue: DefaultValue(initial: value?.predicateValue, of: name),
        renamingIdentifier: originalName, isTransient: true), options)
  }

  /// Adds a transient attribute of an `AttributeValue` type whose variable is optional.
  public mutating func addTransient<Attribute: AttributeValue>(
    _ name: String, _ type: Attribute?.Type, default value: Attribute? = nil, _ options: AttributeOption...,
    originalName: String? = nil
  ) {
    addAttribute(
      AttributeDescription(
        name, Attribute.attributeType, isOptional: true,
        defaultValue: DefaultValue(initial: value?.predicateValue, of: name),
        renamingIdentifier: originalName, isTransient: true), options)
  }

  /// Like the first function above, but the first read makes the default, for each object. Until
  /// then the attribute has no value, and no save requires one.
  public mutating func addTransient<Attribute: AttributeValue>(
    _ name: String, _ type: Attribute.Type, made value: DefaultValue, _ options: AttributeOption...,
    originalName: String? = nil
  ) {
    addAttribute(
      AttributeDescription(
        name, Attribute.attributeType, renamingIdentifier: originalName, isTransient: true), options)
  }

  /// Like the function above, for an optional variable.
  public mutating func addTransient<Attribute: AttributeValue>(
    _ name: String, _ type: Attribute?.Type, made value: DefaultValue, _ options: AttributeOption...,
    originalName: String? = nil
  ) {
    addAttribute(
      AttributeDescription(
        name, Attribute.attributeType, renamingIdentifier: originalName, isTransient: true), options)
  }

  /// Adds a transient attribute of any type.
  @_disfavoredOverload
  public mutating func addTransient<Other>(
    _ name: String, _ type: Other.Type, _ options: AttributeOption..., originalName: String? = nil
  ) {
    addAttribute(
      AttributeDescription(
        name, .undefined, isOptional: type is any _MayBeNil.Type, renamingIdentifier: originalName,
        isTransient: true), options)
  }

  /// Adds a transient attribute of any type, with an initial value that the first read makes.
  @_disfavoredOverload
  public mutating func addTransient<Other>(
    _ name: String, _ type: Other.Type, default value: @autoclosure () -> Other,
    _ options: AttributeOption...,
    originalName: String? = nil
  ) {
    addAttribute(
      AttributeDescription(name, .undefined, renamingIdentifier: originalName, isTransient: true), options)
  }
}

extension AttributeDescription {
  /// Applies the options that every attribute can have.
  mutating func take(_ options: [AttributeOption]) {
    for option in options {
      switch option {
      case .rules(let rules): self.rules += rules
      case .userInfo(let userInfo): self.userInfo.merge(userInfo) { $1 }
      case .versionHashModifier(let modifier): versionHashModifier = modifier
      case .unique, .indexed, .optional, .required, .transient, .composite, .elementDefaults,
        .transformed:
        break
      }
    }
  }
}

/// Distinguishes optional types from others.
private protocol _MayBeNil {}
extension Optional: _MayBeNil {}

// MARK: - Relationships

extension _EntityAssembly {
  /// Adds a to-one relationship.
  ///
  /// - Parameter minCount: 0 or 1. If nil, it is 0 for an optional relationship and 1 for a
  ///   required one. The validation of objects ignores it; the validation of the model checks its
  ///   range.
  public mutating func add<Destination: ManagedObject>(
    _ name: String, _ type: Destination?.Type, inverse: String? = nil, deleteRule: DeleteRule = .nullify,
    optional: Bool = true, minCount: Int? = nil, transient: Bool = false, originalName: String? = nil,
    userInfo: [String: String] = [:], versionHashModifier: String? = nil
  ) {
    addRelationship(
      RelationshipDescription(
        name, to: Self.entity(of: Destination.self), inverse: inverse,
        minCount: minCount ?? (optional ? 0 : 1),
        maxCount: 1, isOptional: optional, deleteRule: deleteRule, isTransient: transient,
        renamingIdentifier: originalName, userInfo: userInfo, versionHashModifier: versionHashModifier))
  }

  /// Adds a to-one relationship whose variable is not optional.
  public mutating func add<Destination: ManagedObject>(
    _ name: String, _ type: Destination.Type, inverse: String? = nil, deleteRule: DeleteRule = .nullify,
    transient: Bool = false, originalName: String? = nil, userInfo: [String: String] = [:],
    versionHashModifier: String? = nil
  ) {
    add(
      name, Destination?.self, inverse: inverse, deleteRule: deleteRule, optional: false,
      transient: transient,
      originalName: originalName, userInfo: userInfo, versionHashModifier: versionHashModifier)
  }

  /// Adds a to-many relationship.
  public mutating func add<Destination: ManagedObject>(
    _ name: String, _ type: ToMany<Destination>.Type, inverse: String? = nil,
    deleteRule: DeleteRule = .nullify, optional: Bool = true, minCount: Int = 0, maxCount: Int = 0,
    transient: Bool = false, originalName: String? = nil, userInfo: [String: String] = [:],
    versionHashModifier: String? = nil
  ) {
    if maxCount == 1 {
      stop("The relationship \(name) is to-many with maxCount: 1. Declare it as an optional object.")
    }
    addRelationship(
      RelationshipDescription(
        name, to: Self.entity(of: Destination.self), inverse: inverse, minCount: minCount,
        maxCount: maxCount, isOptional: optional, deleteRule: deleteRule, isTransient: transient,
        renamingIdentifier: originalName, userInfo: userInfo, versionHashModifier: versionHashModifier))
  }

  /// Adds an ordered to-many relationship.
  public mutating func add<Destination: ManagedObject>(
    _ name: String, _ type: OrderedToMany<Destination>.Type, inverse: String? = nil,
    deleteRule: DeleteRule = .nullify, optional: Bool = true, minCount: Int = 0, maxCount: Int = 0,
    transient: Bool = false, originalName: String? = nil, userInfo: [String: String] = [:],
    versionHashModifier: String? = nil
  ) {
    add(
      name, ToMany<Destination>.self, inverse: inverse, deleteRule: deleteRule, optional: optional,
      minCount: minCount, maxCount: maxCount, transient: transient, originalName: originalName,
      userInfo: userInfo, versionHashModifier: versionHashModifier)
    guard case .relationship(var relationship)? = properties.popLast() else {
      preconditionFailure("The last property must be the new relationship.")
    }
    relationship.isOrdered = true
    addRelationship(relationship)
  }

  private static func entity(of destination: ManagedObject.Type) -> String {
    let name = destination._entityName
    if name.isEmpty {
      stop("\(destination) describes no entity. Mark it with @Entity, or override entityDescription.")
    }
    return name
  }

  mutating func add(
    _ composite: CompositeAttributeDescription, _ options: [AttributeOption], _ originalName: String?
  ) {
    var composite = composite
    composite.renamingIdentifier = originalName
    for option in options {
      switch option {
      case .userInfo(let userInfo): composite.userInfo.merge(userInfo) { $1 }
      case .versionHashModifier(let modifier): composite.versionHashModifier = modifier
      default: break
      }
    }
    properties.append(.composite(composite))
  }

  private mutating func addRelationship(_ relationship: RelationshipDescription) {
    properties.append(.relationship(relationship))
  }
}

// MARK: - Anything else

extension _EntityAssembly {
  /// Explains that an object cannot be an attribute.
  @available(
    *, unavailable,
    message:
      "A property that leads to an object is a relationship. Write @Relationship instead of @Attribute."
  )
  public mutating func add<Destination: ManagedObject>(
    _ name: String, _ type: Destination?.Type, _ option: AttributeOption, _ more: AttributeOption...
  ) {}

  /// Accepts any other type, so that the compiler reports only the accessor of the property
  /// (UnmanagedAccessors.swift). It has no parameter for options. With one, the compiler would
  /// prefer it to the unavailable function above, and would not show the message of that function.
  /// If a property can have the type, but not these arguments, the program calls this function and
  /// stops.
  @_disfavoredOverload
  public mutating func add<Other>(
    _ name: String, _ type: Other.Type, default value: Other? = nil, derived: String? = nil,
    originalName: String? = nil
  ) {
    stop(
      "\(name) is not added: a property of the type \(Other.self) cannot have an initial value or a derivation. "
        + "Remove them."
    )
  }

  /// Accepts any other type with the options of a relationship, like the function above.
  @_disfavoredOverload
  public mutating func add<Other>(
    _ name: String, _ type: Other.Type, inverse: String?, deleteRule: DeleteRule = .nullify,
    optional: Bool = true, minCount: Int = 0, maxCount: Int = 0, transient: Bool = false,
    originalName: String? = nil, userInfo: [String: String] = [:], versionHashModifier: String? = nil
  ) {
    stop("\(name) is not added: \(Other.self) is not an object. Write @Attribute instead of @Relationship.")
  }
}

extension DefaultValue {
  /// An initial value in the form that models contain. Stops the program if the value cannot be
  /// stored: otherwise the default is lost silently.
  init?(initial value: Value?, of name: String) {
    guard let value else { return nil }
    if let problem = value.transformationProblem {
      stop("The initial value of \(name) cannot be kept: \(problem)")
    }
    self.init(value)
  }
}
