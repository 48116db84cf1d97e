/// What the macros write, by macro and role. A pure function of the request.
enum Expansion {
  static func expand(_ request: Request.AttachedExpansion) -> Reply {
    switch (request.typeName, request.role) {
    case ("EntityMacro", "member"): EntityExpansion.members(request)
    case ("EntityMacro", "memberAttribute"): .expansion(memberAttribute(request.declaration), [])
    case ("ManagedMacro", "accessor"): .expansion(ManagedExpansion.accessors(request.declaration), [])
    case ("MarkerMacro", "peer"): .expansion("", [])
    default: .expansion(nil, [unknown(request)])
    }
  }

  /// `@Managed` for the variables that the context manages, and nothing for all other members.
  private static func memberAttribute(_ declaration: SyntaxText) -> String? {
    guard let variable = DeclarationScanner.variable(declaration.source) else { return nil }
    guard case .managed = ManagedProperty.judge(variable) else { return nil }
    return "@Managed"
  }

  private static func unknown(_ request: Request.AttachedExpansion) -> Diagnostic {
    Diagnostic(
      message: "Perdure has no macro \(request.typeName) in the role \(request.role). "
        + "Use the plugin that belongs to this version of Perdure.",
      fileName: request.attribute.fileName, offset: request.attribute.offset)
  }
}
