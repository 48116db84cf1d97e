// The functions that generated code of `@Entity` and `@Composite` calls to describe composite
// attributes. As in PropertyDescribing.swift, overloads let the compiler choose by the type of a
// variable.

public import PerdureModel
internal import PerdurePredicates

extension _EntityAssembly {
  /// Adds a composite attribute whose variable is not optional. If every element may be absent, the
  /// composite is optional, so a save does not require a value.
  public mutating func addComposite<C: CompositeAttributeValue>(
    _ name: String, _ type: C.Type, default value: C? = nil, _ options: AttributeOption...,
    originalName: String? = nil
  ) {
    add(.always(name, C.elements(default: value)), options, originalName)
  }

  /// Adds a composite attribute whose variable is optional. Without a default and without the
  /// option `.elementDefaults`, it is nil at first.
  public mutating func addComposite<C: CompositeAttributeValue>(
    _ name: String, _ type: C?.Type, default value: C? = nil, _ options: AttributeOption...,
    originalName: String? = nil
  ) {
    let elements = options.contains(.elementDefaults) ? C.compositeElements : C.elements(of: value)
    add(CompositeAttributeDescription(name, elements), options, originalName)
  }

  /// Accepts any other type, because the compiler already reports the getter.
  @_disfavoredOverload
  public mutating func addComposite<Other>(
    _ name: String, _ type: Other.Type, default value: Other? = nil, _ options: AttributeOption...,
    originalName: String? = nil
  ) {
    stop("\(name) is not added: \(Other.self) is not a composite. Mark the struct with @Composite.")
  }

  /// The number of slots of a composite attribute. For generated code.
  public static func _width<C: CompositeAttributeValue>(_ type: C.Type) -> Int {
    C.compositeElements.reduce(0) { $0 + $1.leaves.count }
  }

  /// The number of slots of a composite attribute. For generated code.
  public static func _width<C: CompositeAttributeValue>(_ type: C?.Type) -> Int { _width(C.self) }

  /// Accepts any other type, because the compiler already reports the getter.
  @_disfavoredOverload
  public static func _width<Other>(_ type: Other.Type) -> Int { stop("\(Other.self) is not a composite.") }
}

extension ManagedObject {
  /// Explains what types a composite attribute can have.
  @_disfavoredOverload
  @available(
    *, unavailable, message: "A composite attribute is a struct that is marked @Composite, optional or not."
  )
  public final func _composite<Other>(_ slot: Int, _ type: Other.Type) -> Other {
    stop("\(Other.self) is not a composite.")
  }

  /// Accepts any other type, because the compiler already reports the getter.
  @_disfavoredOverload
  public final func _setComposite<Other>(_ slot: Int, _ value: Other) {
    stop("\(Other.self) is not a composite.")
  }
}

extension CompositeAttributeValue {
  /// The elements of the type. The values in a composite become their initial values. If the
  /// composite is nil, the elements have the initial values that the type declares.
  fileprivate static func elements(default value: Self?) -> [PropertyDescription] {
    value == nil ? compositeElements : elements(of: value)
  }

  /// The elements of the type. The values in a composite become their initial values. If the
  /// composite is nil, the elements have no initial values.
  fileprivate static func elements(of value: Self?) -> [PropertyDescription] {
    let values = value?.compositeContent.values ?? [:]
    return compositeElements.map { $0.beginning(with: values, behind: "") }
  }
}

extension PropertyDescription {
  fileprivate func beginning(with values: [String: Value], behind prefix: String) -> PropertyDescription {
    switch self {
    case .attribute(var attribute):
      attribute.defaultValue = DefaultValue(initial: values[prefix + name], of: prefix + name)
      return .attribute(attribute)
    case .composite(var composite):
      composite.elements = composite.elements.map { $0.beginning(with: values, behind: "\(prefix)\(name).") }
      return .composite(composite)
    case .relationship: return self
    }
  }
}

extension CompositeAttributeDescription {
  /// A composite whose variable is not optional.
  fileprivate static func always(_ name: String, _ elements: [PropertyDescription]) -> Self {
    var composite = Self(name, elements, isOptional: false)
    composite.isOptional = !composite.alwaysHasValue
    return composite
  }
}

/// The option that a composite inside a composite can have. For generated code.
public enum _CompositeBeginning: Sendable {
  /// As `AttributeOption.elementDefaults`.
  case elementDefaults
}

/// Collects the elements of a composite type. For generated code.
public struct _CompositeAssembly {
  /// The elements so far.
  public private(set) var elements: [PropertyDescription] = []

  /// Makes a collection without elements.
  public init() {}

  /// Adds an attribute whose variable is not optional.
  public mutating func add<Attribute: AttributeValue>(
    _ name: String, _ type: Attribute.Type, default value: Attribute? = nil, _ options: AttributeOption...,
    originalName: String? = nil
  ) {
    RequiredAttribute.check(name, type, default: value)
    add(
      AttributeDescription(
        name, Attribute.attributeType, isOptional: false,
        defaultValue: DefaultValue(initial: value?.predicateValue, of: name), renamingIdentifier: originalName
      ),
      options)
  }

