extension ModelValidation {
  mutating func checkAttributes() {
    for (index, entity) in entities.enumerated() {
      for case .attribute(let attribute) in entity.slotted {
        checkDefault(attribute, entity.name)
        if let derivation = attribute.derivation {
          checkDerivation(derivation, of: attribute, in: index)
        }
        if attribute.type == .undefined, !attribute.isTransient {
          error(
            .undefinedType, entity.name, attribute.name, "Values of the type undefined cannot be stored.",
            "Give the attribute a type, or make it transient.")
        }
        checkTransformer(attribute, entity.name)
        checkRules(attribute, entity.name)
      }
    }
  }

  private mutating func checkDefault(_ attribute: AttributeDescription, _ entity: String) {
    guard let value = attribute.defaultValue else { return }
    if value.converted(to: attribute.type) == nil {
      error(
        .defaultType, entity, attribute.name, "The default \(value) is no \(attribute.type).",
        "Give a value of the attribute's type and range.")
    }
    if value.isMade, attribute.isTransient {
      error(
        .defaultType, entity, attribute.name,
        "A transient attribute has a default that is made for each object.",
        "Give it a constant, or set it in awakeFromInsert.")
    }
  }

  private mutating func checkTransformer(_ attribute: AttributeDescription, _ entity: String) {
    if let name = attribute.valueTransformerName, !isStored {
      error(
        .valueTransformer, entity, attribute.name,
        "The value transformer \"\(name)\" has nothing to do with values of the type \(attribute.type).",
        "Leave the name away.")
    }
  }

  private mutating func checkDerivation(
    _ derivation: String, of attribute: AttributeDescription, in index: Int
  ) {
    let entity = entities[index].name
    if attribute.isTransient {
      error(
        .derivation, entity, attribute.name, "A derived attribute is transient.",
        "Remove one of the two: what is derived takes no room in rows either.")
    }
    guard let name = Derivation.countedRelationship(derivation) else {
      error(
        .derivation, entity, attribute.name, "The derivation \"\(derivation)\" is not supported.",
        "Write the name of a to-many relationship of the entity, followed by \".@count\".")
      return
    }
    if case .relationship(let relationship)? = visible[index][name]?.property, relationship.isToMany {
    } else {
      error(
        .derivation, entity, attribute.name,
        "The derivation counts \"\(name)\", which is no to-many relationship of the entity.",
        "Correct the name, or declare the relationship.")
    }
    if !attribute.type.isInteger {
      error(
        .derivation, entity, attribute.name, "A count is a whole number, not \(attribute.type).",
        "Make the attribute int64.")
    }
    if attribute.defaultValue != nil {
      error(
        .derivation, entity, attribute.name, "A derived attribute has a default value.",
        "Remove the default: the value follows from the relationship.")
    }
  }
}

/// The text of a derivation, taken apart.
package enum Derivation {
  /// The relationship that `text` counts, or nil when `text` is anything but `relationship.@count`.
  package static func countedRelationship(_ text: String) -> String? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[1] == "@count", ModelValidation.isIdentifier(String(parts[0])) else {
      return nil
    }
    return String(parts[0])
  }
}
