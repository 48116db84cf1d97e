/// Finds generated declarations with equal names, and names that hide others.
struct NameCheck {
  private let plan: CodePlan
  private var problems: [ModelCodeProblem] = []
  /// The declarations of the module so far, with the words that name them in messages.
  private var declared: [String: String] = [:]

  static func problems(of plan: CodePlan) -> [ModelCodeProblem] {
    var check = NameCheck(plan: plan)
    check.checkModule()
    for entity in plan.entities { check.checkMembers(of: entity) }
    check.checkTemplates()
    return check.problems
  }

  private init(plan: CodePlan) { self.plan = plan }

  /// Types that generated code uses by name.
  private static let usedTypes: Set<String> = [
    "AnyKeyPath", "AttributeDescription", "Bool", "CompositeAttributeDescription", "Data", "Date", "Decimal",
    "Double", "EntityDescription", "FetchIndexDescription", "FetchOrder", "FetchRequest",
    "FetchRequestDescription", "FetchRequestTemplate", "FetchTemplateError", "FetchedPropertyDescription",
    "Float", "Int", "Int16", "Int32", "Int64", "ManagedObject", "ManagedObjectID", "ManagedObjectModel",
    "ModelError", "OrderedToMany", "Perdure", "PredicateArgument", "RelationshipDescription", "String",
    "TimeInterval", "ToMany", "URL", "UUID",
  ]

  private mutating func report(_ message: String, at part: CodePart, remedy: String) {
    problems.append(ModelCodeProblem(kind: .nameClash, part: part, message: message, remedy: remedy))
  }

  // MARK: Declarations of the module

  private mutating func checkModule() {
    declare(plan.namespace, "the model", .model)
    for entity in plan.entities {
      if let name = entity.className { declare(name, "the class of \(entity.name)", .entity(entity.name)) }
      declare(entity.namespace, "the names of \(entity.name)", .entity(entity.name))
    }
    for composite in plan.composites {
      declare(composite.name, "the composite \(composite.name)", .composite(composite.name))
    }
  }

  private mutating func declare(_ name: String, _ words: String, _ part: CodePart) {
    if Self.usedTypes.contains(name) {
      report(
        "The name \(name) of \(words) is that of a type that generated code uses.", at: part,
        remedy: "Give it another name.")
    }
    if let other = declared[name] {
      report(
        "\(words) and \(other) have the same name \(name).", at: part, remedy: "Rename one of them.")
    }
    declared[name] = words
  }

  // MARK: Members of classes

  private mutating func checkMembers(of entity: PlannedEntity) {
    if entity.code == .manual { return }
    var functions: [String: String] = [:]
    for property in entity.inheritedProperties where property.toMany != nil {
      functions[SwiftName.capitalized(property.name)] = property.name
    }
    for property in entity.properties {
      checkType(property.name, entity)
      guard property.toMany != nil else { continue }
      let suffix = SwiftName.capitalized(property.name)
      if let other = functions.updateValue(property.name, forKey: suffix) {
        report(
          "The functions addTo\(suffix) and removeFrom\(suffix) are also those of \(other).",
          at: .property(property.name, of: entity.name),
          remedy: "Rename one of the relationships.")
      }
    }
    for fetched in entity.description.fetchedProperties { checkType(fetched.name, entity) }
  }

  /// Checks that a property hides no type: in its class, the name means the property.
  private mutating func checkType(_ property: String, _ entity: PlannedEntity) {
    guard Self.usedTypes.contains(property) || declared[property] != nil else { return }
    report(
      "The property has the name of a type that generated code uses.",
      at: .property(property, of: entity.name),
      remedy: "Begin its name with a lower case letter.")
  }

  // MARK: Templates

  private mutating func checkTemplates() {
    var functions: [String: String] = [:]
    for template in plan.model.fetchRequestTemplates.sorted(by: { $0.name < $1.name }) {
      guard let function = SwiftName.function(of: template.name) else {
        report(
          "The name of the fetch request template has no letter, digit or underscore.",
          at: .template(template.name),
          remedy: "Rename it.")
        continue
      }
      if let other = functions.updateValue(template.name, forKey: function) {
        report(
          "The fetch request templates \"\(other)\" and \"\(template.name)\" give the same function \(function).",
          at: .template(template.name),
          remedy: "Rename one of them.")
      }
    }
  }
}
