/// A stored variable of a struct with `@Composite`.
struct CompositeElement: Hashable, Sendable {
  let name: String
  /// The name as Swift source, with backticks where it needs them.
  let spelling: String
  let type: String
  /// The initial value; nil if there is none, or if it is written as `nil`.
  let defaultValue: String?
  /// The source text in the parentheses of `@Attribute`.
  let options: String?

  /// The decision about a variable.
  enum Verdict: Hashable, Sendable {
    /// The variable is an element.
    case element(CompositeElement)
    /// The variable is computed or static, so it is ignored.
    case left
    /// The variable cannot be an element. The values are a message with the remedy, and an offset.
    case refused(String, Int)
  }

  static func judge(_ variable: VariableSyntax) -> Verdict {
    if let problem = ManagedProperty.conditionalMarker(of: variable)
      ?? ManagedProperty.repeatedMarker(of: variable)
    {
      return .refused(problem.message, problem.offset)
    }
    if !variable.modifiers.contains("lazy"), ManagedProperty.isLeft(variable),
      variable.attribute("Transient") == nil
    {
      return ManagedProperty.uselessMarker(of: variable).map { .refused($0.message, $0.offset) } ?? .left
    }
    if let problem = problem(of: variable) ?? nameProblem(of: variable) ?? markerProblem(of: variable) {
      return .refused(problem.message, problem.offset)
    }
    guard let binding = variable.bindings.first, let name = binding.name, let type = binding.type else {
      return .left
    }
    let options = variable.attribute("Attribute")?.arguments
    return .element(
      CompositeElement(
        name: name, spelling: binding.spelling, type: type,
        defaultValue: binding.initializer == "nil" ? nil : binding.initializer,
        options: DecimalLiteral.options(
          options.flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }, type: type)))
  }

  private static func problem(of variable: VariableSyntax) -> ManagedProperty.Problem? {
    let name = variable.bindings.first?.name ?? "This"
    if let marker = variable.attribute("Transient") {
      return (
        "\"\(name)\" is a part of the value, and all of it is stored. Remove @Transient, or make it computed.",
        marker.offset
      )
    }
    if variable.isLet || variable.modifiers.contains("lazy") {
      let what = variable.isLet ? "a constant" : "lazy"
      return ("\"\(name)\" is \(what), which no store can restore. Write a plain \"var\".", variable.offset)
    }
    guard variable.bindings.count == 1, let binding = variable.bindings.first, binding.name != nil else {
      return ("Declare each element in a separate \"var\".", variable.offset)
    }
    if variable.isConditional {
      return (
        "\"\(name)\" is inside #if, so the model would depend on the build. Move it out.", variable.offset
      )
    }
    guard let type = binding.type else {
      return (
        "\"\(name)\" needs its type written out, for example \"var \(name): String\": a macro cannot infer it.",
        binding.offset
      )
    }
    if type.hasSuffix("!") {
      return (
        "\"\(name)\" is implicitly unwrapped. Write \"\(type.dropLast())?\", or remove the mark.",
        binding.offset
      )
    }
    return nil
  }

  private static func nameProblem(of variable: VariableSyntax) -> ManagedProperty.Problem? {
    guard let binding = variable.bindings.first, let name = binding.name else { return nil }
    let isIdentifier = name.unicodeScalars.allSatisfy { $0 == "_" || $0.properties.isXIDContinue }
    if isIdentifier, !name.hasPrefix("_") { return nil }
    return (
      "\"\(name)\" is not a name of an element: begin with a letter and use only letters, digits and underscores.",
      binding.offset
    )
  }

  /// Why an element cannot have `.elementDefaults`; nil if no problem is known.
  private static func elementDefaultsProblem(
    _ name: String, _ type: String, _ initializer: String?
  ) -> String? {
    if ManagedProperty.values.contains(ManagedProperty.withoutOptional(type)) {
      return "\"\(name)\" is an attribute, and has no elements. Remove .elementDefaults."
    }
    return ManagedProperty.elementDefaultsProblem(name, type, initializer)
  }

  /// The problem with a marker that only a property of an entity can have.
  private static func markerProblem(of variable: VariableSyntax) -> ManagedProperty.Problem? {
    let name = variable.bindings.first?.name ?? "This"
    if let marker = variable.attribute("Relationship") {
      return (
        "\"\(name)\" is part of a value, but a value leads to no objects. Declare the relationship in the "
          + "entity's class.", marker.offset
      )
    }
    guard let marker = variable.attribute("Attribute"),
      let options = marker.arguments.map(MarkerArguments.init)
    else { return nil }
    if let option = ["unique", "indexed"].first(where: options.has(option:)) {
      return (
        "Only an entity that has the value can declare it as \(option): @Entity("
          + "\(option == "unique" ? "unique" : "indexes"): [[\"….\(name)\"]]). Remove .\(option).",
        marker.offset
      )
    }
    if options.has(option: "composite") {
      return (
        "The type of \"\(name)\" decides whether it is a composite. Remove .composite.",
        marker.offset
      )
    }
    if options.has(option: "elementDefaults"), let binding = variable.bindings.first,
      let type = binding.type,
      let message = elementDefaultsProblem(name, type, binding.initializer)
    {
      return (message, marker.offset)
    }
    if let option = ["optional", "required"].first(where: options.has(option:)) {
      return (
        "\"\(name)\" is optional or required by its type, like every element of a composite. Remove .\(option).",
        marker.offset
      )
    }
    if options.has(label: "derived") || ["transient", "transformed"].contains(where: options.has(option:)) {
      return (
        "\"\(name)\" is stored without conversion, like every element of a composite. Declare it in the entity's class, or "
          + "remove the option.", marker.offset
      )
    }
    return nil
  }
}
