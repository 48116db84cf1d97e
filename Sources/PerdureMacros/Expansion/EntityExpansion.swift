/// The members that `@Entity` adds to a class.
///
///     enum _Slot {
///       static var email: Int { Person._Slot._count + 0 }          one for each property
///       static var _count: Int { Person._Slot._count + 1 }
///       static func _names<_Root: Worker>(…) -> [AnyKeyPath: String]   names by key path
///       static let _nameTable, _description                         made once, at first use
///     }
///     override class var _entityName, entityDescription …
///     override class var _propertyNamesByKeyPath …
///     override class var _lifeCycle                                hooks that the class overrides
///     override class var _validatedProperties, func _validateProperty   for each `validateAge(_:)`
///     override class var _customAccessors, func _customValue …      for accessors of the class
///     convenience init(context:email:…)                            a parameter for each property
///     func addToProjects(_:), removeFromProjects(_:)               for each to-many property
///
/// A slot is the position of a property in an entity. The properties of the superclass come first,
/// and a composite has a slot for each leaf.
///
/// The type of a variable determines the kind of property, and only the compiler knows types. So
/// `_description` calls an overloaded function once for each property. Each call is a separate
/// statement, because type checking a list of calls is slow.
struct EntityExpansion {
  let type: TypeSyntax
  let superclass: String
  let properties: [ManagedProperty]
  let fetchedProperties: [FetchedProperty]
  /// The source text in the parentheses of `@Entity`.
  let options: String
  /// Whether the class has `@EntityBase` instead of `@Entity`.
  var isBase = false

  static func members(_ request: Request.AttachedExpansion) -> Reply {
    let declaration = request.declaration
    let type = DeclarationScanner.type(declaration.source)
    var diagnostics: [Diagnostic] = []
    func report(_ message: String, _ offset: Int) {
      diagnostics.append(declaration.error(message, at: offset))
    }
    if let reply = request.reply(to: type.shapeProblem, of: type) { return reply }
    let expanded = ExpandedClass(type) { variable, property in
      if let warning = PredicateWords.warning(about: property.name) {
        var diagnostic = declaration.error(warning, at: variable.bindings[0].offset)
        diagnostic.severity = .warning
        diagnostics.append(diagnostic)
      }
      return nil
    }
    for problem in expanded.problems { report(problem.message, problem.offset) }
    for problem in type.templateFunctions.compactMap(\.problem) { report(problem.message, problem.offset) }
    if let problem = type.initializerProblem { report(problem.message, problem.offset) }
    let options = DeclarationScanner.attribute(request.attribute.source)?.arguments ?? ""
    if let message = optionProblem(options) { report(message, type.entityAttributes.first?.offset ?? 0) }
    let expansion = EntityExpansion(
      type: type, superclass: type.inheritance[0], properties: expanded.properties,
      fetchedProperties: type.variables.compactMap(FetchedProperty.of), options: options)
    let isRefused = diagnostics.contains { $0.severity == .error }
    let initializer = isRefused ? TypeSyntax.initializer : expansion.initializer
    return .expansion(expansion.source + (initializer.map { "\n\n" + $0 } ?? ""), diagnostics)
  }

  var source: String {
    ([slots] + extensionBase + overrides + templateList + validations + customAccessors { "_Slot.\($0)" }
      + properties.flatMap(toManyFunctions)).joined(separator: "\n\n")
  }

  // MARK: Access

  /// The access modifier of the generated members with a space after it; empty for `internal`. It
  /// is `public` for an open class and `fileprivate` for a private one.
  var access: String {
    let levels = ["open": "public ", "public": "public ", "package": "package "]
    return type.modifiers.lazy.compactMap { levels[$0] }.first
      ?? type.modifiers.first { $0 == "fileprivate" || $0 == "private" }.map { _ in "fileprivate " } ?? ""
  }

  /// The access of the overrides. Classes in other modules can inherit from an open class, and
  /// override these members again.
  var overrideAccess: String { type.modifiers.contains("open") ? "open " : access }

  /// `@inlinable` if other modules can see the class, so that its slots are constants there too.
  private var inlinable: String {
    type.keyword == "class" && (access == "public " || access == "package ") ? "@inlinable " : ""
  }

  // MARK: Members

