import PerdurePredicates

/// Makes the plan of a model and collects all problems.
struct CodePlanner {
  let model: ManagedObjectModel
  let hints: ModelCodeHints
  let options: ModelCodeOptions
  private(set) var problems: [ModelCodeProblem] = []
  /// The class name of each entity that has a class, by entity name.
  private var classNames: [String: String] = [:]
  private var entityCode: [String: EntityCode] = [:]
  private var properties: [String: [PlannedProperty]] = [:]
  private var composites: [String: PlannedComposite] = [:]
  /// The modules of classes that another module declares, by class name.
  private var importedModules: [String: String] = [:]
  private var hasProgramTypes = false
  /// The entities from which others inherit.
  private let superentities: Set<String>

  init(_ model: ManagedObjectModel, _ hints: ModelCodeHints, _ options: ModelCodeOptions) {
    self.model = model
    self.hints = hints
    self.options = options
    superentities = Set(model.entities.compactMap(\.superentityName))
  }

  /// The names of base classes. An entity with one of them has no class name of its own in the
  /// model.
  private static let baseClasses: Set<String> = ["ManagedObject", "NSManagedObject"]

  /// Makes the plan. The plan is complete only if `problems` is empty.
  mutating func plan(named modelName: String) -> CodePlan {
    let sorted = model.entities.sorted { $0.name < $1.name }
    for entity in sorted { chooseClass(of: entity) }
    checkOptions()
    for entity in sorted { planProperties(of: entity) }
    let namespace = SwiftName.identifier(of: modelName)
    if namespace == nil {
      report(
        .syntax, at: (nil, nil), "The name \"\(modelName)\" of the model has no letter, digit or underscore.",
        remedy: "Rename the model, or pass another name for it.")
    }
    return CodePlan(
      modelName: modelName, namespace: "\(namespace ?? "")Model", model: model, options: options,
      entities: sorted.map { plan($0) }, composites: composites.values.sorted { $0.name < $1.name },
      importedModules: importedModules, hasProgramTypes: hasProgramTypes,
      classSpellings: classNames.mapValues(SwiftName.spelling))
  }

  mutating func report(
    _ kind: ModelCodeProblem.Kind, at place: (entity: String?, property: String?), _ message: String,
    remedy: String
  ) {
    problems.append(
      ModelCodeProblem(
        kind: kind, entity: place.entity, property: place.property, message: message, remedy: remedy))
  }

  private mutating func checkOptions() {
    for module in options.imports + [options.module].compactMap({ $0 }) where !SwiftName.isIdentifier(module)
    {
      report(
        .syntax, at: (nil, nil), "\"\(module)\" is not the name of a module.", remedy: "Correct the name.")
    }
  }

  // MARK: Classes

  private mutating func chooseClass(of entity: EntityDescription) {
    var code = options.entityCode ?? hints.entityCode[entity.name] ?? .classDefinition
    let parts = entity.managedObjectClassName.split(separator: ".", omittingEmptySubsequences: false)
      .map(String.init)
    let name = parts.last ?? ""
    if Self.baseClasses.contains(entity.managedObjectClassName) {
      if code == .classDefinition { classNames[entity.name] = entity.name }
      entityCode[entity.name] = code
      return
    }
    if parts.count == 2, let own = options.module, !parts[0].isEmpty, parts[0] != own {
      code = .manual
      importedModules[name] = parts[0]
    }
    let isModule = parts.count == 1 || parts[0].isEmpty || SwiftName.isIdentifier(parts[0])
    if parts.count > 2 || !isModule || !SwiftName.isIdentifier(name) || SwiftName.impossible.contains(name) {
      report(
        .syntax, at: (entity.name, nil), "\"\(entity.managedObjectClassName)\" is not the name of a class.",
        remedy: "Write Class, .Class or Module.Class.")
    }
    classNames[entity.name] = name
    entityCode[entity.name] = code
  }

  private func className(of entity: String) -> String {
    classNames[entity].map(SwiftName.spelling) ?? "ManagedObject"
  }

  /// The class of the nearest superentity that has one.
  private func superclass(of entity: EntityDescription) -> String {
    let above = entity.lineage.dropFirst().first { classNames[$0.name] != nil }
    return above.map { className(of: $0.name) } ?? "ManagedObject"
  }

  private func plan(_ entity: EntityDescription) -> PlannedEntity {
    // The entity itself is the first of its lineage.
    let ancestors = entity.lineage.dropFirst().reversed().filter {
      entityCode[$0.name] != .manual && classNames[$0.name] != nil
    }
    let fetched = entity.fetchedProperties.map { ($0.name, className(of: $0.fetchRequest.entityName)) }
    return PlannedEntity(
      description: entity, code: entityCode[entity.name] ?? .classDefinition,
      className: classNames[entity.name], superclass: superclass(of: entity),
      hasSubentities: superentities.contains(entity.name), properties: properties[entity.name] ?? [],
      fetchedClasses: Dictionary(fetched) { first, _ in first },
      inheritedProperties: ancestors.flatMap { properties[$0.name] ?? [] })
  }

  // MARK: Properties

  private mutating func planProperties(of entity: EntityDescription) {
    var slot = entity.lineage.dropFirst().reduce(0) { $0 + $1.slotted.count }
    var planned: [PlannedProperty] = []
    for property in entity.properties {
      planned.append(plan(property, of: entity.name, slot: slot))
      slot += property.leaves.count
    }
    properties[entity.name] = planned
  }

