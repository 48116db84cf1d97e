// The names of uniqueness constraints and indexes in messages.

internal import PerdurePredicates

extension StoreSchema {
  /// The entity that declares a uniqueness constraint, and its properties: `Person.first+last`.
  package func name(ofConstraint index: StoreIndex) -> String {
    let definition = definition(index)
    return name(of: definition, definition.components ?? [])
  }

  /// A description of an index, with its entity and its properties.
  package func title(of index: StoreIndex) -> String {
    let definition = definition(index)
    func name(_ property: UInt32) -> String {
      self.name(of: definition, [IndexComponent(property: property, kind: .absent)])
    }
    switch definition.kind {
    case .relation(let property): return "relationship \(name(property))"
    case .links(let property): return "links \(name(property))"
    case .orders(let property), .ordered(let property, _): return "order \(name(property))"
    case .linksReversed(let property, _): return "links back \(name(property))"
    case .countOrder(let property, _): return "count index \(name(property))"
    case .sums(_, let attribute, _): return "sums of \(name(attribute))"
    case .attribute(let components), .unique(let components):
      return (definition.isUnique ? "unique index " : "index ") + self.name(of: definition, components)
        + definition.conditionWords
    }
  }

  private func name(of definition: IndexDefinition, _ components: [IndexComponent]) -> String {
    // If several entities have the same concrete entities, use the topmost one: it has the fewest
    // properties.
    let declaring = entities.compactMap { $0 }
      .filter { entity in
        entity.concrete == definition.entities
          && components.allSatisfy { entity.slot(ofProperty: $0.property) != nil }
      }
      .min { $0.properties.count < $1.properties.count }
    let names = components.compactMap { component in
      declaring?.slot(ofProperty: component.property).flatMap { declaring?.properties[$0].name }
        .map { component.words($0) }
    }
    return "\(declaring?.name ?? definition.name).\(names.joined(separator: "+"))"
  }

  /// The names of the uniqueness constraints among some indexes, by the numbers of their entities.
  func constraints(among names: [String]) -> [UInt16: String] {
    var found: [UInt16: String] = [:]
    for name in names {
      guard let index = index(named: name), definition(index).isUnique else { continue }
      for entity in definition(index).entities { found[entity] = self.name(ofConstraint: index) }
    }
    return found
  }
}

extension IndexComponent {
  /// A description of the component, with the name of its property.
  func words(_ name: String) -> String {
    (function.map { "\($0.rawValue)(\(name))" } ?? name) + (isDescending ? " descending" : "")
  }
}

extension IndexDefinition {
  /// A description of the condition of a partial index.
  var conditionWords: String { condition.map { " where \($0.predicate)" } ?? "" }
}
