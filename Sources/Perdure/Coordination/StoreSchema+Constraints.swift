// Uniqueness constraints as their authors know them.

extension StoreSchema {
  /// The entity that declares a uniqueness constraint, and its properties: `Person.first+last`.
  package func name(ofConstraint index: StoreIndex) -> String {
    let definition = definition(index)
    let properties = (definition.components ?? []).map(\.property)
    // Of entities with the same objects the one highest up: it has the fewest properties.
    let declaring = entities.compactMap { $0 }
      .filter { entity in
        entity.concrete == definition.entities
          && properties.allSatisfy { entity.slot(ofProperty: $0) != nil }
      }
      .min { $0.properties.count < $1.properties.count }
    let names = properties.compactMap { number in
      declaring?.slot(ofProperty: number).flatMap { declaring?.properties[$0].name }
    }
    return "\(declaring?.name ?? definition.name).\(names.joined(separator: "+"))"
  }

  /// The uniqueness constraints among indexes given by name, by the numbers of the entities that they are about.
  func constraints(among names: [String]) -> [UInt16: String] {
    var found: [UInt16: String] = [:]
    for name in names {
      guard let index = index(named: name), definition(index).isUnique else { continue }
      for entity in definition(index).entities { found[entity] = self.name(ofConstraint: index) }
    }
    return found
  }
}
