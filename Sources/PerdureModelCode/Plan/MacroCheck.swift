import PerdurePredicates

/// Finds the parts of a model that classes with macros cannot express.
struct MacroCheck {
  private var problems: [ModelCodeProblem] = []

  static func problems(of plan: CodePlan) -> [ModelCodeProblem] {
    var check = MacroCheck()
    for entity in plan.entities where entity.code != .manual {
      check.checkEntity(entity)
      for property in entity.properties { check.check(property, of: entity.name) }
    }
    return check.problems
  }

  private mutating func report(_ entity: String, _ property: String?, _ message: String) {
    problems.append(
      ModelCodeProblem(
        kind: .notExpressible, entity: entity, property: property, message: message,
        remedy: "Generate code in the style of accessors."))
  }

  private mutating func checkEntity(_ entity: PlannedEntity) {
    if entity.code == .categoryExtension {
      report(entity.name, nil, "Macros need the class, and cannot be in an extension.")
    }
    if entity.description.superentityName != nil, entity.superclass == "ManagedObject" {
      report(entity.name, nil, "The superentity has no class.")
    }
    for property in entity.description.fetchedProperties {
      var plain = FetchRequestDescription(property.fetchRequest.entityName)
      plain.predicateFormat = property.fetchRequest.predicateFormat
      plain.sortDescriptors = property.fetchRequest.sortDescriptors
      plain.fetchLimit = property.fetchRequest.fetchLimit
      if plain != property.fetchRequest {
        report(
          entity.name, property.name,
          "The request of the fetched property has more than a predicate, sort descriptors and a limit.")
      }
    }
  }

  private mutating func check(_ property: PlannedProperty, of entity: String) {
    if ReservedWords.strict.contains(property.name.uppercased()) {
      report(entity, property.name, "The macro warns about a name that is a word of the predicate language.")
    }
    switch property.description {
    case .attribute(let attribute):
      if let message = Self.flaw(of: attribute, property) { report(entity, property.name, message) }
    case .composite(let composite):
      if let message = Self.flaw(of: composite) { report(entity, property.name, message) }
    case .relationship: break
    }
  }

  private static func flaw(of attribute: AttributeDescription, _ property: PlannedProperty) -> String? {
    switch property.form {
    case .transient, .transformed:
      if property.form == .transient, property.type == "Any?" {
        return "The type of the values is not known."
      }
      if !attribute.isOptional { return "The attribute is required, but its type has no initial value." }
      return attribute.defaultValue == nil ? nil : "The attribute has a default."
    case .plain where attribute.type == .transformable:
      return "No transformer reads the bytes of the transformable attribute."
    case .plain where attribute.isOptional && !property.type.hasSuffix("?"):
      return "The attribute is optional, but its type is not."
    case .plain where !attribute.isOptional && property.type.hasSuffix("?"):
      return "The attribute is required, but its type is optional."
    default: return nil
    }
  }

  private static func flaw(of composite: CompositeAttributeDescription) -> String? {
    if PropertyDescription.composite(composite).leaves.contains(where: \.isTransformable) {
      return "Elements of the composite are transformable."
    }
    if !composite.isOptional, !composite.alwaysHasValue {
      return "The composite is required, but all its elements are optional."
    }
    for case .composite(let inner) in composite.elements {
      if !inner.userInfo.isEmpty || inner.versionHashModifier != nil {
        return "The element \(inner.name) is a composite with a userInfo or a version hash modifier."
      }
      if let flaw = flaw(of: inner) { return "In the element \(inner.name): \(flaw)" }
    }
    return nil
  }
}

extension PropertyDescription {
  fileprivate var isTransformable: Bool {
    if case .attribute(let attribute) = self { attribute.type == .transformable } else { false }
  }
}
