/// The members that `@Accessors` adds to a class.
///
///     enum _Accessor {
///       static var name: Int { Person._Accessor._count + 0 }       one for each variable
///       static var _count: Int { Person._Accessor._count + 1 }
///     }
///     enum _Slot {
///       static var _count: Int                                     as in the superclass
///       static func _names<_Root: Worker>(…) -> [AnyKeyPath: String]   names by key path
///     }
///     override class var _accessorNames: [String]                  in the order of the numbers
///     override class var _transformedAccessors: [String]           if one is marked .transformed
///     override class var _propertyNamesByKeyPath, _lifeCycle …     as for @Entity
///     func addToProjects(_:), removeFromProjects(_:)               for each to-many variable
///
/// The model determines the slots. A container finds them by the names of the accessors, once for
/// each entity of the class.
struct AccessorsExpansion {
  /// Generates the parts that `@Entity` also generates. Its options are not used.
  let entity: EntityExpansion

  static func members(_ request: Request.AttachedExpansion) -> Reply {
    let declaration = request.declaration
    let type = DeclarationScanner.type(declaration.source)
    // If a class has two of @Entity, @EntityBase and @Accessors by mistake, only the first reports
    // the error.
    guard !request.isAgain(in: type.entityAttributes) else { return .expansion(nil, []) }
    if let reply = request.reply(to: type.shapeProblem ?? type.initializerProblem, of: type) { return reply }
    let expanded = ExpandedClass(type, check: Self.problem)
    let expansion = AccessorsExpansion(
      entity: EntityExpansion(
        type: type, superclass: type.inheritance[0], properties: expanded.properties,
        fetchedProperties: [], options: ""))
    let initializer = expanded.problems.isEmpty ? "" : "\n\n\(TypeSyntax.initializer)"
    return .expansion(
      expansion.source + initializer, expanded.problems.map { declaration.error($0.message, at: $0.offset) })
  }

  /// The problem of a variable that declares something only the model can declare.
  private static func problem(
    of variable: VariableSyntax, _ property: ManagedProperty
  ) -> ManagedProperty.Problem? {
    let name = property.name
    if property.defaultValue != nil, let offset = variable.bindings.first?.offset {
      return (
        "\"\(name)\" has an initial value, but the model has the defaults of a class with @Accessors. Move it "
          + "there.",
        offset
      )
    }
    if let marker = variable.attribute("Relationship") {
      return (
        "The model describes the relationship \"\(name)\" of a class with @Accessors. Remove @Relationship.",
        marker.offset
      )
    }
    guard let marker = variable.attribute("Attribute"),
      let option = MarkerArguments(marker.arguments ?? "").other(
        than: ["transient", "transformed", "composite"])
    else { return nil }
    return (
      "The model describes \"\(name)\" of a class with @Accessors. Move \(option) there.", marker.offset
    )
  }

  var source: String {
    ([numbers, slots] + overrides + transformedNames + entity.validations
      + entity.customAccessors { "_slot(_Accessor.\($0))" }
      + entity.properties.flatMap(entity.toManyFunctions)).joined(separator: "\n\n")
  }

  private var numbers: String {
    let base = "\(entity.superclass)._Accessor._count"
    let lines = (entity.properties.map(\.spelling) + ["_count"]).enumerated().map { number, name in
      "  \(entity.access)static var \(name): Int { \(base) + \(number) }"
    }
    return "\(entity.access)enum _Accessor {\n\(lines.joined(separator: "\n"))\n}"
  }

  private var slots: String {
    """
    @dynamicMemberLookup
    \(entity.access)enum _Slot {
      \(entity.access)static var _count: Int { \(entity.superclass)._Slot._count }
      \(entity.access)static subscript(dynamicMember name: String) -> Perdure.ManagedObject._UnknownSlot {
        Perdure.ManagedObject._Slot[dynamicMember: name]
      }
    \(entity.nameFunction)
      static let _nameTable = Perdure._PropertyNames(_names(\(entity.type.name).self))
    }
    """
  }

  private var overrides: [String] {
    [
      list("_accessorNames", entity.properties),
      """
      \(entity.overrideAccess)override class var _propertyNamesByKeyPath: [AnyKeyPath: String] {
        _Slot._nameTable.names
      }
      """,
      entity.lifeCycleOverride,
    ]
  }

  private var transformedNames: [String] {
    let transformed = entity.properties.filter(\.isTransformed)
    return transformed.isEmpty ? [] : [list("_transformedAccessors", transformed)]
  }

  /// An override that returns the names of the superclass, followed by the names of `properties`.
  private func list(_ name: String, _ properties: [ManagedProperty]) -> String {
    let names = properties.map { "\"\($0.name)\"" }.joined(separator: ", ")
    return """
      \(entity.overrideAccess)override class var \(name): [String] {
        super.\(name) + [\(names)]
      }
      """
  }
}
