// Finds markers and types that contradict each other, as far as the source text shows it. A macro
// sees only the names of types. It cannot know that `Price` is a type of values, and `Company` a
// class of objects. So the compiler decides uncertain cases.

extension ManagedProperty {
  typealias Problem = (message: String, offset: Int)

  /// The problem of a marker inside `#if`, which only some builds contain.
  static func conditionalMarker(of variable: VariableSyntax) -> Problem? {
    let markers: Set<String> = ["Attribute", "Relationship", "Transient", "Managed", "Fetched"]
    guard let marker = variable.attributes.first(where: { $0.isConditional && markers.contains($0.name) })
    else {
      return nil
    }
    let name = variable.bindings.first?.name ?? "This"
    return (
      "@\(marker.name) of \"\(name)\" is inside #if, so the model would depend on the build. Move it out.",
      marker.offset
    )
  }

  /// The problem of a marker that is written twice: one of the two has no effect.
  static func repeatedMarker(of variable: VariableSyntax) -> Problem? {
    for name in ["Attribute", "Relationship"] {
      let markers = variable.attributes.filter { $0.name == name }
      guard markers.count > 1 else { continue }
      return (
        "One @\(name) is enough. Write all options into the first, and remove the second.", markers[1].offset
      )
    }
    return nil
  }

  /// The problem of a name that no property can have.
  static func nameProblem(of variable: VariableSyntax) -> Problem? {
    guard let binding = variable.bindings.first, let name = binding.name else { return nil }
    if name.hasPrefix("_") {
      return (
        "\"\(name)\" begins with an underscore, as do the names that Perdure generates. Choose another name, or mark it "
          + "@Transient.", binding.offset
      )
    }
    if let problem = ReservedNames.problem(of: name) { return (problem, binding.offset) }
    let isIdentifier = name.unicodeScalars.allSatisfy { $0 == "_" || $0.properties.isXIDContinue }
    return isIdentifier
      ? nil
      : ("\"\(name)\" is not a name of a property: use letters, digits and underscores.", binding.offset)
  }

  /// The problem of options that contradict each other, the type or the initial value.
  static func optionProblem(of variable: VariableSyntax) -> Problem? {
    guard let binding = variable.bindings.first, let name = binding.name, let type = binding.type else {
      return nil
    }
    if let marker = variable.attribute("Attribute"), let options = marker.arguments.map(MarkerArguments.init)
    {
      let isDerived = options.has(label: "derived")
      if isDerived, isTransient(variable) {
        return ("\"\(name)\" is derived, and so is never stored. Remove .transient.", marker.offset)
      }
      if isDerived, binding.initializer != nil {
        return ("\"\(name)\" is derived, and so has no default. Remove the initial value.", binding.offset)
      }
      if let problem = presenceProblem(name, type, options) { return (problem, marker.offset) }
      if let problem = elementDefaultsProblem(name, type, binding.initializer, with: options) {
        return (problem, marker.offset)
      }
      if isTransient(variable), let option = ["unique", "indexed"].first(where: options.has(option:)) {
        return (
          "\"\(name)\" is transient, so no store can compare or find its values. Remove .\(option) or .transient.",
          marker.offset
        )
      }
    }
    guard let marker = variable.attribute("Relationship"), toManyElement(of: type) == nil else { return nil }
    let options = MarkerArguments(marker.arguments ?? "")
    if !type.hasSuffix("?"), !type.contains("<"), options.has(label: "optional") {
      return (
        "\"\(name)\" always leads to an object, as its type is not optional. Remove \"optional\", or write "
          + "\"\(type)?\".", marker.offset
      )
    }
    if type.hasSuffix("?"), options.has(label: "maxCount") {
      return (
        "\"\(name)\" leads to one object at most. Remove maxCount, or declare it as ToMany; optional: false requires "
          + "an object.", marker.offset
      )
    }
    if binding.initializer != nil, binding.initializer != "nil" {
      return ("\"\(name)\" leads to an object, and has no default. Remove the initial value.", binding.offset)
    }
    return nil
  }

  /// Why `.optional` or `.required` contradicts the type or another option; nil if nothing does.
  private static func presenceProblem(_ name: String, _ type: String, _ options: MarkerArguments) -> String? {
    let given = ["optional", "required"].filter(options.has(option:))
    guard let option = given.first else { return nil }
    if given.count > 1 { return "\"\(name)\" cannot be both optional and required. Remove one." }
    if options.has(label: "derived") {
      return "\"\(name)\" is derived, so a save does not require a value. Remove .\(option)."
    }
    if option == "optional", type.hasSuffix("?") {
      return "\"\(name)\" is optional by its type. Remove .optional, or the question mark."
    }
    if option == "required", values.contains(type) {
      return "\"\(name)\" is required by its type. Remove .required, or add a question mark."
    }
    return nil
  }

