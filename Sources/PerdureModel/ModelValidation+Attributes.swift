internal import PerdurePredicates

extension ModelValidation {
  mutating func checkAttributes() {
    for entity in entities {
      for case .attribute(let attribute) in entity.slotted {
        checkDefault(attribute, entity.name)
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
    if attribute.isOptional, attribute.derivation == nil {
      warn(
        .optionalWithDefault, entity, attribute.name,
        "The attribute may have no value, and every new object has its default.",
        "Make it required or remove the default, unless an absent value has its own meaning.")
    }
    if value.converted(to: attribute.type) == nil {
      error(
        .defaultType, entity, attribute.name,
        "The default \("\(value)".shortened) is not a value of the type \(attribute.type).",
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
    if let name = attribute.valueTransformerName, attribute.type != .transformable, !isStored {
      error(
        .valueTransformer, entity, attribute.name,
        "Values of the type \(attribute.type) cannot have the value transformer \"\(name)\".",
        "Remove the transformer, or make the attribute transformable.")
    }
  }
}
