/// Generates the code of the macros, by macro and role. It has no side effects.
enum Expansion {
  static func expand(_ request: Request.AttachedExpansion) -> Reply {
    switch (request.typeName, request.role) {
    case ("EntityMacro", "member"): EntityExpansion.members(request)
    case ("EntityMacro", "memberAttribute"): .expansion(memberAttribute(request), [])
    case ("AccessorsMacro", "member"): AccessorsExpansion.members(request)
    case ("AccessorsMacro", "memberAttribute"): .expansion(memberAttribute(request), [])
    case ("EntityPropertiesMacro", "member"): PropertiesExtension.members(request)
    case ("EntityPropertiesMacro", "memberAttribute"): .expansion(memberAttribute(request), [])
    case ("EntityBaseMacro", "member"): EntityBaseExpansion.members(request)
    case ("EntityBaseMacro", "memberAttribute"): .expansion(memberAttribute(request), [])
    case ("ManagedMacro", "accessor"):
      placed(request, ManagedExpansion.accessors(request.declaration, in: request.surroundingType))
    case ("FetchedMacro", "accessor"): placed(request, FetchedProperty.accessors(request.declaration))
    case ("FetchTemplateMacro", "body"): TemplateExpansion.body(request)
    case ("CompositeMacro", "extension"): CompositeExpansion.conformance(request)
    case ("MarkerMacro", "peer"): placed(request, InverseCheck.peer(request))
    default: .expansion(nil, [unknown(request)])
    }
  }

  /// Adds `@Managed` to the stored variables that the context manages, and nothing to other
  /// members.
  private static func memberAttribute(_ request: Request.AttachedExpansion) -> String? {
    guard let variable = DeclarationScanner.variable(request.declaration.source),
      variable.attribute("Managed") == nil,
      case .managed(let property) = ManagedProperty.judge(variable), !property.isCustom,
      request.surroundingType?.memberProblem == nil
    else { return nil }
    return "@Managed"
  }

  private static func placed(_ request: Request.AttachedExpansion, _ source: String?) -> Reply {
    if let problem = request.placeProblem { return request.refusal(problem) }
    return .expansion(source, [])
  }

  private static func unknown(_ request: Request.AttachedExpansion) -> Diagnostic {
    request.attribute.error(
      "Perdure has no macro \(request.typeName) in the role \(request.role). "
        + "Use the plugin that belongs to this version of Perdure.")
  }
}
