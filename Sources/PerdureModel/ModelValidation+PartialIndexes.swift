internal import PerdurePredicates

extension ModelValidation {
  /// Checks the predicate of a partial index. A stored predicate is not checked: a later version of
  /// Perdure may have written it. If this version cannot read it, the schema omits the index
  /// (`SchemaResolution`).
  mutating func checkPartialPredicate(_ description: FetchIndexDescription, in index: Int) {
    if isStored { return }
    let entity = entities[index].name
    let text = description.unreadablePartialPredicate ?? description.partialPredicate?.predicateFormat
    do {
      if let text { _ = try FetchPredicate(format: text) }
    } catch let reason {
      error(
        .indexPredicate, entity, description.name,
        "The predicate \(text ?? "") cannot be read from its text. \(reason)",
        "Correct the predicate, or remove it.")
      return
    }
    guard let predicate = description.partialPredicate else { return }
    let columns = visible[index].compactMapValues { column($0.property) }
    let checked = PartialPredicate { columns[$0] }
    if let flaw = checked.flaw(in: predicate.simplified()) {
      error(.indexPredicate, entity, description.name, flaw.message, flaw.remedy)
    }
  }

  private func column(_ property: PropertyDescription) -> PartialPredicate.Column? {
    PartialPredicate.Column(property) { relationship in
      guard let name = relationship.inverseName,
        let entity = indicesByName[relationship.destinationEntityName],
        case .relationship(let inverse)? = visible[entity][name]?.property
      else { return nil }
      return inverse
    }
  }
}

extension PartialPredicate.Column {
  /// - Parameter inverse: Returns the inverse of a relationship. If both ends are to-one, the store
  ///   chooses the end that rows store, so neither end can be used.
  init?(_ property: PropertyDescription, inverse: (RelationshipDescription) -> RelationshipDescription?) {
    switch property {
    case .attribute(let attribute):
      if attribute.isTransient || attribute.isComputed { return nil }
      self = .attribute(attribute.type)
    case .relationship(let relationship):
      if relationship.isToMany || relationship.isTransient || inverse(relationship)?.isToMany == false {
        return nil
      }
      self = .reference
    case .composite: return nil
    }
  }
}
