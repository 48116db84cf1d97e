/// Writes the names and the description of an entity.
struct EntityWriter {
  let entity: PlannedEntity
  let options: ModelCodeOptions

  private var access: String { options.access.modifier }

  /// Whether the generated code contains the description. Otherwise a macro of the class makes it.
  private var hasDescription: Bool { options.style == .accessors }

  func write(to lines: inout CodeLines) {
    guard hasDescription || options.hasNameConstants else { return }
    lines.add()
    lines.add("/// \(summary)")
    lines.block("\(access)enum \(entity.namespace)") { lines in
      if options.hasNameConstants { writeNames(to: &lines) }
      if hasDescription { writeDescription(to: &lines) }
    }
  }

  private var summary: String {
    let parts = [
      options.hasNameConstants ? "The names" : nil, hasDescription ? "the description" : nil,
    ].compactMap { $0 }
    return "\(SwiftName.capitalized(parts.joined(separator: " and "))) of the entity \(entity.name)."
  }

  // MARK: Names

  private func writeNames(to lines: inout CodeLines) {
    lines.add("/// The entity's name.")
    lines.add("\(access)static let entityName = \(SwiftLiteral.string(entity.name))")
    let declared = entity.description.properties.map(\.name)
    let inherited = entity.description.lineage.dropFirst().reversed().flatMap(\.propertyNames)
    let names = inherited + declared + entity.description.fetchedProperties.map(\.name)
    if names.isEmpty { return }
    lines.add()
    lines.add("/// The names of the properties, with the inherited ones.")
    lines.block("\(access)enum Properties") { lines in
      for name in names {
        lines.add("\(access)static let \(SwiftName.spelling(name)) = \(SwiftLiteral.string(name))")
      }
    }
  }

  // MARK: Description

  private func writeDescription(to lines: inout CodeLines) {
    if options.hasNameConstants { lines.add() }
    lines.add("/// The entity's description.")
    let isComplete = isCompleteWithoutStatements
    lines.block("\(access)static let description: EntityDescription =", end: "}()") { lines in
      lines.add("\(isComplete ? "let" : "var") entity = \(DescriptionCode.entity(entity.description))")
      if !isComplete { writeStatements(to: &lines) }
      lines.add("return entity")
    }
    if entity.className != nil, entity.code != .manual { writeKeyPaths(to: &lines) }
  }

  private var isCompleteWithoutStatements: Bool {
    let description = entity.description
    return description.properties.isEmpty && description.fetchedProperties.isEmpty
      && description.indexes.isEmpty && description.uniquenessConstraints.isEmpty
  }

  /// Adds the statements that complete the description. Each property has its own statement,
  /// because the type checker is slow on a list of properties.
  private func writeStatements(to lines: inout CodeLines) {
    let description = entity.description
    for property in description.properties {
      lines.add("entity.properties.append(\(DescriptionCode.property(property)))")
    }
    for property in description.fetchedProperties {
      lines.block("do") { lines in
        DescriptionCode.request(property.fetchRequest, in: &lines)
        lines.add("entity.fetchedProperties.append(\(DescriptionCode.fetchedProperty(property)))")
      }
    }
    for index in description.indexes { lines.add("entity.indexes.append(\(DescriptionCode.index(index)))") }
    if !description.uniquenessConstraints.isEmpty {
      let constraints = DescriptionCode.constraints(description.uniquenessConstraints)
      lines.add("entity.uniquenessConstraints = \(constraints)")
    }
  }

  private func writeKeyPaths(to lines: inout CodeLines) {
    guard let root = entity.classSpelling else { return }
    let properties = entity.inheritedProperties + entity.properties
    lines.add()
    lines.add("/// The names of the properties by key paths from the class.")
    lines.add("\(access)static var namesByKeyPath: [AnyKeyPath: String] { names.names }")
    lines.add()
    if properties.isEmpty {
      lines.add("private static let names = _PropertyNames([:])")
      return
    }
    lines.add("private static let names = _PropertyNames([")
    for property in properties {
      lines.add("  \\\(root).\(property.spelling): \(SwiftLiteral.string(property.name)),")
    }
    lines.add("])")
  }
}

extension EntityDescription {
  /// The names of all declared properties.
  fileprivate var propertyNames: [String] { properties.map(\.name) + fetchedProperties.map(\.name) }
}

extension ModelCodeAccess {
  /// The modifier with a space after it; empty for `internal`.
  var modifier: String { self == .internal ? "" : "\(rawValue) " }
}
