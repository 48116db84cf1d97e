import PerdurePredicates

/// Checks every description of a model and lists all problems, so that the programmer can correct
/// them together. Skips some rules for stored models.
///
/// Later steps use the results of earlier steps. If a step finds an error, such as an unknown
/// superentity or a cycle, it continues with a harmless substitute. For example, an entity with a
/// broken superentity is treated as a root. So the later steps still run and end, unless the model
/// has too many entities, levels or properties: then the validation ends early.
struct ModelValidation {
  /// A property of an entity, declared or inherited.
  struct VisibleProperty {
    let declaringEntity: Int
    let property: PropertyDescription
  }

  let entities: [EntityDescription]
  let configurations: [String: [String]]
  /// Whether the model was read from a store. A program checked such a model before it was stored,
  /// but the bytes may be hostile now, and compiling a hostile pattern can be expensive. So its
  /// patterns are compiled as regular expressions only when a container loads a store with the
  /// model.
  let isStored: Bool
  /// Whether errors in the requests of templates and fetched properties are errors of the model.
  /// False for a stored model, and for a part of a model that was checked as a whole.
  let checksFetches: Bool
  private(set) var errors: [ModelProblem] = []
  private(set) var warnings: [ModelProblem] = []
  /// The index of the first entity with each name.
  private(set) var indicesByName: [String: Int] = [:]
  /// The superentity of each entity. Cycles are removed.
  private(set) var parents: [Int?]
  /// For each entity, its declared and inherited properties by name. A declared composite is
  /// included by name, and its leaves by path; nested composites are not included.
  private(set) var visible: [[String: VisibleProperty]] = []
  /// The checked requests of templates, by name.
  var templateRequests: [String: CheckedFetchRequest] = [:]
  /// The checked requests of fetched properties, by the names of the declaring entity and the
  /// property.
  var fetchedRequests: [String: [String: CheckedFetchRequest]] = [:]

  init(
    _ entities: [EntityDescription], configurations: [String: [String]], isStored: Bool,
    isPart: Bool
  ) {
    self.entities = entities
    self.configurations = configurations
    self.isStored = isStored
    self.checksFetches = !isStored && !isPart
    self.parents = Array(repeating: nil, count: entities.count)
  }

  mutating func run(_ templates: [FetchRequestTemplate]) {
    guard entities.count <= ModelLimits.entityCount else {
      error(
        .tooMany, "", nil, "The model has \(entities.count) entities.",
        "Use at most \(ModelLimits.entityCount).")
      return
    }
    checkEntityNames()
    resolveParents()
    checkProperties()
    guard resolveVisibleProperties() else { return }
    checkRelationships()
    checkAttributes()
    checkDerivations()
    checkIndexes()
    checkConstraints()
    checkAbstractEntities()
    checkCascades()
    checkRenaming()
    checkConfigurations()
    checkFetchedProperties()
    checkTemplates(templates)
  }

  mutating func error(
    _ rule: ModelProblem.Rule, _ entity: String, _ property: String?, _ message: String, _ remedy: String
  ) {
    errors.append(
      ModelProblem(rule: rule, entity: entity, property: property, message: message, remedy: remedy))
  }

  /// The end of a remedy: a question that suggests similar known names. It is empty for stored
  /// models, because they can have so many names that a search is slow.
  func question(_ name: String, in known: some Sequence<String>) -> String {
    isStored ? "" : NearMisses.question(name, in: known)
  }

  mutating func warn(
    _ rule: ModelProblem.Rule, _ entity: String, _ property: String?, _ message: String, _ remedy: String
  ) {
    warnings.append(
      ModelProblem(rule: rule, entity: entity, property: property, message: message, remedy: remedy))
  }
}

// MARK: - Names

extension ModelValidation {
  /// Whether `name` is valid in Swift and in a key path, and is short enough. A leading underscore
  /// is not valid: such names are reserved for generated code.
  static func isIdentifier(_ name: String) -> Bool {
    guard let first = name.unicodeScalars.first, name.utf8.count <= ModelLimits.nameLengthBytes else {
      return false
    }
    return first.properties.isXIDStart && name.unicodeScalars.allSatisfy(\.properties.isXIDContinue)
  }

  private mutating func checkSyntax(_ name: String, _ entity: String, _ property: String?, _ what: String) {
    if !Self.isIdentifier(name) {
      error(
        .nameSyntax, entity, property, "\"\(name)\" is not a valid \(what) name.",
        "Use a letter, then letters, digits and underscores, at most "
          + "\(ModelLimits.nameLengthBytes) bytes.")
    }
  }

  private mutating func checkEntityNames() {
    for (index, entity) in entities.enumerated() {
      checkSyntax(entity.name, entity.name, nil, "entity")
      if entity.managedObjectClassName.isEmpty {
        error(
          .nameSyntax, entity.name, nil, "The class name is empty.",
          "Name the class of the objects, or leave it out.")
      }
      if indicesByName[entity.name] == nil {
        indicesByName[entity.name] = index
      } else {
        error(
          .duplicateEntity, entity.name, nil, "Two entities are called \"\(entity.name)\".",
          "Rename one of them.")
      }
    }
  }

