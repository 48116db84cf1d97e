/// A fetched property, as its class declares it with `@Fetched`.
struct FetchedProperty: Hashable, Sendable {
  let name: String
  let type: String
  /// The source text in the parentheses of `@Fetched`.
  let options: String?

  typealias Problem = ManagedProperty.Problem

  /// The fetched property of a variable with `@Fetched`; nil for other variables, and for those
  /// with a problem.
  static func of(_ variable: VariableSyntax) -> FetchedProperty? {
    guard let marker = variable.attribute("Fetched"), problem(of: variable) == nil,
      let binding = variable.bindings.first, let name = binding.name, let type = binding.type
    else { return nil }
    return FetchedProperty(
      name: name, type: type, options: marker.arguments.flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 })
  }

  /// The problem of a variable with `@Fetched`; nil if there is none, and for other variables.
  static func problem(of variable: VariableSyntax) -> Problem? {
    guard let marker = variable.attribute("Fetched") else { return nil }
    if let problem = ManagedProperty.conditionalMarker(of: variable) { return problem }
    guard variable.bindings.count == 1, let binding = variable.bindings.first, let name = binding.name else {
      return ("Declare each fetched property in a separate \"var\".", variable.offset)
    }
    if variable.isConditional {
      return (
        "\"\(name)\" is inside #if, so the model would depend on the build. Move it out.", variable.offset
      )
    }
    let others = ["Attribute", "Relationship", "Transient", "Managed"]
    if let other = variable.attributes.first(where: { others.contains($0.name) }) {
      return ("\"\(name)\" is fetched and has no stored value. Remove @\(other.name).", other.offset)
    }
    if variable.isLet || !Set(variable.modifiers).isDisjoint(with: ["static", "class", "lazy", "override"])
      || binding.accessors != .none
    {
      return ("\"\(name)\" is fetched. Declare it as a \"var\" without accessors.", marker.offset)
    }
    if binding.initializer != nil {
      return ("\"\(name)\" is fetched at each read. Remove the initial value.", binding.offset)
    }
    guard let type = binding.type, isArray(type) else {
      return (
        "\"\(name)\" needs the type of its objects, for example \"var \(name): [Message]\".", binding.offset
      )
    }
    return ManagedProperty.nameProblem(of: variable)
  }

  /// Whether the type is written as an array. A dictionary has a colon.
  private static func isArray(_ type: String) -> Bool {
    type.hasPrefix("Array<") || type.hasPrefix("[") && type.hasSuffix("]") && !type.contains(":")
  }

  /// The accessor that replaces the variable's storage, including the braces.
  static func accessors(_ declaration: SyntaxText) -> String? {
    guard let variable = DeclarationScanner.variable(declaration.source),
      let property = FetchedProperty.of(variable)
    else { return nil }
    return "{\n  get { _fetched(\"\(property.name)\") }\n}"
  }

  /// The statement that adds the property to the description of its entity.
  var statement: String {
    let arguments = ["\"\(name)\"", "of: (\(type)).self"] + (options.map { [$0] } ?? [])
    return "    entity.addFetched(\(arguments.joined(separator: ", ")))"
  }
}
