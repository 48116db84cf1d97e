// What a type has to be so that an entity can be made of it, as far as its head says so.

extension TypeSyntax {
  typealias Problem = ManagedProperty.Problem

  /// Why no entity can be made of the type, and where; nil when nothing speaks against it.
  var shapeProblem: Problem? {
    guard keyword == "class" else {
      return ("@Entity belongs on a class: objects of an entity have identity.", keywordOffset)
    }
    guard let superclass = inheritance.first else {
      return (
        "An entity's class inherits from ManagedObject, or from the class of its parent entity.",
        keywordOffset
      )
    }
    if Self.noManagedObjects.contains(superclass) {
      return (
        "\"\(superclass)\" is no class of managed objects. Write ManagedObject, or the class of the parent entity, "
          + "in its place or in front of it.", inheritanceOffset ?? keywordOffset
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
      return ("A class has one entity. Remove the second @Entity.", again.offset)
    }
    return nil
  }

  /// An initializer that would make an object without a context, and where it is.
  var initializerProblem: Problem? {
    let own = initializers.first { !$0.modifiers.contains("convenience") && $0.firstLabel != "_" }
    return own.map {
      (
        "Contexts make the objects of \"\(name)\". Write \"convenience init\" with a parameter for the context, and "
          + "call self.init(context:) in it.", $0.offset
      )
    }
  }

  var entityAttributes: [AttributeSyntax] { attributes.filter { $0.name == "Entity" } }

  /// What can stand behind the colon of a class and is none of ours, for certain.
  private static let noManagedObjects: Set<String> = [
    "Codable", "Comparable", "CustomStringConvertible", "Decodable", "Encodable", "Equatable", "Error",
    "Hashable",
    "Identifiable", "NSObject", "Observable", "ObservableObject", "Sendable",
  ]

  /// An initializer, so that the compiler does not complain of variables that were refused as well.
  static let initializer = "required init(_ seed: Perdure.ObjectSeed) {}"
}

extension Request.AttachedExpansion {
  /// The type around the declaration, as far as its head goes.
  var surroundingType: TypeSyntax? { surroundings.map(DeclarationScanner.type) }

  /// The attribute that is expanded, with its place in the file.
  var attributeSyntax: (name: String, offset: Int)? {
    DeclarationScanner.attribute(attribute.source).map { ($0.name, attribute.offset + $0.offset) }
  }

  /// Whether the attribute is another of the same on the declaration.
  func isAgain(in attributes: [AttributeSyntax]) -> Bool {
    attributes.dropFirst().contains { declaration.offset + $0.offset == attributeSyntax?.offset }
  }

  func refusal(_ message: String) -> Reply {
    let offset = attributeSyntax?.offset ?? attribute.offset
    return .expansion(nil, [Diagnostic(message: message, fileName: attribute.fileName, offset: offset)])
  }

  /// Why a marker or `@Managed` stands where it says nothing.
  var placeProblem: String? {
    guard let name = attributeSyntax?.name else { return nil }
    guard DeclarationScanner.variable(declaration.source) != nil else {
      return "@\(name) belongs on a variable of a class with @Entity."
    }
    // Swift's own variables are everywhere.
    guard name != "Transient", let type = surroundingType, type.entityAttributes.isEmpty,
      !type.attributes.contains(where: { $0.name == "Composite" })
    else { return nil }
    if type.keyword == "extension" {
      return
        "An extension has no stored properties. Declare the variable in the body of the class, and remove "
        + "@\(name)."
    }
    return
      "@\(name) says something in a class with @Entity only. Mark \"\(type.name)\" with @Entity, or remove @\(name)."
  }
}