  private mutating func plan(
    _ property: PropertyDescription, of entity: String, slot: Int
  ) -> PlannedProperty {
    switch property {
    case .attribute(let attribute):
      let (type, form) = typeAndForm(of: attribute, in: entity)
      return PlannedProperty(
        description: property, type: type, form: form, slot: slot, destination: nil)
    case .composite(let composite):
      let typeName = planComposite(composite, path: "\(entity).\(composite.name)", entity)
      return PlannedProperty(
        description: property, type: composite.isOptional ? "\(typeName)?" : typeName, form: .composite,
        slot: slot, destination: nil)
    case .relationship(let relationship):
      let destination = className(of: relationship.destinationEntityName)
      let collection = relationship.isOrdered ? "OrderedToMany" : "ToMany"
      return PlannedProperty(
        description: property,
        // The type is optional even if the relationship is required. A new object has no partner
        // yet, and reading a property that is not optional then stops the program.
        type: relationship.isToMany ? "\(collection)<\(destination)>" : "\(destination)?", form: .plain,
        slot: slot, destination: destination)
    }
  }

  /// The type of an attribute's values, and how they are read.
  ///
  /// If the model does not know the type of a transient or transformed attribute, the type is
  /// optional even if the attribute is required. The reason: no value is known for a new object.
  private mutating func typeAndForm(
    of attribute: AttributeDescription, in entity: String
  ) -> (type: String, form: PlannedProperty.Form) {
    if let name = attribute.type.swiftName {
      if isScalar(attribute, in: entity) {
        return (attribute.type == .date ? "TimeInterval" : name, .plain)
      }
      return (Self.optional(name, if: mayBeNil(attribute)), .plain)
    }
    let programType = programType(of: attribute, in: entity)
    if attribute.isTransient, attribute.type == .undefined {
      return ("\(programType ?? "Any")?", .transient)
    }
    if attribute.valueTransformerName != nil { return ("\(programType ?? "Any")?", .transformed) }
    return (Self.optional(programType ?? "Data", if: mayBeNil(attribute)), .plain)
  }

  /// Whether the property has an optional type. Xcode makes all types optional except scalar ones,
  /// because new objects have no values.
  private func mayBeNil(_ attribute: AttributeDescription) -> Bool {
    attribute.isOptional || options.scalars == .file
  }

  /// Whether the property has a scalar type. Such a property is not optional, although its value
  /// may be absent.
  private func isScalar(_ attribute: AttributeDescription, in entity: String) -> Bool {
    guard options.scalars == .file, hints.scalarAttributes.contains("\(entity).\(attribute.name)") else {
      return false
    }
    switch attribute.type {
    case .int16, .int32, .int64, .double, .float, .boolean, .date: return true
    default: return false
    }
  }

  private static func optional(_ type: String, if isOptional: Bool) -> String {
    isOptional ? "\(type)?" : type
  }

  /// The type that the program declares for an attribute, without a question mark; nil if it
  /// declares none. Reports a text that is not a type, and returns nil for it.
  private mutating func programType(of attribute: AttributeDescription, in entity: String) -> String? {
    guard var type = hints.attributeTypes["\(entity).\(attribute.name)"], !type.isEmpty else { return nil }
    if type.hasSuffix("?") { type.removeLast() }
    guard SwiftName.isType(type) else {
      report(
        .syntax, at: (entity, attribute.name), "\(SwiftLiteral.string(type)) is not the name of a type.",
        remedy: "Write a type such as [String: Int] or Module.Type.")
      return nil
    }
    if !SwiftName.isOfStandardLibrary(type) { hasProgramTypes = true }
    return type
  }

  // MARK: Composites

  /// Plans the struct of a composite attribute, and returns its name.
  private mutating func planComposite(
    _ composite: CompositeAttributeDescription, path: String, _ entity: String
  ) -> String {
    let parts = path.split(separator: ".").map { SwiftName.capitalized(String($0)) }
    let name = hints.compositeNames[path] ?? parts.joined()
    if !SwiftName.isIdentifier(name) || SwiftName.impossible.contains(name) {
      report(
        .syntax, at: (entity, composite.name), "\(SwiftLiteral.string(name)) is not the name of a type.",
        remedy: "Rename the composite.")
    }
    let elements = composite.elements.map { element in
      PlannedComposite.Element(
        description: element, type: elementType(element, path: path, entity))
    }
    let planned = PlannedComposite(name: name, elements: elements)
    if let other = composites[name], other != planned {
      report(
        .nameClash, at: (entity, composite.name),
        "Two composites with the name \(name) have different elements.",
        remedy: "Rename one of them.")
    }
    composites[name] = planned
    return SwiftName.spelling(name)
  }

  private mutating func elementType(
    _ element: PropertyDescription, path: String, _ entity: String
  ) -> String {
    switch element {
    case .attribute(let attribute):
      return Self.optional(attribute.type.swiftName ?? "Data", if: attribute.isOptional)
    case .composite(let inner):
      let type = planComposite(inner, path: "\(path).\(inner.name)", entity)
      return Self.optional(type, if: inner.isOptional)
    case .relationship:
      preconditionFailure("A composite of a checked model has no relationships.")
    }
  }
}
