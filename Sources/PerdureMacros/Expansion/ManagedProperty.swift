/// A property that the context manages, as its class declares it.
struct ManagedProperty: Hashable, Sendable {
  let name: String
  /// The name as Swift source, with backticks where it needs them.
  let spelling: String
  let type: String
  /// The initial value; nil if there is none, or if it is written as `nil`.
  let defaultValue: String?
  /// The access modifier with a space after it, with `public` for `open`; empty if there is none.
  let access: String
  /// The source text in the parentheses of `@Attribute` or `@Relationship`.
  let options: String?
  /// Whether the options contain `.transient`. If true, the variable may have any type.
  var isTransient = false
  /// Whether the options contain `.transformed(by:)`.
  var isTransformed = false
  /// Whether the options contain `.composite`.
  var isComposite = false
  /// Whether the class implements the accessors of the property.
  var isCustom = false
  /// Whether the property is derived, or its setter is less visible than its getter.
  var isReadOnly = false

  /// The suffix of the name of the function that adds the property to the description.
  var suffix: String {
    if isComposite { return "Composite" }
    return isTransformed ? "Transformed" : isTransient ? "Transient" : ""
  }

  /// The default value that is computed for each new object, such as `.now`; nil if the initial
  /// value is not of this kind.
  var madeDefault: String? {
    isComposite || isTransformed ? nil : MadeDefault.of(defaultValue, type: type)
  }

  /// The decision about a variable of an entity's class.
  enum Verdict: Hashable, Sendable {
    /// The variable is a property that Perdure manages.
    case managed(ManagedProperty)
    /// Perdure does not manage the variable: it is computed without custom accessors of an
    /// attribute, static, lazy, an override, or marked `@Transient` or `@Fetched`.
    case left
    /// The variable cannot be managed. The values are a message with the remedy, and an offset.
    case refused(String, Int)
  }

