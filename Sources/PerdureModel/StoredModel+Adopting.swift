extension StoredModel {
  /// Returns the stored form of the first model of a store. All its numbers begin at 1.
  ///
  /// - Parameter sequence: The newest commit of the store.
  /// - Throws: `ModelError` `numbersExhausted` if the model is too large for the numbers.
  package static func initial(
    for model: ManagedObjectModel, at sequence: UInt64 = 0
  ) throws(ModelError) -> StoredModel {
    var numbering = Numbering(history: ModelHistory(of: model, at: sequence))
    return try numbering.number(model, previous: nil)
  }

  /// Returns the stored model after `newModel` replaces this one. Each difference must not affect
  /// rows, or must be an addition that existing rows can lack.
  ///
  /// Entities and properties keep their numbers, and added ones get the next numbers. Each entity
  /// whose slots changed gets another layout: an older one with these slots, or a new one. All
  /// older layouts remain. Existing properties keep their stand-ins, even if their defaults
  /// changed. Added properties get stand-ins.
  ///
  /// - Parameter sequence: The newest commit of the store.
  /// - Returns: The new stored model and all differences. The caller must write the new model
  ///   unless it equals this one (`isEqual(to:)`).
  /// - Throws: `ModelError` `incompatibleModel` (134100) with every difference listed, or
  ///   `numbersExhausted`.
  package func adopting(
    _ newModel: ManagedObjectModel, at sequence: UInt64 = 0
  ) throws(ModelError) -> (stored: StoredModel, differences: [ModelDifference]) {
    if newModel === model { return (self, []) }
    let differences = differences(to: newModel)
    let incompatibleCount = differences.count { !$0.isCompatible }
    guard incompatibleCount == 0 else {
      throw ModelError(
        .incompatibleModel,
        "The model does not fit the store, which has another version of it: \(incompatibleCount) of "
          + "\(differences.count) differences cannot be adopted. Open the store with the model that it was "
          + "written with, or copy its objects into a new store.",
        differences: differences)
    }
    var numbering = Numbering(
      last: lastNumbers, layouts: layouts, history: try history.adopting(newModel, at: sequence))
    return (try numbering.number(newModel, previous: self), differences)
  }

  /// Whether both stored models have the same bytes. If they have, the store need not write
  /// `other`.
  package func isEqual(to other: StoredModel) -> Bool {
    model === other.model
      ? hasSameNumbers(as: other) && origins == other.origins && history == other.history
        && skippedSections == other.skippedSections
      : encode() == other.encode()
  }

  /// Whether `other` can replace this model for reading rows and indexes.
  ///
  /// The models may differ only in parts that do not affect rows: rules, defaults of new objects,
  /// value transformers, class names, earlier names and user info; transient and fetched
  /// properties; version identifiers, configurations and fetch request templates.
  package func hasSameRows(as other: StoredModel) -> Bool {
    hasSameNumbers(as: other) && origins.mapValues(\.standIn) == other.origins.mapValues(\.standIn)
      && (model === other.model
        || model.entities.map(\.asRowsSeeIt) == other.model.entities.map(\.asRowsSeeIt))
  }

  private func hasSameNumbers(as other: StoredModel) -> Bool {
    lastNumbers == other.lastNumbers && layouts == other.layouts && entries == other.entries
  }
}

extension EntityDescription {
  /// A copy of the description without the parts that do not affect rows and indexes.
  fileprivate var asRowsSeeIt: EntityDescription {
    var entity = EntityDescription(
      name, superentity: superentityName, isAbstract: isAbstract, className: "",
      properties: properties.map(\.asRowsSeeIt), indexes: indexes,
      uniquenessConstraints: uniquenessConstraints)
    entity.versionHashModifier = versionHashModifier
    return entity
  }
}

