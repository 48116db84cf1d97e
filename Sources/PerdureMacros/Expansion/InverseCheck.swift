/// Generates the peer of a variable with `@Relationship` and an inverse: a function that is never
/// called. It compiles only if the class at the other end has the inverse property. The compiler
/// shows the error at the marker.
enum InverseCheck {
  static func peer(_ request: Request.AttachedExpansion) -> String {
    guard request.attributeSyntax?.name == "Relationship",
      request.surroundingType?.memberProblem == nil,
      let variable = DeclarationScanner.variable(request.declaration.source),
      case .managed(let property) = ManagedProperty.judge(variable),
      let destination = destination(of: property.type),
      let inverse = property.options.map(MarkerArguments.init)?.text(label: "inverse")
    else { return "" }
    return "private static func _inverseOf_\(property.name)() { _ = \(destination)._Slot.\(inverse) }"
  }

  /// The class at the other end, if the type is written as `T`, `T?`, `ToMany<T>` or
  /// `OrderedToMany<T>`; otherwise nil.
  private static func destination(of type: String) -> String? {
    let object = type.hasSuffix("?") ? String(type.dropLast()) : type
    let destination = ManagedProperty.toManyElement(of: type) ?? object
    let isName = destination.unicodeScalars.allSatisfy {
      $0 == "." || $0 == "_" || $0.properties.isXIDContinue
    }
    return isName && !destination.isEmpty ? destination : nil
  }
}
