internal import PerdurePredicates

extension ModelValidation {
  mutating func checkIndexes() {
    var inherited: [[String: Int]] = Array(repeating: [:], count: entities.count)
    for index in ancestorsFirst() {
      var names = parents[index].map { inherited[$0] } ?? [:]
      for description in entities[index].indexes {
        checkIndex(description, in: index)
        if names.updateValue(index, forKey: description.name) != nil {
          error(
            .indexShape, entities[index].name, description.name,
            "The entity already has an index \"\(description.name)\".", "Rename one of them.")
        }
      }
      inherited[index] = names
    }
  }

  private mutating func checkIndex(_ description: FetchIndexDescription, in index: Int) {
    let entity = entities[index].name
    if !Self.isIdentifier(description.name) {
      error(
        .indexShape, entity, description.name, "\"\(description.name)\" is not a valid index name.",
        "Use letters, digits and underscores.")
    }
    if description.elements.isEmpty {
      error(.indexShape, entity, description.name, "The index has no element.", "Name a property.")
    }
    checkPartialPredicate(description, in: index)
    warnOfOneToOne(description, in: index)
    var seen: Set<String> = []
    for element in description.elements {
      if !seen.insert(element.propertyName).inserted {
        error(
          .indexShape, entity, description.name, "The index names \"\(element.propertyName)\" twice.",
          "Name it once.")
      }
      checkElement(element, of: description.name, in: index)
    }
    let counted = description.elements.map(\.propertyName).filter { name in
      isDerived(visible[index][name]?.property) && !isFunctionOfOwnText(name, in: index)
    }
    if description.elements.count > 1 || description.partialPredicate != nil, !counted.isEmpty {
      warn(
        .indexNotKept, entity, description.name,
        "No store keeps this index: it has the derived attribute \(counted.joined(separator: ", ")) together with "
          + "other elements or with a predicate.",
        "Make an index of the derived attribute alone, and another index of the other elements.")
    } else if description.elements.count == 1, let name = counted.first,
      !isKept(visible[index][name]?.property, in: index)
    {
      warn(
        .indexNotKept, entity, description.name, "No store keeps an index on the derived attribute \(name).",
        "Index counts, sums of numbers of one-to-many relationships, copies along to-one relationships, and "
          + "functions of text in the same entity.")
    }
  }

  /// Warns about an index that has several elements, one of them an end of a one-to-one
  /// relationship. Rows store only the end with the lower property number. The store assigns these
  /// numbers, so the model does not determine the end.
  private mutating func warnOfOneToOne(_ description: FetchIndexDescription, in index: Int) {
    guard description.elements.count > 1 else { return }
    for element in description.elements {
      guard case .relationship(let relationship)? = visible[index][element.propertyName]?.property,
        !relationship.isToMany, let name = relationship.inverseName,
        let destination = indicesByName[relationship.destinationEntityName],
        case .relationship(let inverse)? = visible[destination][name]?.property, !inverse.isToMany
      else { continue }
      warn(
        .indexNotKept, entities[index].name, description.name,
        "A store possibly does not keep this index: \(relationship.name) is one-to-one, and the rows of "
          + "\(relationship.destinationEntityName) may store it.",
        "Remove \(relationship.name) from the index: its object is found without an index.")
    }
  }

  /// Whether an attribute is a function of a stored text in the same entity. An index on the
  /// attribute is then an index of that function.
  private func isFunctionOfOwnText(_ name: String, in index: Int) -> Bool {
    guard case .attribute(let attribute)? = visible[index][name]?.property,
      let derivation = attribute.derivation.flatMap({ try? Derivation($0) }),
      case .text(_, let names) = derivation.form
    else { return false }
    return isText(visible[index][names.joined(separator: ".")]?.property)
  }

  /// Whether stores maintain the sum of `attribute` over the relationship `name`. The attribute
  /// must be a stored number, and the inverse of the relationship must be to-one.
  private func isSummed(_ attribute: String, over name: String, in index: Int) -> Bool {
    guard case .relationship(let relationship)? = visible[index][name]?.property,
      let inverse = relationship.inverseName,
      let destination = indicesByName[relationship.destinationEntityName],
      let back = visible[destination][inverse], case .relationship(let column) = back.property,
      !column.isToMany,
      case .attribute(let summed)? = visible[back.declaringEntity][attribute]?.property
    else { return false }
    return summed.type.isSummed && !summed.isComputed && !summed.isTransient
  }

  /// Whether stores maintain an index on the property. True for properties that are not derived.
  private func isKept(_ property: PropertyDescription?, in index: Int) -> Bool {
    guard case .attribute(let attribute)? = property,
      let derivation = attribute.derivation.flatMap({ try? Derivation($0) })
    else { return true }
    switch derivation.form {
    case .saveTime, .count: return true
    case .value(let names): return endsInStored(names, from: index)
    case .text: return false
    case .sum(let relationship, let attribute): return isSummed(attribute, over: relationship, in: index)
    }
  }