  /// Why `.elementDefaults` contradicts the type, the initial value or another option; nil if
  /// nothing does.
  private static func elementDefaultsProblem(
    _ name: String, _ type: String, _ initializer: String?, with options: MarkerArguments
  ) -> String? {
    guard options.has(option: "elementDefaults") else { return nil }
    if !options.has(option: "composite") {
      return "\"\(name)\" is not marked as a composite, and has no elements. Add .composite, or remove "
        + ".elementDefaults."
    }
    return elementDefaultsProblem(name, type, initializer)
  }

  /// Why a composite cannot have `.elementDefaults`; nil if no problem is known.
  static func elementDefaultsProblem(_ name: String, _ type: String, _ initializer: String?) -> String? {
    if initializer != nil {
      return "\"\(name)\" has an initial value, and begins with it. Remove it, or remove .elementDefaults."
    }
    if type.hasSuffix("?") || type.contains("<") { return nil }
    return "\"\(name)\" begins with the initial values of its elements, as its type is not optional. Remove "
      + ".elementDefaults."
  }

  /// Why a computed variable cannot implement the accessors of its attribute; nil if it can.
  private static func customProblem(_ name: String, _ variable: VariableSyntax) -> Problem? {
    guard isCustom(variable), isTransformed(variable) || isComposite(variable) || isDerived(variable),
      let marker = variable.attribute("Attribute")
    else { return nil }
    return (
      "\"\(name)\" has its own accessors, which a composite, transformed or derived attribute cannot have. "
        + "Give the computed variable another name, and remove @Attribute.", marker.offset
    )
  }

  /// The first option that a composite attribute cannot have; nil if there is none.
  private static func otherOption(_ options: String) -> String? {
    let options = MarkerArguments(options)
    if options.has(label: "derived") { return "\"derived\"" }
    let names = [
      "unique", "indexed", "optional", "required", "transient", "transformed", "rules", "minimum", "maximum",
      "length", "pattern",
    ]
    return names.first(where: options.has(option:)).map { ".\($0)" }
  }

  /// The problem of a marker on a variable that only Swift manages: the marker has no effect.
  static func uselessMarker(of variable: VariableSyntax) -> Problem? {
    guard let marker = variable.attribute("Attribute") ?? variable.attribute("Relationship")
    else { return nil }
    let name = variable.bindings.first?.name ?? "This"
    let reason =
      variable.attribute("Transient") != nil
      ? "is marked @Transient"
      : variable.modifiers.first { ["static", "class", "lazy", "override"].contains($0) }.map { "is \($0)" }
        ?? "is computed"
    return (
      "\"\(name)\" \(reason), so Perdure does not manage it. Remove @\(marker.name), or declare it as a stored \"var\".",
      marker.offset
    )
  }

  /// The problem of a type that a property cannot have, or of markers that contradict the type or
  /// each other.
  static func markerProblem(of variable: VariableSyntax) -> Problem? {
    guard let binding = variable.bindings.first, let name = binding.name, let type = binding.type else {
      return nil
    }
    if let actor = variable.attribute("MainActor") {
      return (
        "\"\(name)\" belongs to its object, which stays in its context's isolation. Remove @MainActor.",
        actor.offset
      )
    }
    if !isTransient(variable), !isTransformed(variable), let message = typeProblem(name, type, variable) {
      return (message, binding.offset)
    }
    if let problem = customProblem(name, variable) { return problem }
    if isTransformed(variable), isTransient(variable) || binding.initializer != nil {
      return (
        "\"\(name)\" has a value transformer, so it cannot be transient or have an initial value. Set it in "
          + "awakeFromInsert.", binding.offset
      )
    }
    if isComposite(variable), let marker = variable.attribute("Attribute"),
      let option = otherOption(marker.arguments ?? "")
    {
      return (
        "\"\(name)\" is composite: its elements have their own options. Remove \(option).", marker.offset
      )
    }
    let (attribute, relationship) = (variable.attribute("Attribute"), variable.attribute("Relationship"))
    if attribute != nil, let relationship {
      return ("\"\(name)\" is marked as attribute and as relationship. Remove one.", relationship.offset)
    }
    if let attribute, toManyElement(of: type) != nil {
      return ("\"\(name)\" leads to objects. Write @Relationship instead of @Attribute.", attribute.offset)
    }
    if let relationship, values.contains(withoutOptional(type)) {
      return (
        "\"\(name)\" is a value, not an object. Write @Attribute instead of @Relationship.",
        relationship.offset
      )
    }
    if toManyElement(of: withoutOptional(type)) != nil, type.hasSuffix("?") {
      return (
        "\"\(name)\" is never nil, with or without objects in it. Write \"\(withoutOptional(type))\".",
        binding.offset
      )
    }
    if toManyElement(of: type) != nil, binding.initializer != nil {
      return ("\"\(name)\" begins empty, and has no default. Remove the initial value.", binding.offset)
    }
    return nil
  }
}
