// Maps descriptions to the elements of a model file, as Xcode writes them.
//
// Parts of a model that the format cannot express are written into the user info (`ExtensionKey`).
// Parts without such a form are reported together.

import PerdureModel
import PerdurePredicates

/// Makes the elements of one model.
struct ElementMaker {
  let file: String
  /// The names of the composites by the paths of the attributes that use them.
  let compositeNames: [String: String]
  private(set) var problems: [ModelFileProblem] = []
  /// The composites that were made so far, by name.
  private var composites: [String: [PropertyDescription]] = [:]
  private var compositeElements: [ModelElement] = []

  /// The root element of a model.
  ///
  /// - Parameter compositeNames: The names to use for composites, by the paths of their attributes.
  /// - Throws: `ModelFileError` with all parts that a file cannot express.
  static func root(
    of model: ManagedObjectModel, file: String, compositeNames: [String: String] = [:]
  ) throws(ModelFileError) -> ModelElement {
    var maker = ElementMaker(file: file, compositeNames: compositeNames)
    let root = maker.root(of: model)
    if !maker.problems.isEmpty { throw ModelFileError(maker.problems) }
    return root
  }

  private init(file: String, compositeNames: [String: String]) {
    self.file = file
    self.compositeNames = compositeNames
  }

  private mutating func root(of model: ManagedObjectModel) -> ModelElement {
    if model.versionIdentifiers.count > 1 {
      refuse(
        nil, "The model has \(model.versionIdentifiers.count) version identifiers, but a file has one.",
        "Keep one of them.")
    }
    let entities = Self.sorted(model.entities, by: \.name).map { entity($0) }
    let configurations = Self.sorted(model.configurations, by: \.self).map { name in
      let members = model.entities(forConfigurationName: name) ?? []
      return ModelElement(
        "configuration", [("name", name)],
        Self.sorted(members, by: \.name).map { ModelElement("memberEntity", [("name", $0.name)]) })
    }
    let templates = Self.sorted(model.fetchRequestTemplates, by: \.name).map {
      Self.fetchRequest($0.request, name: $0.name)
    }
    return ModelElement(
      "model",
      [
        ("type", "com.apple.IDECoreDataModeler.DataModel"), ("documentVersion", "1.0"),
        ("lastSavedToolsVersion", "22758"), ("systemVersion", "23G93"), ("minimumToolsVersion", "Automatic"),
        ("sourceLanguage", "Swift"),
        ("userDefinedModelVersionIdentifier", model.versionIdentifiers.sorted().first ?? ""),
      ], entities + templates + configurations + Self.sorted(compositeElements, by: { $0["name"] ?? "" }))
  }

  private mutating func entity(_ entity: EntityDescription) -> ModelElement {
    let className = entity.managedObjectClassName
    let sorted = Self.sorted(entity.properties, by: \.name)
    let isRelationship = { (property: PropertyDescription) in
      if case .relationship = property { true } else { false }
    }
    var children = sorted.filter { !isRelationship($0) }.map { property($0, in: entity.name) }
    children += sorted.filter(isRelationship).map { property($0, in: entity.name) }
    children += Self.sorted(entity.fetchedProperties, by: \.name).map(Self.fetchedProperty)
    children += entity.indexes.map(index)
    if !entity.uniquenessConstraints.isEmpty {
      children.append(
        ModelElement("uniquenessConstraints", [], entity.uniquenessConstraints.map(Self.constraint)))
    }
    return ModelElement(
      "entity",
      [
        ("name", entity.name),
        ("representedClassName", className == ModelReader.baseClassName ? nil : className),
        ("isAbstract", yes(entity.isAbstract)), ("parentEntity", entity.superentityName),
        ("elementID", entity.renamingIdentifier), ("versionHashModifier", entity.versionHashModifier),
        ("syncable", "YES"),
      ], children + Self.userInfo(entity.userInfo))
  }

  private mutating func property(_ property: PropertyDescription, in owner: String) -> ModelElement {
    switch property {
    case .attribute(let attribute): self.attribute(attribute, in: owner)
    case .relationship(let relationship): self.relationship(relationship)
    case .composite(let composite): self.composite(composite, in: owner)
    }
  }

