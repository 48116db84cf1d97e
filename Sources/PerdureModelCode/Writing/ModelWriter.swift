import PerdurePredicates

/// Writes the declarations of a model as a whole: the list of its classes, the model itself, and
/// functions that make requests from its templates.
struct ModelWriter {
  let plan: CodePlan

  private var access: String { plan.options.access.modifier }
  private var model: ManagedObjectModel { plan.model }
  private var templates: [FetchRequestTemplate] {
    model.fetchRequestTemplates.sorted { $0.name < $1.name }
  }

  func write(to lines: inout CodeLines) {
    lines.add()
    lines.add("/// The model \(SwiftLiteral.string(plan.modelName)).")
    lines.block("\(access)enum \(plan.namespace)") { lines in
      lines.add("/// The classes of the entities, for a container.")
      lines.block("\(access)static var classes: [ManagedObject.Type]") {
        $0.add(SwiftLiteral.array(plan.entities.compactMap(\.classSpelling).map { "\($0).self" }))
      }
      lines.add()
      writeModel(to: &lines)
      if !templates.isEmpty {
        lines.add()
        writeTemplates(to: &lines)
        lines.add()
        writeRequests(to: &lines)
      }
    }
  }

  // MARK: The model

  private func writeModel(to lines: inout CodeLines) {
    let configurations = model.configurations.map { name in
      let names = (model.entities(forConfigurationName: name) ?? []).map(\.name).sorted()
      return "\(SwiftLiteral.string(name)): \(SwiftLiteral.array(names.map { SwiftLiteral.string($0) }))"
    }
    let identifiers = model.versionIdentifiers.sorted().map { SwiftLiteral.string($0) }
    let arguments = [
      SwiftLiteral.array(plan.entities.map(description)),
      configurations.isEmpty ? nil : "configurations: \(SwiftLiteral.array(configurations))",
      identifiers.isEmpty ? nil : "versionIdentifiers: \(SwiftLiteral.array(identifiers))",
      templates.isEmpty ? nil : "templates: templates",
    ].compactMap { $0 }
    lines.add("/// Makes the model. It checks the descriptions of entities that the program declares.")
    lines.block("\(access)static func managedObjectModel() throws(ModelError) -> ManagedObjectModel") {
      lines in
      lines.add("try ManagedObjectModel(")
      for (position, argument) in arguments.enumerated() {
        lines.add("  \(argument)\(position == arguments.count - 1 ? ")" : ",")")
      }
    }
  }

  private func description(of entity: PlannedEntity) -> String {
    plan.options.style == .accessors
      ? "\(entity.namespace).description" : "\(entity.classSpelling ?? "").entityDescription"
  }

  // MARK: Templates

  private func writeTemplates(to lines: inout CodeLines) {
    lines.add("/// The fetch request templates.")
    lines.block("\(access)static var templates: [FetchRequestTemplate]") { lines in
      lines.add("var templates: [FetchRequestTemplate] = []")
      for template in templates {
        lines.block("do") { lines in
          DescriptionCode.request(template.request, in: &lines)
          lines.add("templates.append(FetchRequestTemplate(\(SwiftLiteral.string(template.name)), request))")
        }
      }
      lines.add("return templates")
    }
  }

  private func writeRequests(to lines: inout CodeLines) {
    lines.add("/// Functions that make requests of the templates, with a parameter for each variable.")
    lines.block("\(access)enum Requests") { lines in
      for (position, template) in templates.enumerated() {
        if position > 0 { lines.add() }
        write(template, to: &lines)
      }
    }
  }

  private func write(_ template: FetchRequestTemplate, to lines: inout CodeLines) {
    let variables = plan.parameters(of: template)
    let parameters = variables.map { "\(SwiftName.spelling($0.name)): \($0.type)" }
    let root = plan.className(of: template.request.entityName)
    let values = variables.map { "\(SwiftLiteral.string($0.name)): \(SwiftName.spelling($0.name))" }
    let name = SwiftName.spelling(SwiftName.function(of: template.name) ?? "")
    lines.add("\(access)static func \(name)(")
    lines.add("  \((parameters + ["in _model: ManagedObjectModel"]).joined(separator: ", "))")
    lines.block(") throws(FetchTemplateError) -> FetchRequest<\(root)>") { lines in
      lines.add("try _model.fetchRequestFromTemplate(")
      let substitution = values.isEmpty ? "" : ", substitutionVariables: \(SwiftLiteral.array(values))"
      lines.add("  withName: \(SwiftLiteral.string(template.name))\(substitution), as: \(root).self)")
    }
  }
}