extension PropertyDescription {
  fileprivate var asRowsSeeIt: PropertyDescription {
    switch self {
    case .attribute(let attribute) where attribute.isTransient:
      return .attribute(AttributeDescription(attribute.name, .undefined, isTransient: true))
    case .attribute(var attribute):
      attribute.rules = []
      attribute.defaultValue = nil
      attribute.userInfo = [:]
      attribute.renamingIdentifier = nil
      attribute.valueTransformerName = nil
      return .attribute(attribute)
    case .relationship(let relationship) where relationship.isTransient:
      return .attribute(AttributeDescription(relationship.name, .undefined, isTransient: true))
    case .relationship(var relationship):
      relationship.userInfo = [:]
      relationship.renamingIdentifier = nil
      return .relationship(relationship)
    case .composite(var composite):
      composite.elements = composite.elements.map(\.asRowsSeeIt)
      composite.userInfo = [:]
      composite.renamingIdentifier = nil
      return .composite(composite)
    }
  }
}

/// Allocates numbers and never reuses one.
private struct Numbering {
  var last = StoredModel.LastNumbers()
  var layouts: [LayoutSchema] = []
  /// The history, including the version of the model that is numbered.
  let history: ModelHistory

  mutating func number(
    _ model: ManagedObjectModel, previous: StoredModel?
  ) throws(ModelError) -> StoredModel {
    var entityNumbers: [UInt16] = []
    var own: [[UInt32]] = []
    var origins: [UInt32: PropertyOrigin] = [:]
    for entity in model.entities {
      let known = previous?.numbers(ofEntityNamed: entity.name)
      entityNumbers.append(try either(known?.entity, \.entity))
      var numbers: [UInt32] = []
      for property in entity.slotted {
        let number = try either(known?.properties[property.name], \.property)
        numbers.append(number)
        origins[number] =
          previous?.origins[number] ?? PropertyOrigin(of: property, in: history.newest.number)
      }
      own.append(numbers)
    }
    let bySlot = StoredModel.storedNumbers(model, StoredModel.numbersBySlot(model, own))
    var entries: [StoredModel.Entry] = []
    for (index, entity) in model.entities.enumerated() {
      let current = previous?.currentLayout(ofEntityNamed: entity.name)
      let layout = try layoutNumber(current, entityNumbers[index], bySlot[index])
      entries.append(
        StoredModel.Entry(number: entityNumbers[index], currentLayout: layout, propertyNumbers: own[index]))
    }
    return StoredModel(
      model: model, entries: entries, layouts: layouts, lastNumbers: last, origins: origins, history: history,
      skippedSections: previous?.skippedSections ?? [])
  }

  /// The number of the entity's layout with exactly these properties in this order. A layout is
  /// added if the entity has none with them.
  private mutating func layoutNumber(
    _ current: LayoutSchema?, _ entity: UInt16, _ properties: [UInt32]
  ) throws(ModelError) -> UInt16 {
    if let current, current.propertyNumbers == properties { return current.number }
    let known = layouts.first { $0.entityNumber == entity && $0.propertyNumbers == properties }
    if let known { return known.number }
    let number = try next(\.layout)
    layouts.append(LayoutSchema(number: number, entityNumber: entity, propertyNumbers: properties))
    return number
  }

  private mutating func either<T: FixedWidthInteger>(
    _ known: T?, _ counter: WritableKeyPath<StoredModel.LastNumbers, T>
  ) throws(ModelError) -> T {
    if let known { known } else { try next(counter) }
  }

  private mutating func next<T: FixedWidthInteger>(
    _ counter: WritableKeyPath<StoredModel.LastNumbers, T>
  ) throws(ModelError) -> T {
    guard last[keyPath: counter] < T.max else { throw .exhausted }
    last[keyPath: counter] += 1
    return last[keyPath: counter]
  }
}

extension StoredModel {
  fileprivate func numbers(ofEntityNamed name: String) -> (entity: UInt16, properties: [String: UInt32])? {
    guard let index = model.schema(named: name)?.index else { return nil }
    let names = model.entities[index].slotted.map(\.name)
    return (
      entries[index].number,
      Dictionary(uniqueKeysWithValues: zip(names, entries[index].propertyNumbers))
    )
  }

  fileprivate func currentLayout(ofEntityNamed name: String) -> LayoutSchema? {
    (model.schema(named: name)?.index).map { currentLayout(ofEntityAt: $0) }
  }
}