  // MARK: Composites

  private mutating func composite(
    _ composite: CompositeAttributeDescription, in owner: String
  ) -> ModelElement {
    ModelElement(
      "attribute",
      [
        ("name", composite.name), ("optional", yes(composite.isOptional)), ("attributeType", "Composite"),
        ("composite", name(ofComposite: composite, in: owner)), ("elementID", composite.renamingIdentifier),
        ("versionHashModifier", composite.versionHashModifier),
      ], Self.userInfo(composite.userInfo))
  }

  /// The name of a composite with these elements. An equal composite is reused, or a new one is
  /// added.
  private mutating func name(
    ofComposite composite: CompositeAttributeDescription, in owner: String
  ) -> String {
    let wanted =
      compositeNames["\(owner).\(composite.name)"]
      ?? composite.name.prefix(1).uppercased() + composite.name.dropFirst()
    var name = wanted
    var number = 2
    while let other = composites[name], other != composite.elements {
      name = "\(wanted)\(number)"
      number += 1
    }
    guard composites[name] == nil else { return name }
    composites[name] = composite.elements
    // Elements keep their order, because their slots depend on it.
    let children = composite.elements.map { property($0, in: name) }
    compositeElements.append(ModelElement("composite", [("name", name)], children))
    return name
  }

  // MARK: Relationships, indexes and constraints

  private func relationship(_ relationship: RelationshipDescription) -> ModelElement {
    let usualMinimum = relationship.maxCount == 1 && !relationship.isOptional ? 1 : 0
    let (least, most) = (relationship.minCount, relationship.maxCount)
    return ModelElement(
      "relationship",
      [
        ("name", relationship.name), ("optional", yes(relationship.isOptional)),
        ("transient", yes(relationship.isTransient)), ("toMany", yes(relationship.isToMany)),
        ("minCount", least == usualMinimum ? nil : "\(least)"), ("maxCount", most == 0 ? nil : "\(most)"),
        ("deletionRule", relationship.deleteRule.fileName), ("ordered", yes(relationship.isOrdered)),
        ("destinationEntity", relationship.destinationEntityName), ("inverseName", relationship.inverseName),
        ("inverseEntity", relationship.inverseName.map { _ in relationship.destinationEntityName }),
        ("elementID", relationship.renamingIdentifier),
        ("versionHashModifier", relationship.versionHashModifier),
      ], Self.userInfo(relationship.userInfo))
  }

  private func index(_ index: FetchIndexDescription) -> ModelElement {
    let elements = index.elements.map { element in
      let isFunction = element.propertyName.contains(":")
      return ModelElement(
        "fetchIndexElement",
        [
          ("property", isFunction ? nil : element.propertyName),
          ("expression", isFunction ? element.propertyName : nil),
          ("expressionType", isFunction ? "String" : nil), ("type", "Binary"),
          ("order", element.isAscending ? "ascending" : "descending"),
        ])
    }
    return ModelElement(
      "fetchIndex",
      [("name", index.name), ("partialIndexPredicate", index.partialPredicate?.predicateFormat)], elements)
  }

  private static func constraint(_ names: [String]) -> ModelElement {
    ModelElement("uniquenessConstraint", [], names.map { ModelElement("constraint", [("value", $0)]) })
  }

  // MARK: Parts

  /// The element of the user info; no element if the user info is empty.
  static func userInfo(_ info: [String: String]) -> [ModelElement] {
    if info.isEmpty { return [] }
    let entries = info.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    return [
      ModelElement("userInfo", [], entries.map { ModelElement("entry", [("key", $0), ("value", $1)]) })
    ]
  }

  /// `YES`, or no attribute.
  func yes(_ condition: Bool) -> String? { condition ? "YES" : nil }

  mutating func refuse(_ place: String?, _ message: String, _ remedy: String) {
    problems.append(
      ModelFileProblem(
        severity: .error, kind: .inexpressible, file: file, line: nil, place: place, message: message,
        remedy: remedy))
  }

  private static func sorted<Part>(_ parts: [Part], by name: (Part) -> String) -> [Part] {
    parts.sorted { NaturalOrder.precedes(name($0), name($1)) }
  }
}
