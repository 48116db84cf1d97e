/// The members that `@EntityProperties` adds to an extension of a class with
/// `@Entity(propertiesInExtension: true)`.
///
///     enum _ExtensionSlot {
///       static var login: Int { User._ExtensionBase._count + 0 }   one for each property
///       static var _count: Int { User._ExtensionBase._count + 1 }
///       static func _names<_Root: User>(…)                          adds names by key path
///       static func _describe(…)                                    adds the properties
///     }
///     func addToProjects(_:), removeFromProjects(_:)                for each to-many property
///
/// The macro of a class does not see extensions of the class, and the macro of an extension does
/// not see the class. So the generated code of each refers to names that the other macro generates.
/// If the class or the extension lacks its macro, the compiler reports these names.
///
/// An extension cannot override members. So validations, and properties with custom accessors, must
/// be in the class.
struct PropertiesExtension {
  /// The shared parts of the generated code. Its options and its superclass are not used.
  let entity: EntityExpansion

  static func members(_ request: Request.AttachedExpansion) -> Reply {
    let declaration = request.declaration
    let type = DeclarationScanner.type(declaration.source)
    guard type.keyword == "extension" else {
      return request.refusal(
        "@EntityProperties belongs on an extension. The variables of a class are properties with @Entity.")
    }
    var diagnostics: [Diagnostic] = []
    var properties: [ManagedProperty] = []
    for variable in type.variables {
      switch ManagedProperty.judge(variable) {
      case .managed(let property) where property.isCustom:
        diagnostics.append(
          declaration.error(
            "\"\(property.name)\" has its own accessors, so an extension cannot contain it. Declare it in the "
              + "body of the class.", at: variable.offset))
      case .managed(let property): properties.append(property)
      case .left: break
      case .refused(let message, let offset): diagnostics.append(declaration.error(message, at: offset))
      }
    }
    let expansion = PropertiesExtension(
      entity: EntityExpansion(
        type: type, superclass: "", properties: properties,
        fetchedProperties: type.variables.compactMap(FetchedProperty.of), options: ""))
    return .expansion(expansion.source, diagnostics)
  }

  var source: String {
    ([slots] + entity.properties.flatMap(entity.toManyFunctions)).joined(separator: "\n\n")
  }

  private var slots: String {
    let name = entity.type.name
    let names = entity.properties.map { "    names[\\_Root.\($0.spelling)] = \"\($0.name)\"\n" }.joined()
    return """
      enum _ExtensionSlot {
      \(entity.constants(from: "\(name)._ExtensionBase._count").joined(separator: "\n"))
        static func _names<_Root: \(name)>(_ names: inout [AnyKeyPath: String], _ root: _Root.Type) {
      \(names)\
        }
        static func _describe(_ entity: inout Perdure._EntityAssembly, _ type: Perdure._ExtensionOf<\(name)>) {
          \(name)._ExtensionBase._accept(type)
      \(entity.statements.map { $0 + "\n" }.joined())\
        }
      }
      """
  }
}

extension EntityExpansion {
  /// Whether the class has properties in an extension with `@EntityProperties`.
  var hasExtension: Bool { MarkerArguments(options).word(label: Self.extensionLabel) == "true" }

  /// The label of the argument of `@Entity`.
  static let extensionLabel = "propertiesInExtension"

  /// The type that the extension's code needs; empty if the class has no such extension.
  var extensionBase: [String] {
    guard hasExtension else { return [] }
    return [
      """
      enum _ExtensionBase {
        static var _count: Int { \(type.name)._Slot._ownCount }
        static func _accept(_ type: Perdure._ExtensionOf<\(type.name)>) {}
      }
      """
    ]
  }
}

extension TypeSyntax {
  /// Whether it is an extension with `@EntityProperties`.
  var isPropertiesExtension: Bool {
    keyword == "extension" && attributes.contains { $0.name == "EntityProperties" }
  }

  /// Whether its variables can be properties of an entity.
  var hasManagedVariables: Bool { isPropertiesExtension || !entityAttributes.isEmpty }

  /// Why its variables cannot be properties of an entity; nil if no problem is known.
  var memberProblem: Problem? { isPropertiesExtension ? nil : shapeProblem }

  /// The expression for the slot of a variable.
  func slot(_ spelling: String) -> String {
    if isPropertiesExtension { return "_ExtensionSlot.\(spelling)" }
    return hasAccessors ? "_slot(_Accessor.\(spelling))" : "_Slot.\(spelling)"
  }
}
