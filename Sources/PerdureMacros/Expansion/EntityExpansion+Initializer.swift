// Generates the initializer with a parameter for each property:
//
//     convenience init(context: ManagedObjectContext, name: String, salary: Double? = nil, …)
//
//   I1. The object is inserted first, with its defaults, and its hook `awakeFromInsert()` is
//       called. Then the given values are set. An omitted value changes nothing, except for an
//       optional property with an initial value. The initializer sets that property to its initial
//       value again, even if the hook changed it (I2).
//   I2. The initializer distinguishes an omitted value from every given value. For a property that
//       is not optional, the parameter is an optional, which is nil if omitted. For an optional
//       property without an initial value, nil changes nothing. Only an optional property with an
//       initial value needs that value as the parameter's default, because an explicit nil must set
//       nil.
//   I3. The initializer has the access level of the class. Its parameters are the properties that
//       are as visible as the class, because the types of other properties may be less visible.

extension EntityExpansion {
  /// The initializer; nil if no property is a parameter, or if the class declares an initializer
  /// whose first label is `context`.
  var initializer: String? {
    if type.initializers.contains(where: { $0.firstLabel == "context" }) { return nil }
    let properties = properties.filter { $0.isParameter(ofClassWith: type.modifiers) }
    guard !properties.isEmpty else { return nil }
    let parameters =
      ["context: Perdure.ManagedObjectContext"] + properties.map { "\($0.spelling): \($0.parameter)" }
    return """
      /// Inserts a new object and sets its properties. An omitted parameter keeps the value of its
      /// property; an optional property with an initial value gets that value.
      \(initializerAccess)convenience init(
        \(parameters.joined(separator: ",\n  "))
      ) {
        self.init(context: context)
      \(properties.map { "  \($0.assignment)" }.joined(separator: "\n"))
      }
      """
  }

  /// Declarations in `_Slot` of the initial values that are defaults of parameters (I2). A default
  /// argument of a public initializer cannot use internal declarations, but the body of these
  /// declarations can.
  var parameterDefaults: [String] {
    guard !isBase, initializer != nil else { return [] }
    return properties.filter { $0.isParameter(ofClassWith: type.modifiers) }.compactMap { property in
      guard let value = property.optionalInitialValue else { return nil }
      return "  \(initializerAccess)static var \(property.defaultName): \(property.type) { \(value) }"
    }
  }

  /// The access modifier of the initializer. Private classes need none: their members are as
  /// visible as the class.
  private var initializerAccess: String {
    if type.modifiers.contains("open") || type.modifiers.contains("public") { return "public " }
    return type.modifiers.contains("package") ? "package " : ""
  }
}

extension ManagedProperty {
  /// Whether the initializer of a class with these modifiers has a parameter for the property.
  fileprivate func isParameter(ofClassWith modifiers: [String]) -> Bool {
    if isReadOnly || isTransient || type.contains("->") { return false }
    let isPublic = modifiers.contains("public") || modifiers.contains("open")
    if isPublic { return access == "public " }
    if modifiers.contains("package") { return access == "public " || access == "package " }
    return access != "private " && access != "fileprivate "
  }

  fileprivate var isOptional: Bool {
    type.hasSuffix("?") || type.hasPrefix("Optional<") || type.hasPrefix("Swift.Optional<")
  }

  /// Whether a save rejects an object whose property was never set.
  private var isRequired: Bool {
    if toManyElement != nil || isComposite { return false }
    return isOptional ? demandsValue : defaultValue == nil && !allowsNoValue
  }

  /// Whether a save rejects an object without a value, although the type is optional.
  private var demandsValue: Bool {
    let options = options.map(MarkerArguments.init)
    return options?.word(label: "optional") == "false" || options?.has(option: "required") == true
  }

  /// Whether the attribute may have no value, although the type is not optional.
  private var allowsNoValue: Bool { options.map(MarkerArguments.init)?.has(option: "optional") == true }

  /// The initial value of an optional property.
  fileprivate var optionalInitialValue: String? { isOptional && !isRequired ? defaultValue : nil }

  /// The name of the declaration in `_Slot` that returns the initial value.
  fileprivate var defaultName: String { "_defaultOf_\(name)" }

  /// The type of the parameter, with its default.
  fileprivate var parameter: String {
    if let toManyElement { return "[\(toManyElement)] = []" }
    if isRequired { return demandsValue && type.hasSuffix("?") ? String(type.dropLast()) : type }
    if optionalInitialValue != nil { return "\(type) = _Slot.\(defaultName)" }
    return (isOptional ? type : Self.optional(type)) + " = nil"
  }

  /// The statement that sets the property.
  fileprivate var assignment: String {
    if toManyElement != nil {
      return isOrdered
        ? "for object in \(spelling) { self.\(spelling).append(object) }"
        : "for object in \(spelling) { self.\(spelling).insert(object) }"
    }
    if isRequired || optionalInitialValue != nil { return "self.\(spelling) = \(spelling)" }
    return "if let \(spelling) { self.\(spelling) = \(spelling) }"
  }

  private static func optional(_ type: String) -> String {
    let words = Lexer.tokens(of: type).map(\.text)
    return words.contains("&") || words.contains("any") || words.contains("some") ? "(\(type))?" : "\(type)?"
  }
}
