import Perdure
import PerdureText

/// Texts for parts of a model.
enum ModelWords {
  /// A default value, for a cell of a table.
  static func text(_ value: DefaultValue) -> String {
    switch value {
    case .now: "now"
    case .newUUID: "new UUID"
    case .string(let value): "\"\(TextTable.cell(value, limit: 40))\""
    default: InspectedObject.Property(value).cell(limit: 40)
    }
  }

  /// A default value for JSON.
  static func json(_ value: DefaultValue) -> JSONText {
    switch value {
    case .now, .newUUID: .string(text(value))
    default: InspectedObject.Property(value).json
    }
  }

  /// An element of an index.
  static func text(_ element: FetchIndexDescription.Element) -> String {
    element.propertyName + (element.isAscending ? "" : " descending")
  }

  /// The limits of a relationship's object count, such as "0 to 1" or "2 to many".
  static func range(_ relationship: RelationshipDescription) -> String {
    let most = relationship.maxCount == 0 ? "many" : "\(relationship.maxCount)"
    let least = relationship.isOptional && relationship.minCount == 0 ? 0 : max(1, relationship.minCount)
    return "\(least)" == most ? most : "\(least) to \(most)"
  }

  /// The condition of a partial index; nil for other indexes.
  static func condition(of index: FetchIndexDescription) -> String? {
    index.partialPredicate?.predicateFormat ?? index.unreadablePartialPredicate
  }

  /// Whether the attribute is the first one of an index or of a uniqueness constraint.
  static func isIndexed(_ name: String, in entity: EntityDescription) -> Bool {
    let indexed = entity.indexes.compactMap { $0.elements.first?.propertyName }
    return (indexed + entity.uniquenessConstraints.compactMap(\.first)).contains(name)
  }
}