  private var slots: String {
    let base = "\(superclass)._Slot._count"
    return """
      @dynamicMemberLookup
      \(access)enum _Slot {
      \((constants(from: base) + extendedCount).joined(separator: "\n"))
      \(unknownName)
      \(nameFunction)
      \(parameterDefaults.map { $0 + "\n" }.joined() + templateConstants)\
        static let _nameTable = Perdure._PropertyNames(_names(\(type.name).self))
      \(descriptionConstant)
      }
      """
  }

  /// The declarations of the slots. A composite has one slot for each leaf, but the macro does not
  /// know the number of leaves. So the slots after a composite are relative to its end, a constant
  /// that the program computes once.
  func constants(from base: String) -> [String] {
    var (origin, offset) = (base, 0)
    var lines: [String] = []
    func line(_ name: String) -> String {
      let inlinable = origin == base ? inlinable : ""
      return "  \(inlinable)\(access)static var \(name): Int { \(origin) + \(offset) }"
    }
    for property in properties {
      lines.append(line(property.spelling))
      if property.isComposite {
        let end = "_endOf_\(property.name)"
        let width = "Perdure._EntityAssembly._width((\(property.type)).self)"
        lines.append("  static let \(end): Int = \(origin) + \(offset) + \(width)")
        (origin, offset) = (end, 0)
      } else {
        offset += 1
      }
    }
    return lines + [line(hasExtension ? "_ownCount" : "_count")]
  }

  /// The declaration of the number of slots, for a class with an extension. The macro does not see
  /// the extension, so the extension's code counts the slots.
  private var extendedCount: [String] {
    hasExtension ? ["  \(access)static var _count: Int { \(type.name)._ExtensionSlot._count }"] : []
  }

  private static func optionProblem(_ options: String) -> String? {
    let arguments = MarkerArguments(options)
    guard arguments.has(label: extensionLabel),
      !["true", "false"].contains(arguments.word(label: extensionLabel))
    else { return nil }
    return "The macro must know whether the class has an extension. Write \(extensionLabel): true or false."
  }

  /// The member that makes the compiler reject an inverse that is not a property of the class, with
  /// an error message. If the class has an extension, its properties are not known here. The model
  /// then checks the inverse.
  private var unknownName: String {
    if hasExtension {
      return """
          \(access)static subscript(dynamicMember name: String) -> Perdure.ManagedObject._UnknownSlot {
            Perdure.ManagedObject._Slot[dynamicMember: name]
          }
        """
    }
    let names = properties.map(\.name).joined(separator: ", ")
    return """
        @available(*, unavailable, message: "\(type.name) has no property of this name. Its own are: \(names).")
        \(access)static subscript(dynamicMember name: String) -> Int { 0 }
      """
  }

  var nameFunction: String {
    let head = """
        \(access)static func _names<_Root: \(type.name)>(_ root: _Root.Type) -> [AnyKeyPath: String] {
      """
    guard !properties.isEmpty || hasExtension else {
      return "\(head)\n    \(superclass)._Slot._names(root)\n  }"
    }
    var lines = properties.map { "    names[\\_Root.\($0.spelling)] = \(literal($0.name))" }
    if hasExtension { lines.append("    \(type.name)._ExtensionSlot._names(&names, root)") }
    return """
      \(head)
          var names = \(superclass)._Slot._names(root)
      \(lines.joined(separator: "\n"))
          return names
        }
      """
  }

  /// The statements that add the properties to the description.
  var statements: [String] {
    properties.map { property in
      var arguments = [literal(property.name), "(\(property.type)).self"]
      if let made = property.madeDefault {
        arguments.append("made: \(made)")
      } else if let value = property.defaultValue {
        arguments.append("default: \(value)")
      }
      if let options = property.options { arguments.append(options) }
      return "    entity.add\(property.suffix)(\(arguments.joined(separator: ", ")))"
    } + fetchedProperties.map(\.statement)
  }

  private var descriptionConstant: String {
    if isBase { return "" }
    var lines = statements
    if hasExtension {
      lines.append("    \(type.name)._ExtensionSlot._describe(&entity, Perdure._ExtensionOf<\(type.name)>())")
    }
    return """
        static let _description: Perdure.EntityDescription = {
          \(lines.isEmpty ? "let" : "var") entity = Perdure._EntityAssembly(\(options))
      \(lines.map { $0 + "\n" }.joined())\
          return entity.description(of: \(literal(type.name)), superclass: \(superclass).self, after: \(superclass)._Slot._count)
        }()
      """
  }

