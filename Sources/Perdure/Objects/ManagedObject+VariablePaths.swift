public import PerdurePredicates

// The values of paths that follow a variable of a predicate, if the variable's value is an object:
// `$FETCH_SOURCE.name`.

extension ManagedObject {
  /// The value at the end of a path of properties. This is the value of an attribute, the identity
  /// of an object, or the identities of the objects of a to-many relationship.
  ///
  /// - Parameter names: The names of the path. The elements of a composite attribute are names too.
  /// - Returns: Nil if the entities do not have these properties, or the path continues after a
  ///   to-many relationship or an attribute. Also nil for a transient attribute of undefined type.
  ///   `.null` if a to-one relationship on the path has no object.
  /// - Complexity: O(n²) in the number of names. Reads a row for each relationship of the path.
  public func argumentValue(atPath names: [String]) -> Value? {
    var (object, shape): (ManagedObject?, EntityShape) = (self, shape)
    for (place, name) in names.enumerated() {
      // The path of an element of a composite is the name of one property.
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
