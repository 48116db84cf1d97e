internal import PerdurePredicates

extension ModelValidation {
  /// Errors of an index's predicate. The predicate of a stored model may be one that a later
  /// version allows: then the index is not kept (`SchemaResolution`).
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
  /// - Parameter inverse: The other end of a relationship. Of two to-one ends a store chooses the
  ///   one that is in rows.
  init?(_ property: PropertyDescription, inverse: (RelationshipDescription) -> RelationshipDescription?) {
    switch property {
    case .attribute(let attribute):
      if attribute.isTransient || attribute.derivation != nil { return nil }
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
