internal import PerdureModel

/// The properties that a save passes to `validateValue(_:forKey:)`. These are the properties that a
/// class lists, or all properties if the class overrides the function and lists none. The
/// properties with a validation function of their own are added.
struct ValidatedKeys {
  private(set) var keys: [String] = []
  /// The keys that the class does not list, with their slots.
  private(set) var slotsOfUnlisted: [String: Int] = [:]

  init(_ type: ManagedObject.Type, _ schema: EntitySchema, _ properties: [EntityShape.Property]) {
    let (lifeCycle, listed) = (type._lifeCycle, type.validatedKeys)
    let asksForAll =
      lifeCycle.contains(.validateValue) && (listed.isEmpty || !lifeCycle.contains(.assumed))
    if asksForAll { addAll(schema, properties) } else { keys = listed }
    for key in type._validatedProperties where !keys.contains(key) {
      guard let slot = schema.slot(named: key) ?? schema.composite(named: key)?.slots.lowerBound else {
        continue
      }
      add(key, slot)
    }
  }

  private mutating func add(_ key: String, _ slot: Int) {
    keys.append(key)
    slotsOfUnlisted[key] = slot
  }

  /// Adds all properties that can be set, in the order of their slots. A composite attribute is one
  /// property.
  private mutating func addAll(_ schema: EntitySchema, _ properties: [EntityShape.Property]) {
    let outermost = schema.composites.filter { $0.depth == 0 }
    for slot in properties.indices {
      switch properties[slot] {
      case .count, .derived: continue
      case .attribute, .transient, .relationship: break
      }
      guard let composite = outermost.first(where: { $0.slots.contains(slot) }) else {
        add(schema.properties[slot].name, slot)
        continue
      }
      if composite.slots.lowerBound == slot { add(composite.name, slot) }
    }
  }
}
