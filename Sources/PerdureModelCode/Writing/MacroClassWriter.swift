import PerdurePredicates

/// Writes a class with `@Entity`.
struct MacroClassWriter {
  let entity: PlannedEntity
  let options: ModelCodeOptions

  private var access: String { options.access.modifier }

  func write(to lines: inout CodeLines) {
    guard entity.code == .classDefinition, let name = entity.classSpelling else { return }
    lines.add()
    lines.add("/// An object of the entity \(entity.name).")
    lines.add(entityAttribute(name))
    lines.block("\(access)\(entity.hasSubentities ? "" : "final ")class \(name): \(entity.superclass)") {
      lines in
      for property in entity.properties { lines.add(declaration(of: property)) }
      for property in entity.description.fetchedProperties {
        let type = entity.fetchedClasses[property.name] ?? "ManagedObject"
        lines.add(
          "\(fetchedAttribute(property)) \(access)var \(SwiftName.spelling(property.name)): [\(type)]")
      }
    }
  }

  // MARK: Attributes of Swift

  private func entityAttribute(_ className: String) -> String {
    let description = entity.description
    let constraints = description.uniquenessConstraints
    let indexes = description.indexes.map { DescriptionCode.index($0) }
    let hasOtherName = entity.className != entity.name
    return Self.attribute(
      "@Entity",
      [
        ("", hasOtherName ? SwiftLiteral.string(entity.name) : nil),
        ("isAbstract", description.isAbstract ? "true" : nil),
        ("unique", constraints.isEmpty ? nil : DescriptionCode.constraints(constraints)),
        ("indexes", indexes.isEmpty ? nil : SwiftLiteral.array(indexes)),
        ("originalName", DescriptionCode.text(description.renamingIdentifier)),
        ("userInfo", DescriptionCode.userInfo(description.userInfo)),
        ("versionHashModifier", DescriptionCode.text(description.versionHashModifier)),
      ])
  }

  /// An attribute of Swift, without parentheses if it has no arguments.
  private static func attribute(_ name: String, _ arguments: [(label: String, value: String?)]) -> String {
    arguments.allSatisfy { $0.value == nil } ? name : DescriptionCode.call(name, arguments)
  }

  private func fetchedAttribute(_ property: FetchedPropertyDescription) -> String {
    let request = property.fetchRequest
    return Self.attribute(
      "@Fetched",
      [
        ("", DescriptionCode.text(request.predicateFormat) ?? (property.isCached ? "nil" : nil)),
        ("", property.isCached ? ".cached" : nil), ("order", DescriptionCode.orders(request.sortDescriptors)),
        ("limit", request.fetchLimit == 0 ? nil : "\(request.fetchLimit)"),
        ("userInfo", DescriptionCode.userInfo(property.userInfo)),
      ])
  }

  // MARK: Properties

  private func declaration(of property: PlannedProperty) -> String {
    switch property.description {
    case .attribute(let attribute):
      let marker = Self.marker(of: attribute, form: property.form)
      let setter = property.isReadOnly ? "private(set) " : ""
      let value = attribute.defaultValue.map { " = \(SwiftLiteral.plain($0))" } ?? ""
      return "\(marker)\(access)\(setter)var \(property.spelling): \(property.type)\(value)"
    case .composite(let composite):
      let marker = Self.attribute(
        "@Attribute",
        [("", ".composite"), ("", Self.beginning(of: composite))]
          + Self.options(composite.userInfo, composite.versionHashModifier)
          + [("originalName", DescriptionCode.text(composite.renamingIdentifier))])
      return "\(marker) \(access)var \(property.spelling): \(property.type)"
    case .relationship(let relationship):
      return "\(Self.marker(of: relationship)) \(access)var \(property.spelling): \(property.type)"
    }
  }

  /// The option of an optional composite whose elements have defaults; nil for other composites.
  /// Without the option, the variable is nil in a new object.
  private static func beginning(of composite: CompositeAttributeDescription) -> String? {
    let hasDefault = PropertyDescription.composite(composite).leaves.contains { leaf in
      if case .attribute(let attribute) = leaf { attribute.defaultValue != nil } else { false }
    }
    return composite.isOptional && hasDefault ? ".elementDefaults" : nil
  }

  /// The marker of a composite that is an element of another one, with a space after it; empty if
  /// it has no options.
  static func marker(ofElement composite: CompositeAttributeDescription) -> String {
    let arguments = [
      ("", beginning(of: composite)), ("originalName", DescriptionCode.text(composite.renamingIdentifier)),
    ]
    return arguments.allSatisfy { $0.1 == nil } ? "" : attribute("@Attribute", arguments) + " "
  }

  /// The marker of an attribute with a space after it; empty for an attribute without options.
  static func marker(of attribute: AttributeDescription, form: PlannedProperty.Form) -> String {
    let transformer = form == .transformed ? DescriptionCode.text(attribute.valueTransformerName) : nil
    let rules = attribute.rules.map(DescriptionCode.rule)
    let arguments: [(label: String, value: String?)] =
      [
        ("", attribute.isTransient ? ".transient" : nil),
        ("", transformer.map { ".transformed(by: \($0))" }),
        ("", rules.isEmpty ? nil : ".rules(\(SwiftLiteral.array(rules)))"),
      ] + options(attribute.userInfo, attribute.versionHashModifier) + [
        ("derived", DescriptionCode.text(attribute.derivation)),
        ("originalName", DescriptionCode.text(attribute.renamingIdentifier)),
      ]
    return arguments.allSatisfy { $0.value == nil } ? "" : Self.attribute("@Attribute", arguments) + " "
  }

  private static func options(
    _ userInfo: [String: String], _ modifier: String?
  ) -> [(label: String, value: String?)] {
    [
      ("", DescriptionCode.userInfo(userInfo).map { ".userInfo(\($0))" }),
      ("", DescriptionCode.text(modifier).map { ".versionHashModifier(\($0))" }),
    ]
  }

  private static func marker(of relationship: RelationshipDescription) -> String {
    let isToMany = relationship.isToMany
    let usualMinimum = isToMany || relationship.isOptional ? 0 : 1
    return attribute(
      "@Relationship",
      [
        ("inverse", DescriptionCode.text(relationship.inverseName)),
        ("deleteRule", relationship.deleteRule == .nullify ? nil : ".\(relationship.deleteRule)"),
        ("optional", relationship.isOptional ? nil : "false"),
        ("minCount", relationship.minCount == usualMinimum ? nil : "\(relationship.minCount)"),
        ("maxCount", isToMany && relationship.maxCount != 0 ? "\(relationship.maxCount)" : nil),
        ("transient", relationship.isTransient ? "true" : nil),
        ("originalName", DescriptionCode.text(relationship.renamingIdentifier)),
        ("userInfo", DescriptionCode.userInfo(relationship.userInfo)),
        ("versionHashModifier", DescriptionCode.text(relationship.versionHashModifier)),
      ])
  }
}
