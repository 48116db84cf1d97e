// Generates code for functions with `@FetchTemplate`: a constant for each template in `_Slot`, the
// list of templates of the class, and the bodies of these functions.

extension TemplateFunctionSyntax {
  /// The first problem of the function; nil if there is none.
  var problem: ManagedProperty.Problem? {
    if isConditional {
      return ("\"\(name)\" is inside #if, so the model would depend on the build. Move it out.", offset)
    }
    if !isStatic {
      return ("\"\(name)\" makes requests without an object. Write \"static func\".", offset)
    }
    if hasBody { return ("@FetchTemplate writes the body of \"\(name)\". Remove the body.", offset) }
    return nil
  }

  /// The name of the template's constant in `_Slot`.
  var constant: String { "_templateOf_\(name)" }

  /// The declaration of the constant in `_Slot`.
  func declaration(in className: String) -> String {
    let parameters = parameters.map { "\"\($0.name)\": (\($0.type ?? "Any")).self" }.joined(separator: ", ")
    let options = marker.arguments.flatMap { $0.allSatisfy(\.isWhitespace) ? nil : ", \($0)" } ?? ""
    return "  static let \(constant) = "
      + "Perdure._ClassTemplate<\(className)>(\"\(name)\", [\(parameters.isEmpty ? ":" : parameters)]\(options))\n"
  }

  /// The body of the function, including the braces.
  var body: String {
    let values = parameters.map { "\"\($0.name)\": \($0.name)" }.joined(separator: ", ")
    return "{\n  _Slot.\(constant).request([\(values.isEmpty ? ":" : values)])\n}"
  }
}

extension EntityExpansion {
  /// The members that list the templates of the class, and the types of their parameters.
  var templateList: [String] {
    let functions = type.templateFunctions.filter { $0.problem == nil }
    if functions.isEmpty { return [] }
    let templates = functions.map { "_Slot.\($0.constant).template" }.joined(separator: ", ")
    let parameters = functions.map { "\"\($0.name)\": _Slot.\($0.constant).parameters" }
    return [
      """
      \(overrideAccess)override class var _fetchTemplates: [Perdure.FetchRequestTemplate] {
        [\(templates)]
      }
      """,
      """
      \(overrideAccess)override class var _fetchTemplateParameters: [String: [String: Any.Type]] {
        [\(parameters.joined(separator: ", "))]
      }
      """,
    ]
  }

  /// The declarations of the templates in `_Slot`.
  var templateConstants: String {
    type.templateFunctions.filter { $0.problem == nil }.map { $0.declaration(in: type.name) }.joined()
  }
}

enum TemplateExpansion {
  static func body(_ request: Request.AttachedExpansion) -> Reply {
    guard let function = DeclarationScanner.templateFunction(request.declaration.source) else {
      return request.refusal("@FetchTemplate belongs on a static function of a class with @Entity.")
    }
    if let type = request.surroundingType, type.entityAttributes.isEmpty {
      return request.refusal(
        "@FetchTemplate belongs on a static function in the body of a class with @Entity. Mark \"\(type.name)\" with "
          + "@Entity, or remove @FetchTemplate.")
    }
    // `@Entity` reports the problem of the function.
    return .expansion(function.problem == nil ? function.body : "{ fatalError() }", [])
  }
}
