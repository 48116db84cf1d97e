import Perdure
import PerdureText

/// A model as tables for human readers.
enum ModelTables {
  /// The tables as text.
  ///
  /// - Parameter title: Styles the line above the tables of an entity.
  static func lines(
    _ model: ManagedObjectModel, _ entities: [EntityDescription], title: (String) -> String
  ) -> [String] {
    [summary(of: model)]
      + entities.flatMap { entity -> [String] in
        let tables = tables(of: entity).map { table in
          TextTable.lines(table, alignments: table.first?.map { _ in .leading } ?? [])
        }
        let parts = (tables + [notes(of: entity)]).filter { !$0.isEmpty }
        return ["", title(heading(of: entity))]
          + parts.joined(separator: [""]).map { $0 == "" ? "" : "  " + $0 }
      }
  }

  /// The tables in Markdown, for documents.
  static func markdown(_ model: ManagedObjectModel, _ entities: [EntityDescription]) -> [String] {
    [summary(of: model)]
      + entities.flatMap { entity -> [String] in
        let tables = tables(of: entity).flatMap { table in
          [""] + TextTable.markdown(table, alignments: table.first?.map { _ in .leading } ?? [])
        }
        let notes = notes(of: entity).map { "- " + $0 }
        return ["", "## " + heading(of: entity)] + tables + (notes.isEmpty ? [] : [""] + notes)
      }
  }

  private static func summary(of model: ManagedObjectModel) -> String {
    let versions = model.versionIdentifiers.sorted().joined(separator: ", ")
    return "\(counted(model.entities.count, "entity", plural: "entities")), version hash "
      + String(model.versionHash, radix: 16) + (versions.isEmpty ? "" : ", versions \(versions)")
      + (model.configurations.isEmpty
        ? "" : ", configurations \(model.configurations.joined(separator: ", "))")
  }

  private static func heading(of entity: EntityDescription) -> String {
    let parent = entity.superentityName.map { ": \($0)" } ?? ""
    let className = entity.managedObjectClassName
    return entity.name + parent + (entity.isAbstract ? ", abstract" : "")
      + (className == entity.name ? "" : ", class \(className)")
  }

  /// The table of the attributes and the table of the relationships, without empty tables.
  private static func tables(of entity: EntityDescription) -> [[[String]]] {
    let properties = entity.slotted
    let attributes = properties.compactMap { property -> [String]? in
      if case .attribute(let attribute) = property { row(attribute, of: entity) } else { nil }
    }
    let relationships = properties.compactMap { property -> [String]? in
      if case .relationship(let relationship) = property { row(relationship) } else { nil }
    }
    let headers = [
      ["attribute", "type", "optional", "default", "derived", "transient", "indexed"],
      ["relationship", "leads to", "inverse", "objects", "optional", "delete rule", "ordered", "transient"],
    ]
    return zip(headers, [attributes, relationships]).compactMap { $1.isEmpty ? nil : [$0] + $1 }
  }

  private static func row(_ attribute: AttributeDescription, of entity: EntityDescription) -> [String] {
    [
      attribute.name, "\(attribute.type)", mark(attribute.isOptional),
      attribute.defaultValue.map(ModelWords.text) ?? "",
      attribute.derivation ?? "", mark(attribute.isTransient),
      mark(ModelWords.isIndexed(attribute.name, in: entity)),
    ]
  }

  private static func row(_ relationship: RelationshipDescription) -> [String] {
    [
      relationship.name, relationship.destinationEntityName, relationship.inverseName ?? "",
      ModelWords.range(relationship), mark(relationship.isOptional),
      "\(relationship.deleteRule)", mark(relationship.isOrdered), mark(relationship.isTransient),
    ]
  }

  private static func mark(_ holds: Bool) -> String { holds ? "yes" : "" }

  private static func notes(of entity: EntityDescription) -> [String] {
    let unique = entity.uniquenessConstraints.map { "unique: \($0.joined(separator: ", "))" }
    let indexes = entity.indexes.map { index in
      let condition = ModelWords.condition(of: index).map { ", where \($0)" } ?? ""
      return "index \(index.name): \(index.elements.map(ModelWords.text).joined(separator: ", "))\(condition)"
    }
    let rules = entity.slotted.flatMap { property -> [String] in
      guard case .attribute(let attribute) = property else { return [] }
      return attribute.rules.map { "\(attribute.name) \($0)" }
    }
    return unique + indexes + rules.map { TextTable.cell($0, limit: 200) }
  }
}

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

  /// The condition of a partial index.
  static func condition(of index: FetchIndexDescription) -> String? {
    index.partialPredicate?.predicateFormat ?? index.unreadablePartialPredicate
  }

  /// Whether the attribute is the first one of an index or of a uniqueness constraint.
  static func isIndexed(_ name: String, in entity: EntityDescription) -> Bool {
    let indexed = entity.indexes.compactMap { $0.elements.first?.propertyName }
    return (indexed + entity.uniquenessConstraints.compactMap(\.first)).contains(name)
  }
}
