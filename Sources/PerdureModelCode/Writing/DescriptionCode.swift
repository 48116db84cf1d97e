import PerdurePredicates

/// Writes Swift expressions that create the descriptions of a model.
enum DescriptionCode {
  /// The code of a call with its arguments, in order. Omits arguments without a value and empty
  /// labels.
  static func call(_ function: String, _ arguments: [(label: String, value: String?)]) -> String {
    let written = arguments.compactMap { label, value in
      value.map { label.isEmpty ? $0 : "\(label): \($0)" }
    }
    return "\(function)(\(written.joined(separator: ", ")))"
  }

  static func text(_ text: String?) -> String? { text.map { SwiftLiteral.string($0) } }

  static func userInfo(_ userInfo: [String: String]) -> String? {
    userInfo.isEmpty ? nil : SwiftLiteral.dictionary(userInfo)
  }

  /// The entity without its properties, fetched properties, indexes and constraints.
  static func entity(_ entity: EntityDescription) -> String {
    call(
      "EntityDescription",
      [
        ("", SwiftLiteral.string(entity.name)), ("superentity", text(entity.superentityName)),
        ("isAbstract", entity.isAbstract ? "true" : nil),
        (
          "className",
          entity.managedObjectClassName == entity.name ? nil : text(entity.managedObjectClassName)
        ),
        ("properties", "[]"), ("renamingIdentifier", text(entity.renamingIdentifier)),
        ("userInfo", userInfo(entity.userInfo)),
        ("versionHashModifier", text(entity.versionHashModifier)),
      ])
  }

  static func property(_ property: PropertyDescription) -> String {
    switch property {
    case .attribute(let attribute): ".attribute(\(self.attribute(attribute)))"
    case .relationship(let relationship): ".relationship(\(self.relationship(relationship)))"
    case .composite(let composite): ".composite(\(self.composite(composite)))"
    }
  }

  private static func attribute(_ attribute: AttributeDescription) -> String {
    call(
      "AttributeDescription",
      [
        ("", SwiftLiteral.string(attribute.name)), ("", caseName(of: attribute.type)),
        ("isOptional", attribute.isOptional ? nil : "false"),
        ("defaultValue", attribute.defaultValue.map(SwiftLiteral.value)),
        ("derivation", text(attribute.derivation)),
        ("renamingIdentifier", text(attribute.renamingIdentifier)),
        ("rules", attribute.rules.isEmpty ? nil : SwiftLiteral.array(attribute.rules.map(rule))),
        ("isTransient", attribute.isTransient ? "true" : nil),
        ("valueTransformerName", text(attribute.valueTransformerName)),
        ("userInfo", userInfo(attribute.userInfo)),
        ("versionHashModifier", text(attribute.versionHashModifier)),
      ])
  }

  /// The name of a case of `AttributeType`, with a dot. The type's `description` is this name,
  /// except for `objectID`.
  private static func caseName(of type: AttributeType) -> String {
    type == .objectID ? ".objectID" : ".\(type)"
  }

  static func rule(_ rule: ValidationRule) -> String {
    switch rule {
    case .minimum(let value): ".minimum(\(SwiftLiteral.value(value)))"
    case .maximum(let value): ".maximum(\(SwiftLiteral.value(value)))"
    case .minimumLength(let length): ".minimumLength(\(length))"
    case .maximumLength(let length): ".maximumLength(\(length))"
    case .pattern(let pattern): ".pattern(\(SwiftLiteral.string(pattern)))"
    case .predicate(let predicate, let message): self.predicate(predicate.predicateFormat, message)
    case .unreadablePredicate(let text, let message): predicate(text, message)
    }
  }

  private static func predicate(_ format: String, _ message: String) -> String {
    call(
      ".predicate",
      [("format", SwiftLiteral.string(format)), ("message", message.isEmpty ? nil : text(message))])
  }

  private static func relationship(_ relationship: RelationshipDescription) -> String {
    call(
      "RelationshipDescription",
      [
        ("", SwiftLiteral.string(relationship.name)),
        ("to", SwiftLiteral.string(relationship.destinationEntityName)),
        ("inverse", text(relationship.inverseName)),
        ("minCount", relationship.minCount == 0 ? nil : "\(relationship.minCount)"),
        ("maxCount", "\(relationship.maxCount)"), ("isOptional", relationship.isOptional ? nil : "false"),
        ("deleteRule", relationship.deleteRule == .nullify ? nil : ".\(relationship.deleteRule)"),
        ("isOrdered", relationship.isOrdered ? "true" : nil),
        ("isTransient", relationship.isTransient ? "true" : nil),
        ("renamingIdentifier", text(relationship.renamingIdentifier)),
        ("userInfo", userInfo(relationship.userInfo)),
        ("versionHashModifier", text(relationship.versionHashModifier)),
      ])
  }

