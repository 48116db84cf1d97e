import PerdureModel
import PerdurePredicates

extension ElementMaker {
  mutating func attribute(_ attribute: AttributeDescription, in owner: String) -> ModelElement {
    let type = attribute.type
    var info = attribute.userInfo
    if let key = info.keys.sorted().first(where: { $0.hasPrefix(ExtensionKey.prefix) }) {
      refuse(
        "\(owner).\(attribute.name)", "The user info has the reserved key \"\(key)\".",
        "Use a key that does not begin with \(ExtensionKey.prefix)")
    }
    if type == .transformable, attribute.valueTransformerName == nil, !attribute.isTransient {
      info[ExtensionKey.transformer] = ExtensionKey.noTransformer
    }
    let bounds = bounds(attribute, in: owner, &info)
    let value = defaultText(attribute, &info)
    let isDate = type == .date
    return ModelElement(
      "attribute",
      [
        ("name", attribute.name), ("optional", yes(attribute.isOptional)),
        ("transient", yes(attribute.isTransient)), ("attributeType", type.fileName),
        ("valueTransformerName", attribute.valueTransformerName),
        ("minValueString", isDate ? nil : bounds.least), ("minDateTimeInterval", isDate ? bounds.least : nil),
        ("defaultDateTimeInterval", isDate ? value : nil),
        ("maxDateTimeInterval", isDate ? bounds.most : nil),
        ("derived", yes(attribute.derivation != nil)), ("maxValueString", isDate ? nil : bounds.most),
        ("regularExpressionString", bounds.pattern), ("derivationExpression", attribute.derivation),
        ("defaultValueString", isDate ? nil : value), ("usesScalarValueType", scalar(attribute)),
        ("elementID", attribute.renamingIdentifier), ("versionHashModifier", attribute.versionHashModifier),
      ], Self.userInfo(info))
  }

  /// The value of `usesScalarValueType`; nil for types that never have it. Only required numbers
  /// and truth values are scalar, so that no absent value is read as 0.
  private func scalar(_ attribute: AttributeDescription) -> String? {
    switch attribute.type {
    case .date, .uuid: "NO"
    case let type where type.isScalar: attribute.isOptional ? "NO" : "YES"
    default: nil
    }
  }

  private func defaultText(_ attribute: AttributeDescription, _ info: inout [String: String]) -> String? {
    guard let value = attribute.defaultValue else { return nil }
    switch value {
    case .now: info[ExtensionKey.defaultValue] = "now"
    case .newUUID: info[ExtensionKey.defaultValue] = "newUUID"
    case .data: info[ExtensionKey.defaultValue] = ModelText.text(of: value, attribute.type)
    default: return ModelText.text(of: value, attribute.type)
    }
    return nil
  }

  private struct Bounds {
    var least: String?
    var most: String?
    var pattern: String?
  }

  /// The rules for which the format has attributes. Predicates are added to the user info.
  private mutating func bounds(
    _ attribute: AttributeDescription, in owner: String, _ info: inout [String: String]
  ) -> Bounds {
    var bounds = Bounds()
    var predicateCount = 0
    for rule in attribute.rules {
      switch rule {
      case .minimum(let value):
        set(&bounds.least, ModelText.text(of: value, attribute.type), "\(owner).\(attribute.name)")
      case .maximum(let value):
        set(&bounds.most, ModelText.text(of: value, attribute.type), "\(owner).\(attribute.name)")
      case .minimumLength(let count): set(&bounds.least, "\(count)", "\(owner).\(attribute.name)")
      case .maximumLength(let count): set(&bounds.most, "\(count)", "\(owner).\(attribute.name)")
      case .pattern(let pattern): set(&bounds.pattern, pattern, "\(owner).\(attribute.name)")
      case .predicate(let predicate, let message):
        predicateCount += 1
        info["\(ExtensionKey.predicate)\(predicateCount)"] = predicate.predicateFormat
        if !message.isEmpty { info["\(ExtensionKey.message)\(predicateCount)"] = message }
      // Only models that are read from a store have such a rule.
      case .unreadablePredicate: break
      }
    }
    return bounds
  }

  private mutating func set(_ bound: inout String?, _ value: String?, _ place: String) {
    if bound != nil {
      refuse(
        place, "The attribute has two rules of the same kind, but a file has one.",
        "Combine them, or use a predicate.")
    }
    bound = value
  }
}