  private var overrides: [String] {
    (isBase ? [additions] : entityOverrides) + [
      """
      \(overrideAccess)override class var _propertyNamesByKeyPath: [AnyKeyPath: String] {
        _Slot._nameTable.names
      }
      """,
      lifeCycleOverride,
    ]
  }

  private var entityOverrides: [String] {
    [
      """
      \(overrideAccess)override class var _entityName: String {
        Perdure._EntityAssembly(\(options)).entityName(of: \(literal(type.name)))
      }
      """,
      """
      \(overrideAccess)override class var entityDescription: Perdure.EntityDescription { _Slot._description }
      """,
    ]
  }

  /// The override that lists the hooks of the class, so that other hooks cost nothing.
  var lifeCycleOverride: String {
    "\(overrideAccess)override class var _lifeCycle: Perdure._LifeCycle { \(lifeCycle) }"
  }

  /// The life cycle hooks of the class. Functions of a class can be overridden only in its body, so
  /// the macro sees all of them. It has not seen the body of a subclass without `@Entity`, so such
  /// a class has all hooks.
  private var lifeCycle: String {
    let hooks = Self.hooks.filter { type.overriddenFunctions.contains($0.function) }.map { ".\($0.hook)" }
    let own = hooks.isEmpty ? "" : ".union([\(hooks.joined(separator: ", "))])"
    let listed = listsKeys ? ".subtracting(.validateValue)" : ""
    let known = "\(superclass)._lifeCycle\(own)\(listed)"
    return type.modifiers.contains("final") ? known : "self == \(type.name).self ? \(known) : .all"
  }

  private static let hooks: [(function: String, hook: String)] =
    [
      "awakeFromInsert", "awakeFromFetch", "willSave", "didSave", "prepareForDeletion", "willTurnIntoFault",
      "didTurnIntoFault", "validateForInsert", "validateForUpdate", "validateForDelete", "validateValue",
    ].map { ($0, $0) } + [("awake", "awakeFromSnapshotEvents")]

  func toManyFunctions(_ property: ManagedProperty) -> [String] {
    guard let element = property.toManyElement else { return [] }
    let name = property.name.prefix(1).uppercased() + property.name.dropFirst()
    let (value, access) = (property.spelling, property.access)
    let insert = property.isOrdered ? "append" : "insert"
    let functions = [
      """
      /// Connects an object to `\(property.name)`.
      \(access)func addTo\(name)(_ object: \(element)) { \(value).\(insert)(object) }
      """,
      """
      /// Connects objects to `\(property.name)`.
      \(access)func addTo\(name)(_ objects: some Sequence<\(element)>) {
        for object in objects { \(value).\(insert)(object) }
      }
      """,
      """
      /// Connects the objects of an `NSSet` or a similar collection to `\(property.name)`.
      @_disfavoredOverload
      \(access)func addTo\(name)(_ objects: some Sequence<Any>) { \(value).\(insert)(contentsOf: objects) }
      """,
      """
      /// Disconnects an object from `\(property.name)`.
      \(access)func removeFrom\(name)(_ object: \(element)) { \(value).remove(object) }
      """,
      """
      /// Disconnects objects from `\(property.name)`.
      \(access)func removeFrom\(name)(_ objects: some Sequence<\(element)>) {
        for object in objects { \(value).remove(object) }
      }
      """,
      """
      /// Disconnects the objects of an `NSSet` or a similar collection from `\(property.name)`.
      @_disfavoredOverload
      \(access)func removeFrom\(name)(_ objects: some Sequence<Any>) { \(value).remove(contentsOf: objects) }
      """,
    ]
    return property.isOrdered ? functions + orderedFunctions(name, value, access, element) : functions
  }

  private func orderedFunctions(
    _ name: String, _ value: String, _ access: String, _ element: String
  ) -> [String] {
    [
      """
      /// Connects an object at a position.
      \(access)func insertInto\(name)(_ object: \(element), at position: Int) { \(value).insert(object, at: position) }
      """,
      """
      /// Disconnects the object at a position.
      \(access)func removeFrom\(name)(at position: Int) { \(value).remove(at: position) }
      """,
      """
      /// Disconnects the object at a position, and connects another one there.
      \(access)func replace\(name)(at position: Int, with object: \(element)) {
        \(value).replace(at: position, with: object)
      }
      """,
    ]
  }

  /// A string literal. Names of properties and classes are identifiers, so they need no escapes.
  private func literal(_ name: String) -> String { "\"\(name)\"" }
}