  private static func composite(_ composite: CompositeAttributeDescription) -> String {
    call(
      "CompositeAttributeDescription",
      [
        ("", SwiftLiteral.string(composite.name)), ("", SwiftLiteral.array(composite.elements.map(property))),
        ("isOptional", composite.isOptional ? nil : "false"),
        ("renamingIdentifier", text(composite.renamingIdentifier)),
        ("userInfo", userInfo(composite.userInfo)),
        ("versionHashModifier", text(composite.versionHashModifier)),
      ])
  }

  static func index(_ index: FetchIndexDescription) -> String {
    let elements = index.elements.map { element in
      let name = SwiftLiteral.string(element.propertyName)
      return element.isAscending ? name : ".descending(\(name))"
    }
    return call(
      "FetchIndexDescription",
      [
        ("", SwiftLiteral.string(index.name)), ("", SwiftLiteral.array(elements)),
        ("where", text(index.partialPredicate?.predicateFormat)),
      ])
  }

  static func constraints(_ constraints: [[String]]) -> String {
    SwiftLiteral.array(constraints.map { SwiftLiteral.array($0.map { SwiftLiteral.string($0) }) })
  }

  static func order(_ order: FetchOrder) -> String {
    call(
      "FetchOrder",
      [("", SwiftLiteral.string(order.keyPath)), ("ascending", order.isAscending ? nil : "false")])
  }

  static func orders(_ orders: [FetchOrder]) -> String? {
    orders.isEmpty ? nil : SwiftLiteral.array(orders.map(order))
  }
}

// MARK: - Requests

extension DescriptionCode {
  /// The code of a fetched property. Its request is in a variable or constant called `request`.
  static func fetchedProperty(_ property: FetchedPropertyDescription) -> String {
    call(
      "FetchedPropertyDescription",
      [
        ("", SwiftLiteral.string(property.name)), ("", "request"),
        ("isCached", property.isCached ? nil : "false"), ("userInfo", userInfo(property.userInfo)),
      ])
  }

  /// Adds the lines that create a request in a variable or constant called `request`.
  static func request(_ request: FetchRequestDescription, in lines: inout CodeLines) {
    let made = call(
      "FetchRequestDescription",
      [
        ("", SwiftLiteral.string(request.entityName)), ("", text(request.predicateFormat)),
        ("sortDescriptors", orders(request.sortDescriptors)),
        ("fetchLimit", request.fetchLimit == 0 ? nil : "\(request.fetchLimit)"),
      ])
    let settings = self.settings(of: request)
    lines.add("\(settings.isEmpty ? "let" : "var") request = \(made)")
    for (name, value) in settings { lines.add("request.\(name) = \(value)") }
  }

  /// The settings that are not arguments of the initializer and differ from those of a new request.
  private static func settings(of request: FetchRequestDescription) -> [(name: String, value: String)] {
    let usual = FetchRequestDescription("")
    var settings: [(name: String, value: String)] = []
    func add<Value: Equatable>(
      _ name: String, _ keyPath: KeyPath<FetchRequestDescription, Value>, _ text: (Value) -> String
    ) {
      let value = request[keyPath: keyPath]
      if value != usual[keyPath: keyPath] { settings.append((name, text(value))) }
    }
    add("fetchOffset", \.fetchOffset) { "\($0)" }
    add("fetchBatchSize", \.fetchBatchSize) { "\($0)" }
    add("resultType", \.resultType) { ".\($0)" }
    add("includesSubentities", \.includesSubentities) { "\($0)" }
    add("includesPendingChanges", \.includesPendingChanges) { "\($0)" }
    add("includesPropertyValues", \.includesPropertyValues) { "\($0)" }
    add("returnsObjectsAsFaults", \.returnsObjectsAsFaults) { "\($0)" }
    add("returnsDistinctResults", \.returnsDistinctResults) { "\($0)" }
    add("relationshipKeyPathsForPrefetching", \.relationshipKeyPathsForPrefetching) { paths in
      SwiftLiteral.array(paths.map { SwiftLiteral.string($0) })
    }
    return settings
  }
}
