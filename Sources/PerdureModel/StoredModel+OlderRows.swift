// Rows of older layouts lack the properties that were added later. In these rows, the value of such
// a property is the default with which the property was added (`PropertyOrigin`). A later default
// does not affect these rows. So a property can be added only if rows can lack it, or if it has
// such a default.
//
//   OR1. A required property that a layout lacks has a default that is the same for all rows.
//   OR2. An element that is added to an optional composite has no default. With a default, older
//        rows without the composite read a part of it. If a whole composite is added, its elements
//        may have defaults, provided that all of its required elements have one.

extension StoredModel {
  /// The differences between this model and another one.
  package func differences(to newModel: ManagedObjectModel) -> [ModelDifference] {
    ModelDifference.differences(from: model, to: newModel)
  }
}

extension PropertyDescription {
  /// Whether the property can be added although older rows lack it (OR1, OR2).
  ///
  /// - Parameter isPresent: Whether the composite that contains the element has a value in all
  ///   rows.
  func canBeAdded(isPresent: Bool) -> Bool { canBeAdded && (isPresent || !hasValueInOlderRows) }

  private var canBeAdded: Bool {
    switch self {
    case .attribute(let attribute):
      attribute.isOptional || attribute.hasValueInOlderRows || attribute.isComputed
        || attribute.isTransient
    case .relationship(let relationship): relationship.isOptional || relationship.isTransient
    // If no leaf has a default, the composite is absent in older rows. Otherwise it is present, so
    // all required elements need a default.
    case .composite(let composite):
      hasValueInOlderRows ? composite.elements.allSatisfy(\.canBeAdded) : composite.isOptional
    }
  }

  /// Whether older rows read a value of the property, or of a part of it.
  private var hasValueInOlderRows: Bool {
    leaves.contains { if case .attribute(let leaf) = $0 { leaf.hasValueInOlderRows } else { false } }
  }
}

extension AttributeDescription {
  fileprivate var hasValueInOlderRows: Bool { defaultValue.map { !$0.isMade } ?? false }
}
