/// Generates the extension that makes a struct with `@Composite` a `CompositeAttributeValue`. Each
/// stored variable is an element. The compiler selects overloads by the types of the
/// variables, as for `@Entity`.
struct CompositeExpansion {
  /// The name of the struct, including the types that contain it.
  let type: String
  /// The access modifier with a space after it, or an empty string.
  let access: String
  let elements: [CompositeElement]
  /// Whether the expansion has reported an error. If true, the required members have empty bodies
  /// or stop the program. So the compiler reports no other errors.
  let isRefused: Bool

  static func conformance(_ request: Request.AttachedExpansion) -> Reply {
    let declaration = request.declaration
    let type = DeclarationScanner.type(declaration.source)
    var diagnostics: [Diagnostic] = []
    func report(_ message: String, _ offset: Int) {
      diagnostics.append(declaration.error(message, at: offset))
    }
    guard type.keyword == "struct", !type.isGeneric else {
      report(
        "@Composite needs a struct without type parameters, because a composite has fixed elements.",
        type.keywordOffset)
      return .expansion(nil, diagnostics)
    }
    var elements: [CompositeElement] = []
    for variable in type.variables {
      switch CompositeElement.judge(variable) {
      case .element(let element): elements.append(element)
      case .left: break
      case .refused(let message, let offset): report(message, offset)
      }
    }
    if elements.isEmpty, diagnostics.isEmpty {
      report("\"\(type.name)\" has no stored variable, but a composite needs elements.", type.keywordOffset)
    }
    let access = ["public", "package"].first(where: type.modifiers.contains).map { "\($0) " } ?? ""
    let expansion = CompositeExpansion(
      type: request.extendedType ?? type.name, access: access, elements: elements,
      isRefused: !diagnostics.isEmpty)
    return .expansion(expansion.source, diagnostics)
  }

  var source: String {
    """
    extension \(type): Perdure.CompositeAttributeValue {
      \(access)static var compositeElements: [Perdure.PropertyDescription] {
        \(isRefused ? "[]" : described)
      }
      \(access)static var compositeNames: [AnyKeyPath: String] {
        [\(isRefused ? ":" : names)]
      }
      \(access)init(compositeContent content: Perdure.CompositeContent) {
        \(isRefused ? "fatalError()" : reads)
      }
      \(access)var compositeContent: Perdure.CompositeContent {
        \(isRefused ? "fatalError()" : writes)
      }
    }
    """
  }

  private var described: String {
    let calls = elements.map { element in
      var arguments = ["\"\(element.name)\"", "(\(element.type)).self"]
      if let made = MadeDefault.of(element.defaultValue, type: element.type) {
        arguments.append("made: \(made)")
      } else if let value = element.defaultValue {
        arguments.append("default: \(value)")
      }
      if let options = element.options { arguments.append(options) }
      return "elements.add(\(arguments.joined(separator: ", ")))"
    }
    return lines(["var elements = Perdure._CompositeAssembly()"] + calls + ["return elements.elements"])
  }

  private var names: String {
    elements.map { "\\Self.\($0.spelling): \"\($0.name)\"" }.joined(separator: ", ")
  }

  private var reads: String {
    lines(elements.map { "self.\($0.spelling) = content._get(\"\($0.name)\", (\($0.type)).self)" })
  }

  private var writes: String {
    lines(
      ["var content = Perdure.CompositeContent()"]
        + elements.map { "content._set(\"\($0.name)\", self.\($0.spelling))" } + ["return content"])
  }

  private func lines(_ statements: [String]) -> String { statements.joined(separator: "\n    ") }
}
