public import PerdurePredicates

// Paths behind a variable of a predicate that an object is put in the place of: `$FETCH_SOURCE.name`.

extension ManagedObject {
  /// What a path of properties leads to: the value of an attribute, the identity of an object, or
  /// those of the objects of a to-many relationship. Nil where the entities do not have these
  /// properties, or a to-many relationship is on the way.
  public func argumentValue(atPath names: [String]) -> Value? {
    var (object, shape): (ManagedObject?, EntityShape) = (self, shape)
    for (place, name) in names.enumerated() {
      // The path of a part of a composite is the name of one property.
      let rest = names[place...].joined(separator: ".")
      if let slot = shape.schema.slot(named: rest) {
        return object.map { $0.argumentValue(slot) } ?? .null
      }
      guard let slot = shape.schema.slot(named: name), shape.isRelationship(slot),
        !shape.relationship(slot).isToMany
      else { return nil }
      object = object?.related(slot)
      shape = object?.shape ?? core.graph.shape(numbered: shape.relationship(slot).destination)
    }
    return nil
  }

  private func argumentValue(_ slot: Int) -> Value? {
    guard shape.isRelationship(slot) else {
      if case .transient(.undefined, _) = shape.properties[slot] { return nil }
      return attributeValue(slot)
    }
    if shape.relationship(slot).isToMany {
      return .list(relatedReferences(slot).map { core.graph.shown(.reference($0)) })
    }
    return related(slot)?.predicateValue ?? .null
  }
}
