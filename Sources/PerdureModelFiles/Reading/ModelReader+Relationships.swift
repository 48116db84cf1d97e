import PerdureModel
import PerdurePredicates

extension ModelReader {
  mutating func relationship(_ element: ModelElement, in entity: String) -> PropertyDescription? {
    let place = Self.place(of: element, in: entity)
    checkNames(element, in: place)
    guard let name = required("name", of: element, entity) else { return nil }
    content.lines.note(line: element.line, .property, entity, name)
    guard let destination = required("destinationEntity", of: element, place) else { return nil }
    let isOptional = bool("optional", of: element, place)
    let maxCount = maxCount(element, place)
    // A required to-one relationship has at least one object. An optional relationship may be
    // empty.
    let usualMinimum = maxCount == 1 && !isOptional ? 1 : 0
    var relationship = RelationshipDescription(
      name, to: destination, inverse: text("inverseName", of: element),
      minCount: count("minCount", of: element, place) ?? usualMinimum, maxCount: maxCount,
      isOptional: isOptional, deleteRule: deleteRule(element, place))
    relationship.isOrdered = bool("ordered", of: element, place)
    relationship.isTransient = bool("transient", of: element, place)
    relationship.renamingIdentifier = text("elementID", of: element)
    relationship.versionHashModifier = text("versionHashModifier", of: element)
    relationship.userInfo = userInfo(element, place)
    checkInverse(element, place)
    return .relationship(relationship)
  }

  /// The maximum count, with 0 for no limit. `toMany` and `maxCount` must agree.
  private mutating func maxCount(_ element: ModelElement, _ place: String) -> Int {
    let isToMany = bool("toMany", of: element, place)
    guard let count = count("maxCount", of: element, place) else { return isToMany ? 0 : 1 }
    if isToMany == (count != 1) { return count }
    error(
      .contradiction, at: element, attribute: "maxCount", in: place,
      isToMany
        ? "The relationship is to-many, but its greatest count is 1."
        : "The relationship is to-one, but its greatest count is \(count).",
      isToMany ? "Remove toMany or maxCount." : "Write toMany=\"YES\" or maxCount=\"1\".")
    return count
  }

  mutating func count(_ attribute: String, of element: ModelElement, _ place: String) -> Int? {
    guard let text = text(attribute, of: element) else { return nil }
    if let count = Int(text) { return count }
    error(
      .value, at: element, attribute: attribute, in: place,
      "The value \"\(text.prefix(40))\" of \(attribute) is not a count.", "Write a whole number.")
    return nil
  }

  private mutating func deleteRule(_ element: ModelElement, _ place: String) -> DeleteRule {
    guard let text = text("deletionRule", of: element) else { return .nullify }
    if let rule = DeleteRule.allCases.first(where: { $0.fileName == text }) { return rule }
    let names = DeleteRule.allCases.map(\.fileName)
    error(
      .value, at: element, attribute: "deletionRule", in: place, "\"\(text)\" is not a delete rule.",
      "Use one of \(names.joined(separator: ", ")).\(NearMisses.question(text, in: names))")
    return .nullify
  }

  /// Checks `inverseName` and `inverseEntity` against each other and against the destination.
  /// Perdure looks up the inverse in the destination and its ancestors. The rules of models check
  /// the inverse.
  private mutating func checkInverse(_ element: ModelElement, _ place: String) {
    let (name, entity) = (text("inverseName", of: element), text("inverseEntity", of: element))
    if name == nil, let entity {
      error(
        .missing, at: element, attribute: "inverseEntity", in: place,
        "The relationship has an inverse in \"\(entity)\" without a name.",
        "Write inverseName=\"…\", or remove inverseEntity.")
    } else if name != nil, entity != element["destinationEntity"] {
      warning(
        .contradiction, at: element, attribute: "inverseEntity", in: place,
        "inverseEntity is not the destination \"\(element["destinationEntity"] ?? "")\", where the inverse is looked up.",
        "Write the name of the destination.")
    }
  }
}