  /// Whether the source of a copy, followed through other copies, is a stored attribute. The index
  /// uses the attribute at the end of the path. Also true for a path that another check rejects.
  private func endsInStored(_ path: [String], from start: Int) -> Bool {
    var (here, names) = (start, path[...])
    // Limit the steps: a cycle of derivations has no end. `checkDerivations` reports it.
    for _ in 0...ModelLimits.derivationLength {
      let isComposite = visible[here][names.joined(separator: ".")] != nil
      guard let name = isComposite ? names.joined(separator: ".") : names.first else { return true }
      switch visible[here][name]?.property {
      case .relationship(let relationship) where names.count > 1:
        guard let next = indicesByName[relationship.destinationEntityName] else { return true }
        (here, names) = (next, names.dropFirst())
      case .attribute(let attribute):
        guard attribute.isComputed, let text = attribute.derivation else { return true }
        guard case .value(let further)? = (try? Derivation(text))?.form else { return false }
        names = further[...]
      default: return true
      }
    }
    return true
  }

  private mutating func checkElement(
    _ element: FetchIndexDescription.Element, of description: String, in index: Int
  ) {
    let entity = entities[index].name
    guard let (function, path) = element.parts else {
      error(
        .indexProperty, entity, description, "\"\(element.propertyName)\" cannot be an element of an index.",
        "Name a property, or write canonical:(name), lowercase:(name) or uppercase:(name).")
      return
    }
    let property = visible[index][path]?.property
    if !isIndexable(property) {
      error(
        .indexProperty, entity, description,
        "\"\(path)\" is not a stored attribute or to-one relationship of the entity.",
        "Correct the name.\(question(path, in: visible[index].filter { isIndexable($0.value.property) }.keys))"
      )
    } else if let function, !isText(property) {
      error(
        .indexProperty, entity, description, "\(function.rawValue) needs text, which \"\(path)\" is not.",
        "Index the attribute as it is, or one with text.")
    }
  }

  private func isText(_ property: PropertyDescription?) -> Bool {
    guard case .attribute(let attribute)? = property else { return false }
    return attribute.type == .string && attribute.derivation == nil
  }

  private func isDerived(_ property: PropertyDescription?) -> Bool {
    if case .attribute(let attribute)? = property { attribute.isComputed } else { false }
  }

  private func isIndexable(_ property: PropertyDescription?) -> Bool {
    switch property {
    case .attribute(let attribute): !attribute.isTransient
    case .relationship(let relationship): !relationship.isToMany && !relationship.isTransient
    case .composite, nil: false
    }
  }

  mutating func checkConstraints() {
    for (index, entity) in entities.enumerated() {
      var seen: Set<[String]> = []
      for constraint in entity.uniquenessConstraints {
        let place = constraint.joined(separator: ",")
        let isRepeated = !seen.insert(constraint).inserted
        if constraint.isEmpty || isRepeated || Set(constraint).count < constraint.count {
          error(
            .constraintShape, entity.name, place,
            "The constraint is empty, occurs twice, or repeats an attribute.",
            "Name each attribute once.")
        }
        for name in constraint where !isConstrainable(visible[index][name]?.property) {
          error(
            .constraintProperty, entity.name, place, "\"\(name)\" is not a stored attribute of the entity.",
            "Name attributes that are neither derived nor transient, and no relationships."
              + question(name, in: visible[index].filter { isConstrainable($0.value.property) }.keys))
        }
        for name in constraint where isTransformable(visible[index][name]?.property) {
          warn(
            .constraintOfBytes, entity.name, place,
            "\"\(name)\" is transformable, so the constraint compares bytes, not values.",
            "Remove it, unless equal values always have equal bytes.")
        }
      }
    }
  }

  private func isTransformable(_ property: PropertyDescription?) -> Bool {
    if case .attribute(let attribute)? = property { attribute.type == .transformable } else { false }
  }

  private func isConstrainable(_ property: PropertyDescription?) -> Bool {
    guard case .attribute(let attribute)? = property else { return false }
    return attribute.derivation == nil && !attribute.isTransient
  }
}

// MARK: - Whole entities

extension ModelValidation {
  mutating func checkAbstractEntities() {
    var hasConcrete = entities.map { !$0.isAbstract }
    for index in ancestorsFirst().reversed() where hasConcrete[index] {
      if let parent = parents[index] { hasConcrete[parent] = true }
    }
    for (index, entity) in entities.enumerated() where !hasConcrete[index] {
      warn(
        .abstractWithoutConcrete, entity.name, nil, "No subentity of this abstract entity can have objects.",
        "Add a concrete subentity, or make this one concrete.")
    }
  }

  mutating func checkRenaming() {
    var entityNames: Set<String> = []
    var claimed: [Set<String>] = Array(repeating: [], count: entities.count)
    for index in ancestorsFirst() {
      let entity = entities[index]
      if let name = entity.renamingIdentifier, !entityNames.insert(name).inserted {
        error(
          .renamingClash, entity.name, nil, "Two entities were called \"\(name)\".",
          "Keep the renaming identifier on one of them.")
      }
      // A store may contain the same identifier twice in a hierarchy, because an earlier version
      // allowed it.
      var propertyNames = isStored ? [] : parents[index].map { claimed[$0] } ?? []
      for property in entity.properties {
        if let name = property.renamingIdentifier, !propertyNames.insert(name).inserted {
          error(
            .renamingClash, entity.name, property.name, "Two properties were called \"\(name)\".",
            "Keep the renaming identifier on one of them.")
        }
      }
      claimed[index] = propertyNames
    }
  }
}
