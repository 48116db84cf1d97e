import PerdureModel
import PerdurePredicates

extension ModelReader {
  /// - Parameter owner: The entity or composite that contains the attribute.
  mutating func attribute(_ element: ModelElement, in owner: String) -> PropertyDescription? {
    let place = Self.place(of: element, in: owner)
    checkNames(element, in: place)
    guard let name = required("name", of: element, owner) else { return nil }
    content.lines.note(line: element.line, .property, owner, name)
    if element["attributeType"] == "Composite" { return composite(element, name, in: owner) }
    let type = attributeType(element, place)
    var info = userInfo(element, place)
    var attribute = AttributeDescription(name, type, isOptional: bool("optional", of: element, place))
    attribute.isTransient = bool("transient", of: element, place)
    attribute.renamingIdentifier = text("elementID", of: element)
    attribute.versionHashModifier = text("versionHashModifier", of: element)
    attribute.derivation = derivation(element, place)
    attribute.rules = rules(element, type, at: place, &info)
    attribute.defaultValue = defaultValue(element, type, at: place, &info)
    attribute.valueTransformerName = transformerName(element, attribute, place, &info)
    attribute.userInfo = info
    checkStorage(element, attribute, place)
    return .attribute(attribute)
  }

  private mutating func attributeType(_ element: ModelElement, _ place: String) -> AttributeType {
    guard let name = text("attributeType", of: element) else { return .undefined }
    if let type = AttributeType.byFileName[name] { return type }
    error(
      .value, at: element, attribute: "attributeType", in: place, "\"\(name)\" is not a type of attributes.",
      "Use a type of Xcode's editor.\(NearMisses.question(name, in: AttributeType.byFileName.keys))")
    return .undefined
  }

  private mutating func derivation(_ element: ModelElement, _ place: String) -> String? {
    let isDerived = bool("derived", of: element, place)
    let expression = text("derivationExpression", of: element)
    if isDerived, expression == nil {
      error(
        .missing, at: element, in: place, "The attribute is derived, but has no expression.",
        "Write derivationExpression=\"…\".")
    }
    if !isDerived, expression != nil {
      warning(
        .unused, at: element, attribute: "derivationExpression", in: place,
        "The attribute has a derivation, but is not derived.",
        "Write derived=\"YES\", or remove the derivation; it is not used.")
    }
    return isDerived ? expression : nil
  }

  /// The transformer that the file names. A stored transformable attribute without one uses secure
  /// archives, as in Core Data, unless its user info states that it has no transformer.
  private mutating func transformerName(
    _ element: ModelElement, _ attribute: AttributeDescription, _ place: String,
    _ info: inout [String: String]
  ) -> String? {
    if let name = text("valueTransformerName", of: element) { return name }
    if info[ExtensionKey.transformer] == ExtensionKey.noTransformer {
      info[ExtensionKey.transformer] = nil
      return nil
    }
    guard attribute.type == .transformable, !attribute.isTransient else { return nil }
    let name = AttributeDescription.secureArchiveTransformerName
    warning(
      .transformer, at: element, in: place, "The transformable attribute names no value transformer.",
      "Name \(name), which is used, and register KeyedArchiveTransformer with the classes of its values.")
    return name
  }

  private mutating func checkStorage(
    _ element: ModelElement, _ attribute: AttributeDescription, _ place: String
  ) {
    let isScalar = bool("usesScalarValueType", of: element, place)
    if isScalar, attribute.isOptional, attribute.type.isScalar, attribute.derivation == nil {
      note(
        .scalar, at: element, attribute: "usesScalarValueType", in: place,
        "The number is optional and scalar, so code for Core Data reads 0 for an absent value.",
        "Make it required, or do not use the scalar type.")
    }
  }

  // MARK: Defaults