  mutating func checkName(ofProperty name: String, _ entity: String) {
    checkSyntax(name, entity, name, "property")
    // A stored model is accepted, because a later version may have reserved the name.
    if !isStored, ReservedNames.all.contains(name) {
      error(
        .reservedName, entity, name,
        "\"\(name)\" is a member of every managed object, or is reserved by Swift or key-value coding.",
        "Choose another name.")
    }
  }

  private mutating func checkProperties() {
    for entity in entities {
      var seen: Set<String> = []
      for property in entity.properties {
        let name = property.name
        checkName(ofProperty: name, entity.name)
        if !seen.insert(name).inserted { noteDuplicate(entity.name, name) }
        if case .composite(let composite) = property {
          checkElements(composite, entity.name, name, depth: 1)
        }
      }
    }
  }
}

// MARK: - Composite attributes

extension ModelValidation {
  mutating func noteDuplicate(_ entity: String, _ path: String) {
    error(
      .duplicateProperty, entity, path, "Two properties are called \"\(path)\".",
      "Rename or remove one of them.")
  }

  /// - Parameter depth: The number of composites that contain the elements.
  private mutating func checkElements(
    _ composite: CompositeAttributeDescription, _ entity: String, _ path: String, depth: Int
  ) {
    if composite.elements.isEmpty {
      error(.compositeShape, entity, path, "The composite attribute has no element.", "Give it attributes.")
    }
    if depth > ModelLimits.compositeDepth {
      error(
        .compositeShape, entity, path,
        "More than \(ModelLimits.compositeDepth) composites are nested.",
        "Use fewer levels.")
      return
    }
    var seen: Set<String> = []
    for element in composite.elements {
      let place = "\(path).\(element.name)"
      checkSyntax(element.name, entity, place, "property")
      if !seen.insert(element.name).inserted { noteDuplicate(entity, place) }
      switch element {
      case .attribute(let attribute):
        if attribute.isTransient || attribute.derivation != nil {
          error(
            .compositeShape, entity, place, "An element of a composite attribute is transient or derived.",
            "Make it a property of the entity.")
        }
      case .relationship:
        error(
          .compositeShape, entity, place, "An element of a composite attribute is a relationship.",
          "Make it a property of the entity.")
      case .composite(let inner): checkElements(inner, entity, place, depth: depth + 1)
      }
    }
  }
}

// MARK: - Inheritance

extension ModelValidation {
  private mutating func resolveParents() {
    for (index, entity) in entities.enumerated() {
      guard let name = entity.superentityName else { continue }
      if let parent = indicesByName[name] {
        parents[index] = parent
      } else {
        error(
          .unknownSuperentity, entity.name, nil, "The superentity \"\(name)\" is not in the model.",
          "Add it, or correct the name.\(question(name, in: indicesByName.keys))")
      }
    }
    breakCycles()
    checkDepth()
  }

  /// Makes every entity on a cycle of superentities a root.
  private mutating func breakCycles() {
    let state = CycleSearch.membersOfCycles(parents)
    for index in entities.indices where state[index] {
      error(
        .superentityCycle, entities[index].name, nil, "The entity is one of its own superentities.",
        "Remove one of the superentities on the cycle.")
      parents[index] = nil
    }
  }

  private mutating func checkDepth() {
    var depths: [Int] = Array(repeating: 0, count: entities.count)
    for index in ancestorsFirst() {
      depths[index] = parents[index].map { depths[$0] + 1 } ?? 1
      if depths[index] == ModelLimits.hierarchyDepth + 1 {
        error(
          .tooMany, entities[index].name, nil,
          "The inheritance hierarchy has more than \(ModelLimits.hierarchyDepth) levels.",
          "Use fewer levels.")
      }
    }
  }

  /// All entities, each after its superentity.
  func ancestorsFirst() -> [Int] { EntityOrder.ancestorsFirst(parents) }

  /// Fills `visible`. Returns false if there are too many levels or properties to continue.
  private mutating func resolveVisibleProperties() -> Bool {
    guard !errors.contains(where: { $0.rule == .tooMany }) else { return false }
    visible = Array(repeating: [:], count: entities.count)
    for index in ancestorsFirst() {
      var properties = parents[index].map { visible[$0] } ?? [:]
      let entity = entities[index]
      for property in entity.properties {
        if let other = properties[property.name], other.declaringEntity != index {
          error(
            .redefinedProperty, entity.name, property.name,
            "The property is inherited from \"\(entities[other.declaringEntity].name)\".",
            "Rename it, or remove it here.")
        }
        for property in property.withLeaves {
          properties[property.name] = VisibleProperty(declaringEntity: index, property: property)
        }
      }
      guard properties.count <= ModelLimits.propertyCount else {
        error(
          .tooMany, entity.name, nil,
          "The entity has \(properties.count) properties, inherited ones and elements of composites included.",
          "Use at most \(ModelLimits.propertyCount).")
        return false
      }
      visible[index] = properties
    }
    return true
  }
}
