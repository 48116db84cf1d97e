// Uniqueness constraints and indexes as their authors know them.

extension StoreSchema {
  /// The entity that declares a uniqueness constraint, and its properties: `Person.first+last`.
  package func name(ofConstraint index: StoreIndex) -> String {
    let definition = definition(index)
    return name(of: definition, (definition.components ?? []).map { ($0.property, false) })
  }

  /// An index in words, with the entity and the properties that it is about.
  package func title(of index: StoreIndex) -> String {
    let definition = definition(index)
    switch definition.kind {
    case .relation(let property): return "relationship \(name(of: definition, [(property, false)]))"
    case .links(let property): return "links \(name(of: definition, [(property, false)]))"
    case .linksReversed(let property, _): return "links back \(name(of: definition, [(property, false)]))"
    case .countOrder(let property, _): return "count index \(name(of: definition, [(property, false)]))"
    case .sums(_, let attribute): return "sums of \(name(of: definition, [(attribute, false)]))"
    case .attribute(let components), .unique(let components):
      return (definition.isUnique ? "unique index " : "index ")
        + name(of: definition, components.map { ($0.property, $0.isDescending) })
    }
  }

  private func name(
    of definition: IndexDefinition, _ components: [(property: UInt32, isDescending: Bool)]
  ) -> String {
    let properties = components.map(\.property)
    // Of entities with the same objects the one highest up: it has the fewest properties.
    let declaring = entities.compactMap { $0 }
      .filter { entity in
        entity.concrete == definition.entities
          && properties.allSatisfy { entity.slot(ofProperty: $0) != nil }
      }
      .min { $0.properties.count < $1.properties.count }
    let names = components.compactMap { component in
      declaring?.slot(ofProperty: component.property).flatMap { declaring?.properties[$0].name }
        .map { $0 + (component.isDescending ? " descending" : "") }
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