  private mutating func defaultValue(
    _ element: ModelElement, _ type: AttributeType, at place: String, _ info: inout [String: String]
  ) -> DefaultValue? {
    if let text = info.removeValue(forKey: ExtensionKey.defaultValue) {
      return extendedDefault(text, element, type, at: place)
    }
    let source =
      type == .date && element["defaultDateTimeInterval"] != nil
      ? "defaultDateTimeInterval" : "defaultValueString"
    guard let text = element[source], !text.isEmpty || type == .string else { return nil }
    let isExpressible = type != .binary && type != .transformable
    if isExpressible, let value = ModelText.value(text, type) { return value }
    let message = "The default \"\(text.prefix(40))\" is not a value of the type \(type)."
    // After a change of the type, Xcode keeps the default of the earlier type, but does not use it.
    if !isExpressible || [.uuid, .undefined, .objectID].contains(type) {
      warning(.unused, at: element, attribute: source, in: place, message, "Remove it: it is not used.")
    } else {
      error(
        .value, at: element, attribute: source, in: place, message,
        "Write a value of the attribute's type and range.")
    }
    return nil
  }

  private mutating func extendedDefault(
    _ text: String, _ element: ModelElement, _ type: AttributeType, at place: String
  ) -> DefaultValue? {
    switch (text, type) {
    case ("now", .date): return .now
    case ("newUUID", .uuid): return .newUUID
    case (_, .binary), (_, .transformable):
      if let value = ModelText.value(text, type) { return value }
    default: break
    }
    error(
      .value, at: element, in: place,
      "The user info \(ExtensionKey.defaultValue) is not a default for the type \(type).",
      "Write now for a date, newUUID for a UUID, or bytes in base 64.")
    return nil
  }

  // MARK: Rules

  private mutating func rules(
    _ element: ModelElement, _ type: AttributeType, at place: String, _ info: inout [String: String]
  ) -> [ValidationRule] {
    var rules: [ValidationRule] = []
    let isDate = type == .date
    let bounds = [
      (isDate ? "minDateTimeInterval" : "minValueString", true),
      (isDate ? "maxDateTimeInterval" : "maxValueString", false),
    ]
    for (attribute, isMinimum) in bounds {
      guard let text = text(attribute, of: element) else { continue }
      if let rule = Self.bound(text, type, isMinimum) {
        rules.append(rule)
      } else if isDate || type.hasNumberBounds || type.hasLengthBounds {
        error(
          .value, at: element, attribute: attribute, in: place,
          "The bound \"\(text.prefix(40))\" of \(attribute) does not fit the type \(type).",
          type.hasLengthBounds ? "Write a length." : "Write a value of the attribute's type and range.")
      } else {
        warning(
          .unused, at: element, attribute: attribute, in: place,
          "Values of the type \(type) have no bounds.",
          "Remove \(attribute): it is not used.")
      }
    }
    if let pattern = text("regularExpressionString", of: element) { rules.append(.pattern(pattern)) }
    return rules + predicates(element, place, &info)
  }

  private static func bound(_ text: String, _ type: AttributeType, _ isMinimum: Bool) -> ValidationRule? {
    if type.hasLengthBounds {
      guard let length = ModelText.integer(text).flatMap({ Int(exactly: $0) }), length >= 0 else {
        return nil
      }
      return isMinimum ? .minimumLength(length) : .maximumLength(length)
    }
    guard type.hasNumberBounds || type == .date, let value = ModelText.value(text, type) else { return nil }
    return isMinimum ? .minimum(value) : .maximum(value)
  }

  /// The rules that the attributes of the format cannot express. They are read from the user info.
  private mutating func predicates(
    _ element: ModelElement, _ place: String, _ info: inout [String: String]
  ) -> [ValidationRule] {
    var rules: [ValidationRule] = []
    while let text = info.removeValue(forKey: "\(ExtensionKey.predicate)\(rules.count + 1)") {
      let message = info.removeValue(forKey: "\(ExtensionKey.message)\(rules.count + 1)") ?? ""
      do {
        rules.append(.predicate(try FetchPredicate(format: text), message: message))
      } catch let cause {
        error(
          .predicate, at: element, in: place, "The predicate of a validation rule cannot be parsed. \(cause)",
          "Correct the user info \(ExtensionKey.predicate)\(rules.count + 1).")
        return rules
      }
    }
    return rules
  }
}
