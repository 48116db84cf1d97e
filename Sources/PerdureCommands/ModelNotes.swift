import Perdure
import PerdureText

/// Sentences about an entity for human readers, for data that has no column in the tables.
enum ModelNotes {
  static let lengthMax = 200

  static func notes(of entity: EntityDescription, configurations: [String]) -> [String] {
    let unique = entity.uniquenessConstraints.map { "unique: \($0.joined(separator: ", "))" }
    let indexes = entity.indexes.map { index in
      let condition = ModelWords.condition(of: index).map { ", where \($0)" } ?? ""
      return "index \(index.name): \(index.elements.map(ModelWords.text).joined(separator: ", "))\(condition)"
    }
    let fetched = entity.fetchedProperties.map(RequestText.note)
    let properties = entity.properties.flatMap(\.parts)
    let rules = properties.flatMap { property -> [String] in
      guard case .attribute(let attribute) = property else { return [] }
      return attribute.rules.map { "\(attribute.name) \($0)" }
        + (attribute.valueTransformerName.map { ["\(attribute.name) uses the transformer \($0)"] } ?? [])
    }
    let names = properties.compactMap { property in
      property.renamingIdentifier.map { "\(property.name) was called \($0)" }
    }
    let infos = properties.flatMap { info(of: $0.name, $0.userInfo) }
    let own =
      (entity.renamingIdentifier.map { ["\(entity.name) was called \($0)"] } ?? [])
      + info(of: entity.name, entity.userInfo)
      + (configurations.isEmpty ? [] : ["in configurations \(configurations.joined(separator: ", "))"])
    return (unique + indexes + fetched + rules + names + infos + own).map {
      TextTable.cell($0, limit: lengthMax)
    }
  }

  private static func info(of name: String, _ userInfo: [String: String]) -> [String] {
    userInfo.sorted { $0.key < $1.key }.map { "user info of \(name): \($0.key) = \($0.value)" }
  }
}
