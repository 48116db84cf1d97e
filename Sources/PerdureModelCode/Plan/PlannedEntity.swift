/// An entity with everything that its code needs.
struct PlannedEntity {
  let description: EntityDescription
  let code: EntityCode
  /// The class; nil if the program has none for the entity.
  let className: String?
  /// The class of the nearest superentity that has one, or the base class.
  let superclass: String
  /// Whether another entity inherits from this one.
  let hasSubentities: Bool
  /// The declared properties.
  let properties: [PlannedProperty]
  /// The classes of the objects of declared fetched properties, by name.
  let fetchedClasses: [String: String]
  /// The inherited properties that the generated code of superclasses declares, outermost first.
  let inheritedProperties: [PlannedProperty]

  var name: String { description.name }
  /// The class as it is written in code.
  var classSpelling: String? { className.map(SwiftName.spelling) }
  /// The name of the declaration with the names and the description.
  var namespace: String { "\(name)Entity" }
}

/// The struct of composite attributes.
struct PlannedComposite: Hashable {
  /// A variable of the struct.
  struct Element: Hashable {
    let description: PropertyDescription
    let type: String
    var spelling: String { SwiftName.spelling(description.name) }
  }

  let name: String
  let elements: [Element]
}

/// A model with everything that its code needs. Entities and composites are sorted by name. The
/// properties of an entity are in the order of their slots.
struct CodePlan {
  let modelName: String
  /// The name of the declaration of the model: the model's name as an identifier, and `Model`.
  let namespace: String
  let model: ManagedObjectModel
  let options: ModelCodeOptions
  /// The entities, in the order of names.
  let entities: [PlannedEntity]
  /// The composites, in the order of names.
  let composites: [PlannedComposite]
  /// The modules of classes that another module declares, by class name.
  let importedModules: [String: String]
  /// Whether attributes have types that the program may declare.
  let hasProgramTypes: Bool
  /// The class of each entity that has one, as it is written in code, by entity name.
  let classSpellings: [String: String]
}

extension CodePlan {
  func className(of entity: String) -> String {
    classSpellings[entity] ?? "ManagedObject"
  }

  /// The variables of a template with the types of their parameters, in the order of names. A
  /// parameter is optional if the request compares the variable with a value that can be absent.
  func parameters(of template: FetchRequestTemplate) -> [(name: String, type: String)] {
    guard let request = model.templateRequests[template.name] else { return [] }
    return request.variables.sorted { $0.key < $1.key }.map { name, variable in
      let type = type(of: variable)
      guard request.nilVariables.contains(name) else { return (name, type) }
      return (name, type.hasPrefix("any ") ? "(\(type))?" : "\(type)?")
    }
  }

  /// The type of the values of a variable.
  private func type(of variable: FetchVariableType) -> String {
    switch variable {
    case .attribute(let type): type.swiftName ?? "any PredicateArgument"
    case .object(let entity): className(of: entity)
    case .list(let element): "[\(type(of: element))]"
    case .any: "any PredicateArgument"
    }
  }
}