  static func judge(_ variable: VariableSyntax) -> Verdict {
    if variable.attribute("Fetched") != nil {
      return FetchedProperty.problem(of: variable).map { .refused($0.message, $0.offset) } ?? .left
    }
    if let problem = conditionalMarker(of: variable) ?? repeatedMarker(of: variable) {
      return .refused(problem.message, problem.offset)
    }
    if isLeft(variable), !isCustom(variable) {
      return uselessMarker(of: variable).map { .refused($0.message, $0.offset) } ?? .left
    }
    if let problem = problem(of: variable) ?? nameProblem(of: variable) ?? markerProblem(of: variable)
      ?? optionProblem(of: variable)
    {
      return .refused(problem.message, problem.offset)
    }
    guard let binding = variable.bindings.first, let name = binding.name, let type = binding.type else {
      return .left
    }
    let marker = variable.attribute("Attribute") ?? variable.attribute("Relationship")
    return .managed(
      ManagedProperty(
        name: name, spelling: binding.spelling, type: type,
        defaultValue: binding.initializer == "nil"
          ? nil : DecimalLiteral.initialValue(binding.initializer, type: type),
        access: access(variable.modifiers),
        options: DecimalLiteral.options(
          marker?.arguments.flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }, type: type),
        isTransient: isTransient(variable), isTransformed: isTransformed(variable),
        isComposite: isComposite(variable), isCustom: isCustom(variable),
        isReadOnly: isDerived(variable) || variable.modifiers.contains { $0.hasSuffix("(set)") }))
  }

  /// Whether `@Attribute` has the option `.transient`.
  static func isTransient(_ variable: VariableSyntax) -> Bool { hasOption("transient", variable) }

  /// Whether `@Attribute` has the option `.transformed(by:)`.
  static func isTransformed(_ variable: VariableSyntax) -> Bool { hasOption("transformed", variable) }

  /// Whether `@Attribute` has the option `.composite`.
  static func isComposite(_ variable: VariableSyntax) -> Bool { hasOption("composite", variable) }

  /// Whether `@Attribute` contains a derivation.
  static func isDerived(_ variable: VariableSyntax) -> Bool {
    variable.attribute("Attribute")?.arguments.map(MarkerArguments.init)?.has(label: "derived") == true
  }

  /// Whether `@Attribute` marks a computed variable with a getter and a setter. The program then
  /// implements the accessors of the attribute.
  static func isCustom(_ variable: VariableSyntax) -> Bool {
    variable.attribute("Attribute") != nil && !isOutside(variable)
      && variable.bindings.map(\.accessors) == [.computed(isSettable: true)]
  }

  private static func hasOption(_ name: String, _ variable: VariableSyntax) -> Bool {
    variable.attribute("Attribute")?.arguments.map(MarkerArguments.init)?.has(option: name) == true
  }

  private static func access(_ modifiers: [String]) -> String {
    let levels = ["open", "public", "package", "fileprivate", "private"]
    guard let level = modifiers.first(where: levels.contains) else { return "" }
    return level == "open" ? "public " : level + " "
  }

  static func isLeft(_ variable: VariableSyntax) -> Bool {
    isOutside(variable)
      || variable.bindings.allSatisfy { if case .computed = $0.accessors { true } else { false } }
  }

  /// Whether a marker or modifier excludes the variable from Perdure's properties.
  private static func isOutside(_ variable: VariableSyntax) -> Bool {
    variable.attribute("Transient") != nil
      || !Set(variable.modifiers).isDisjoint(with: ["static", "class", "lazy", "override"])
  }

  /// The remedy for a property with observers: custom accessors, if the property may have them.
  private static func insteadOfObservers(
    _ name: String, _ binding: BindingSyntax, _ variable: VariableSyntax
  ) -> String {
    let isRelationship =
      variable.attribute("Relationship") != nil || binding.type.flatMap(toManyElement) != nil
    if isRelationship || isTransformed(variable) || isComposite(variable) || isDerived(variable) {
      return
        "React to changes in willSave(), or in an observer of the context: context.observe { … }. Or mark "
        + "the property @Transient."
    }
    let options = variable.attribute("Attribute")?.arguments.map { "(\($0))" } ?? ""
    let initial = binding.initializer == nil ? "" : " Set the initial value in awakeFromInsert()."
    return
      "Write accessors instead: @Attribute\(options) \(customForm(name, binding.type ?? "Int")).\(initial) "
      + "Or mark the property @Transient."
  }

  /// An example of custom accessors.
  private static func customForm(_ name: String, _ type: String) -> String {
    let primitive = primitiveName(name)
    return
      "var \(name): \(type) { get { \(primitive) } set { willChangeValue(forKey: \"\(name)\"); "
      + "\(primitive) = newValue; didChangeValue(forKey: \"\(name)\") } }"
  }

  /// The name of the generated variable through which custom accessors use the stored value.
  static func primitiveName(_ name: String) -> String {
    "primitive" + name.prefix(1).uppercased() + name.dropFirst()
  }

  private static func problem(of variable: VariableSyntax) -> Problem? {
    let name = variable.bindings.first?.name ?? "This"
    if variable.isLet {
      return (
        "\"\(name)\" is a constant, which a context cannot load. Write \"var\", or mark it @Transient.",
        variable.offset
      )
    }
    guard variable.bindings.count == 1, let binding = variable.bindings.first, binding.name != nil else {
      return ("Declare each managed property in a separate \"var\".", variable.offset)
    }
    if variable.isConditional {
      return (
        "\"\(name)\" is inside #if, so the model would depend on the build. Move it out, or mark it "
          + "@Transient.", variable.offset
      )
    }
    if case .observers(let offset) = binding.accessors {
      return (
        "\"\(name)\" has observers, which would not be called when the context changes it. "
          + insteadOfObservers(name, binding, variable), offset
      )
    }
    if let modifier = variable.modifiers.first(where: { $0.hasPrefix("weak") || $0.hasPrefix("unowned") }) {
      return (
        "\"\(name)\" is \(modifier), but the context retains its object. Remove \"\(modifier)\", or mark the "
          + "property @Transient.", variable.offset
      )
    }
    if let type = binding.type, type.hasSuffix("!") {
      return (
        "\"\(name)\" is implicitly unwrapped. Write \"\(type.dropLast())?\", or remove the mark.",
        binding.offset
      )
    }
    if binding.type == nil {
      return (
        "\"\(name)\" needs its type written out, for example \"var \(name): String\": a macro cannot infer it.",
        binding.offset
      )
    }
    return nil
  }

  /// The class of the objects, if the type is written as `ToMany<…>` or `OrderedToMany<…>`.
  var toManyElement: String? { Self.toManyElement(of: type) }

  /// Whether the type is written as `OrderedToMany<…>`.
  var isOrdered: Bool { type.hasPrefix("OrderedToMany<") || type.hasPrefix("Perdure.OrderedToMany<") }

  static func toManyElement(of type: String) -> String? {
    var type = Substring(type)
    if type.hasPrefix("Perdure.") { type = type.dropFirst("Perdure.".count) }
    if type.hasPrefix("OrderedToMany<") { type = type.dropFirst("Ordered".count) }
    guard type.hasPrefix("ToMany<"), type.hasSuffix(">") else { return nil }
    return String(type.dropFirst("ToMany<".count).dropLast())
  }
}
