extension StoredModel {
  /// The violation of invariant 1, 2, 3 or 4 of `StoredModel`, or nil.
  static func flaw(
    _ model: ManagedObjectModel, _ entries: [Entry], _ layouts: [LayoutSchema], _ last: LastNumbers
  ) -> String? {
    flawInNumbers(model, entries, last) ?? flawInLayouts(model, entries, layouts, last)
  }

  /// The violation of invariant 5, or nil. The other invariants must be true.
  static func flawInOrigins(
    _ model: ManagedObjectModel, _ entries: [Entry], _ origins: [UInt32: PropertyOrigin],
    _ history: ModelHistory
  ) -> String? {
    var count = 0
    for (entity, entry) in zip(model.entities, entries) {
      for (property, number) in zip(entity.slotted, entry.propertyNumbers) {
        guard let origin = origins[number], origin.version >= 1, origin.version <= history.newest.number
        else {
          return "property number \(number) has no origin, or a wrong one"
        }
        guard origin.fits(property) else { return "property number \(number) has a default of another type" }
        count += 1
      }
    }
    return count == origins.count ? nil : "there are origins of properties that the model does not have"
  }

  /// The violation of invariant 1 or 2, or nil.
  private static func flawInNumbers(
    _ model: ManagedObjectModel, _ entries: [Entry], _ last: LastNumbers
  ) -> String? {
    var entities: Set<UInt16> = []
    var properties: Set<UInt32> = []
    for (entity, entry) in zip(model.entities, entries) {
      guard (1...last.entityBound).contains(entry.number), entities.insert(entry.number).inserted else {
        return "entity number \(entry.number) is wrong or given twice"
      }
      guard entry.propertyNumbers.count == entity.slotted.count else {
        return "\"\(entity.name)\" has a wrong count of property numbers"
      }
      for number in entry.propertyNumbers {
        guard number > 0, number <= last.property, properties.insert(number).inserted else {
          return "property number \(number) is wrong or given twice"
        }
      }
    }
    return nil
  }

  /// The violation of invariant 2, 3 or 4, or nil.
  private static func flawInLayouts(
    _ model: ManagedObjectModel, _ entries: [Entry], _ layouts: [LayoutSchema], _ last: LastNumbers
  ) -> String? {
    let bySlot = storedNumbers(model, numbersBySlot(model, entries.map(\.propertyNumbers)))
    let propertiesByEntity = Dictionary(
      uniqueKeysWithValues: zip(entries.map(\.number), bySlot.map { Set($0) }))
    var previous: UInt16 = 0
    var byNumber: [UInt16: LayoutSchema] = [:]
    for layout in layouts {
      guard layout.number > previous, layout.number <= last.layout else {
        return "layout number \(layout.number) is out of order"
      }
      guard let known = propertiesByEntity[layout.entityNumber],
        Set(layout.propertyNumbers).count == layout.propertyNumbers.count,
        known.isSuperset(of: layout.propertyNumbers)
      else { return "layout \(layout.number) does not belong to its entity" }
      previous = layout.number
      byNumber[layout.number] = layout
    }
    for (entry, numbers) in zip(entries, bySlot) {
      guard let layout = byNumber[entry.currentLayout], layout.entityNumber == entry.number,
        layout.propertyNumbers == numbers
      else { return "the current layout of entity \(entry.number) does not list its properties" }
    }
    return nil
  }
}

extension StoredModel.LastNumbers {
  /// The last entity number, at least 1 so that it can form a range.
  fileprivate var entityBound: UInt16 { max(1, entity) }
}
