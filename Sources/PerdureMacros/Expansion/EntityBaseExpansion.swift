/// The members that `@EntityBase` adds to a class without an entity. The variables of the class are
/// properties of the entities of its subclasses.
///
/// The members are those of `@Entity`, except the description of an entity. Instead of it,
/// `_addProperties` adds the properties to the description of each subclass's entity. The slots of
/// these properties are after those of the superclass and before those of the subclasses.
enum EntityBaseExpansion {
  static func members(_ request: Request.AttachedExpansion) -> Reply {
    let declaration = request.declaration
    let type = DeclarationScanner.type(declaration.source)
    // If a class has two of @Entity, @EntityBase and @Accessors by mistake, only the first reports
    // the error.
    guard !request.isAgain(in: type.entityAttributes) else { return .expansion(nil, []) }
    if let reply = request.reply(to: type.shapeProblem ?? type.initializerProblem, of: type) { return reply }
    let expanded = ExpandedClass(type, check: inverseProblem)
    var problems = expanded.problems
    if let template = type.templateFunctions.first {
      problems.append(
        (
          "\"\(template.name)\" fetches objects of one entity, but \"\(type.name)\" has none. Declare it in a "
            + "subclass with @Entity.", template.offset
        ))
    }
    let expansion = EntityExpansion(
      type: type, superclass: type.inheritance[0], properties: expanded.properties,
      fetchedProperties: type.variables.compactMap(FetchedProperty.of), options: "", isBase: true)
    let initializer = problems.isEmpty ? "" : "\n\n\(TypeSyntax.initializer)"
    return .expansion(
      expansion.source + initializer, problems.map { declaration.error($0.message, at: $0.offset) })
  }

  /// The problem of a relationship with an inverse: an inverse belongs to one entity, but several
  /// entities have the properties of the base.
  private static func inverseProblem(
    of variable: VariableSyntax, _ property: ManagedProperty
  ) -> ManagedProperty.Problem? {
    guard let marker = variable.attribute("Relationship"),
      MarkerArguments(marker.arguments ?? "").has(label: "inverse")
    else { return nil }
    return (
      "\"\(property.name)\" has an inverse for one entity, but each subclass has its own entity. Declare it in "
        + "the subclasses, or remove the inverse.", marker.offset
    )
  }
}

extension EntityExpansion {
  /// The member of a class with `@EntityBase` that adds its properties to an entity.
  var additions: String {
    """
    \(overrideAccess)override class func _addProperties(
      to entity: inout Perdure._EntityAssembly, after count: Int
    ) {
      super._addProperties(to: &entity, after: count)
      if \(superclass)._Slot._count < count { return }
    \(statements.joined(separator: "\n"))
    }
    """
  }
}
