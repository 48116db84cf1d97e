// The requirements for the class of an entity, as far as its declaration shows them.

extension TypeSyntax {
  typealias Problem = ManagedProperty.Problem

  /// Why the type cannot be the class of an entity, and the offset; nil if no problem is known.
  var shapeProblem: Problem? {
    guard keyword == "class" else {
      let name = entityAttributes.first?.name ?? "Entity"
      return ("@\(name) belongs on a class: objects of an entity have identity.", keywordOffset)
    }
    guard let superclass = inheritance.first else {
      return (
        "An entity's class inherits from ManagedObject, or from the class of its parent entity.",
        keywordOffset
      )
    }
    if Self.noManagedObjects.contains(superclass) {
      return (
        "\"\(superclass)\" is not a class of managed objects. Write ManagedObject, or the class of the parent entity, "
          + "instead of it or before it.", inheritanceOffset ?? keywordOffset
      )
    }
    if isGeneric {
      return ("An entity's class cannot be generic: its model must be known.", keywordOffset)
    }
    if let actor = attributes.first(where: { $0.name == "MainActor" }) {
      return (
        "Objects stay in the isolation of their context, which need not be the main actor's. Remove @MainActor.",
        actor.offset
      )
    }
    if let again = entityAttributes.dropFirst().first {
      let reasons = [
        "Accessors": "@\(entityAttributes[0].name) makes the accessors of a class too. Remove @Accessors.",
        "EntityBase": "@EntityBase is for classes without an entity. Remove @EntityBase.",
      ]
      return (reasons[again.name] ?? "A class has one entity. Remove the second @Entity.", again.offset)
    }
    return nil
  }

  /// The problem of an initializer that makes objects without a context; nil if there is none.
  var initializerProblem: Problem? {
    let own = initializers.first { !$0.modifiers.contains("convenience") && $0.firstLabel != "_" }
    return own.map {
      (
        "Contexts make the objects of \"\(name)\". Write \"convenience init\" with a parameter for the context, and "
          + "call self.init(context:) in it.", $0.offset
      )
    }
  }

  /// The attributes that make this a class of managed objects: first `@Entity`, then `@EntityBase`,
  /// then `@Accessors`.
  var entityAttributes: [AttributeSyntax] {
    ["Entity", "EntityBase", "Accessors"].flatMap { name in attributes.filter { $0.name == name } }
  }

  /// Whether the class has `@Accessors`, so that a model elsewhere describes its properties.
  var hasAccessors: Bool { entityAttributes.first?.name == "Accessors" }

  /// Types that can follow the colon of a class, and that are certainly not classes of managed
  /// objects.
  private static let noManagedObjects: Set<String> = [
    "Codable", "Comparable", "CustomStringConvertible", "Decodable", "Encodable", "Equatable", "Error",
    "Hashable",
    "Identifiable", "NSObject", "Observable", "ObservableObject", "Sendable",
  ]

  /// An initializer that is added if variables were rejected. It prevents a second error, by the
  /// compiler, about the same variables.
  static let initializer = "required init(_ seed: Perdure.ObjectSeed) {}"
}

extension Request.AttachedExpansion {
  /// The head of the type that contains the declaration.
  var surroundingType: TypeSyntax? { surroundings.map(DeclarationScanner.type) }

  /// The attribute that is being expanded, with its offset in the file.
  var attributeSyntax: (name: String, offset: Int)? {
    DeclarationScanner.attribute(attribute.source).map { ($0.name, attribute.offset + $0.offset) }
  }

  /// Whether the expanded attribute is one of `attributes`, but not the first.
  func isAgain(in attributes: [AttributeSyntax]) -> Bool {
    attributes.dropFirst().contains { declaration.offset + $0.offset == attributeSyntax?.offset }
  }

  func refusal(_ message: String) -> Reply {
    let offset = attributeSyntax?.offset ?? attribute.offset
    return .expansion(nil, [Diagnostic(message: message, fileName: attribute.fileName, offset: offset)])
  }

  /// Why a marker or `@Managed` has no effect at its position; nil if it has an effect.
  var placeProblem: String? {
    guard let name = attributeSyntax?.name else { return nil }
    guard DeclarationScanner.variable(declaration.source) != nil else {
      return "@\(name) belongs on a variable of a class with @Entity."
    }
    // `@Transient` is allowed everywhere, because it marks variables that only Swift manages.
    guard name != "Transient", let type = surroundingType, !type.hasManagedVariables,
      !type.attributes.contains(where: { $0.name == "Composite" })
    else { return nil }
    if type.keyword == "extension" {
      return
        "An extension has no stored properties. Declare the variable in the body of the class, or mark the extension "
        + "@EntityProperties, and the class @Entity(propertiesInExtension: true)."
    }
    return
      "@\(name) has an effect only in a class with @Entity. Mark \"\(type.name)\" with @Entity, or remove @\(name)."
  }
}