  /// Adds an attribute whose variable is optional.
  public mutating func add<Attribute: AttributeValue>(
    _ name: String, _ type: Attribute?.Type, default value: Attribute? = nil, _ options: AttributeOption...,
    originalName: String? = nil
  ) {
    add(
      AttributeDescription(
        name, Attribute.attributeType, defaultValue: DefaultValue(initial: value?.predicateValue, of: name),
        renamingIdentifier: originalName), options)
  }

  /// Adds an attribute whose variable is not optional, with a default made for each object.
  public mutating func add<Attribute: AttributeValue>(
    _ name: String, _ type: Attribute.Type, made value: DefaultValue, _ options: AttributeOption...,
    originalName: String? = nil
  ) {
    add(
      AttributeDescription(
        name, Attribute.attributeType, isOptional: false, defaultValue: value,
        renamingIdentifier: originalName), options)
  }

  /// Adds an attribute whose variable is optional, with a default made for each object.
  public mutating func add<Attribute: AttributeValue>(
    _ name: String, _ type: Attribute?.Type, made value: DefaultValue, _ options: AttributeOption...,
    originalName: String? = nil
  ) {
    add(
      AttributeDescription(
        name, Attribute.attributeType, defaultValue: value, renamingIdentifier: originalName), options)
  }

  mutating func add(_ attribute: AttributeDescription, _ options: [AttributeOption]) {
    if options.contains(.elementDefaults) {
      stop("\(attribute.name) is not a composite, and has no elements. Remove .elementDefaults.")
    }
    var attribute = attribute
    attribute.take(options)
    elements.append(.attribute(attribute))
  }

  /// Adds a composite whose variable is not optional.
  public mutating func add<C: CompositeAttributeValue>(
    _ name: String, _ type: C.Type, default value: C? = nil, originalName: String? = nil
  ) {
    add(.always(name, C.elements(default: value)), originalName)
  }

  /// Adds a composite whose variable is optional. Without a default it is nil at first.
  public mutating func add<C: CompositeAttributeValue>(
    _ name: String, _ type: C?.Type, default value: C? = nil, originalName: String? = nil
  ) {
    add(CompositeAttributeDescription(name, C.elements(of: value)), originalName)
  }

  /// Adds a composite whose variable is optional, and that begins with the initial values of its
  /// elements.
  public mutating func add<C: CompositeAttributeValue>(
    _ name: String, _ type: C?.Type, _ beginning: _CompositeBeginning, originalName: String? = nil
  ) {
    add(CompositeAttributeDescription(name, C.compositeElements), originalName)
  }

  /// Explains where the rules of a composite belong.
  @available(
    *, unavailable,
    message: """
      A composite has no rules or options of its own: mark the variables of its struct, or remove these.
      """
  )
  public mutating func add<C: CompositeAttributeValue>(
    _ name: String, _ type: C.Type, default value: C? = nil, _ option: AttributeOption,
    _ more: AttributeOption..., originalName: String? = nil
  ) {}

  /// Explains where the rules of a composite belong.
  @available(
    *, unavailable,
    message: """
      A composite has no rules or options of its own: mark the variables of its struct, or remove these.
      """
  )
  public mutating func add<C: CompositeAttributeValue>(
    _ name: String, _ type: C?.Type, default value: C? = nil, _ option: AttributeOption,
    _ more: AttributeOption..., originalName: String? = nil
  ) {}

  private mutating func add(_ composite: CompositeAttributeDescription, _ originalName: String?) {
    var composite = composite
    composite.renamingIdentifier = originalName
    elements.append(.composite(composite))
  }

  /// Explains what types an element can have.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message: """
      An element of a composite is a type of AttributeValue, an array or dictionary of Codable values, or a struct \
      that is marked @Composite, optional or not.
      """
  )
  public mutating func add<Other>(
    _ name: String, _ type: Other.Type, default value: Other? = nil, _ options: AttributeOption...,
    originalName: String? = nil
  ) {}
}

extension CompositeContent {
  /// Reads an element whose variable is not optional. Without a value, it reads as its zero or
  /// initial value. For generated code.
  public func _get<T: AttributeValue>(_ name: String, _ type: T.Type) -> T {
    self[name] ?? absentValue(name)
  }

  /// Reads an element whose variable is optional. For generated code.
  public func _get<T: AttributeValue>(_ name: String, _ type: T?.Type) -> T? { self[name] }

  /// Reads an element that is a composite. For generated code.
  public func _get<C: CompositeAttributeValue>(_ name: String, _ type: C.Type) -> C {
    self[name] ?? C(reading: CompositeContent())
  }

  /// Reads an element that is a composite and whose variable is optional. For generated code.
  public func _get<C: CompositeAttributeValue>(_ name: String, _ type: C?.Type) -> C? { self[name] }

  /// Accepts a variable that cannot be an element, because the compiler already reports its
  /// description. For generated code.
  @_disfavoredOverload
  public func _get<Other>(_ name: String, _ type: Other.Type) -> Other { stop("\(name) is not an element.") }

  /// Sets an element. For generated code.
  public mutating func _set<T: AttributeValue>(_ name: String, _ value: T?) { self[name] = value }

  /// Sets an element that is a composite. For generated code.
  public mutating func _set<C: CompositeAttributeValue>(_ name: String, _ value: C?) { self[name] = value }

  /// Accepts a variable that cannot be an element, because the compiler already reports its
  /// description. For generated code.
  @_disfavoredOverload
  public mutating func _set<Other>(_ name: String, _ value: Other) { stop("\(name) is not an element.") }
}
