// What objects of older layouts have of the properties that their rows lack: the default values of the model that is there
// now, for nothing of them is stored. So an addition is taken on only where they can do without, and so is another
// default: what they had by the one that was there they must have by the next.
//
//   O1. A required property that a layout lacks has a default that is the same for all.
//   O2. What is added to a composite that objects may be without has none: alone it would be half a value. A composite
//       that a layout lacks as a whole may come to have one, if all of it has.

extension StoredModel {
  /// What adopting a model would change, and whether a store takes it on: as the models differ, and by the rows that the
  /// store may have.
  package func differences(to newModel: ManagedObjectModel) -> [ModelDifference] {
    let differences = ModelDifference.differences(from: model, to: newModel)
    return differences + lostDefaults(newModel, besides: differences.filter { !$0.isCompatible })
  }

  /// Where objects of older layouts could be saved, and cannot with the defaults of another model.
  ///
  /// - Parameter others: What speaks against the other model besides.
  private func lostDefaults(
    _ newModel: ManagedObjectModel, besides others: [ModelDifference]
  ) -> [ModelDifference] {
    var lost: [ModelDifference] = []
    for layout in layouts {
      guard let index = entityIndex(numbered: layout.entityNumber), !model.entities[index].isAbstract
      else { continue }
      let listed = Set(layout.propertyNumbers)
      for declaring in model.schemas[index].lineage.reversed() {
        let entity = model.entities[declaring]
        guard let newEntity = newModel.entitiesByName[entity.name] else { continue }
        let names = zip(entity.slotted.map(\.name), entries[declaring].propertyNumbers)
        let there = Set(names.filter { listed.contains($0.1) }.map(\.0))
        let before = entity.properties.misfits(beside: there).map(\.path)
        for (path, message) in newEntity.properties.misfits(beside: there)
        where !before.contains(path) && entity.hasProperty(at: path) {
          let difference = ModelDifference(
            kind: .defaultChanged, entity: entity.name, property: path, isCompatible: false, message: message)
          let isKnown = (others + lost).contains {
            $0.entity == entity.name && ($0.property.map { $0 == path || $0.hasPrefix("\(path).") } ?? false)
          }
          if !isKnown { lost.append(difference) }
        }
      }
    }
    return lost
  }
}

extension EntityDescription {
  /// Whether a path leads to a property that the entity declares, a composite among them or a part of one.
  fileprivate func hasProperty(at path: String) -> Bool {
    slotted.contains { $0.name == path || $0.name.hasPrefix("\(path).") }
  }
}

extension [PropertyDescription] {
  /// What rows cannot do without that have only some of the leaves (O1, O2), and why.
  ///
  /// - Parameter there: The paths of the leaves that the rows have.
  /// - Parameter isPresent: Whether what has the properties has a value in every row.
  fileprivate func misfits(
    beside there: Set<String>, behind prefix: String = "", isPresent: Bool = true
  ) -> [(path: String, message: String)] {
    flatMap { property -> [(path: String, message: String)] in
      let path = prefix + property.name
      let leaves = property.leaves.map { prefix + $0.name }
      let count = leaves.count(where: there.contains)
      if count == leaves.count { return [] }
      if count > 0, case .composite(let composite) = property {
        return composite.elements.misfits(
          beside: there, behind: "\(path).", isPresent: isPresent && !composite.isOptional)
      }
      if property.canBeAdded(isPresent: isPresent) { return [] }
      return [
        (
          path,
          isPresent
            ? "Objects that are older than the property have its default, and would have nothing that a save takes: "
              + "keep the default that it had, or another one that is the same for all."
            : "Objects that are older than the element may be without its composite, and would have half of one: "
              + "leave the default away."
        )
      ]
    }
  }
}

extension PropertyDescription {
  /// Whether rows that lack the property can do without (O1, O2).
  ///
  /// - Parameter isPresent: Whether what has the property has a value in every one of them.
  func canBeAdded(isPresent: Bool) -> Bool { canBeAdded && (isPresent || !hasValueInOlderRows) }

  private var canBeAdded: Bool {
    switch self {
    case .attribute(let attribute):
      attribute.isOptional || attribute.hasValueInOlderRows || attribute.derivation != nil
        || attribute.isTransient
    case .relationship(let relationship): relationship.isOptional || relationship.isTransient
    // Where no leaf has a default, an older row has no value of it; else it has one, and all of it has to be there.
    case .composite(let composite):
      hasValueInOlderRows ? composite.elements.allSatisfy(\.canBeAdded) : composite.isOptional
    }
  }

  /// Whether older rows have a value of it as soon as it is there, or of a part of it.
  private var hasValueInOlderRows: Bool {
    leaves.contains { if case .attribute(let leaf) = $0 { leaf.hasValueInOlderRows } else { false } }
  }
}

extension AttributeDescription {
  fileprivate var hasValueInOlderRows: Bool { defaultValue.map { !$0.isMade } ?? false }
}
