// What has changed, what is committed, and accessors by hand.

internal import PerdurePredicates

extension ManagedObject {
  /// The properties with values other than those that were last read or saved, and their values now, as
  /// `value(forKey:)` gives them; nil inside where a property has no value.
  ///
  /// A property that was set to what it had is not among them, though the object counts as updated. Of a new object
  /// it is what differs from the defaults. Derived attributes are not among them; transient ones are, once they were
  /// set.
  ///
  /// - Complexity: O(number of properties), and one look at the store for each column that was set. Objects in relationships are made as faults.
  public func changedValues() -> [String: Any?] {
    var values: [String: Any?] = [:]
    for slot in changedSlots() + changedTransients() {
      let name = shape.propertyName(slot)
      values.updateValue(value(forKey: name), forKey: name)
    }
    return values
  }

  /// The values that properties were last read or saved with; nil inside for those without one.
  ///
  /// They are those of the state of the store that the context sees. A new object has none: its attributes give nil,
  /// its to-many relationships nothing. Nor does a transient attribute have any.
  ///
  /// Transformable attributes without a named transformer give their bytes.
  ///
  /// - Parameter keys: The properties, which the entity must have; nil for all that are not transient.
  /// - Complexity: one look at the store for each column, and one for each relationship whose other end has it.
  public func committedValues(forKeys keys: [String]?) -> [String: Any?] {
    core.checkOwner()
    var values: [String: Any?] = [:]
    for key in keys ?? shape.properties.indices.filter({ !isTransient($0) }).map(shape.propertyName) {
      values.updateValue(committedValue(shape.slot(named: key)), forKey: key)
    }
    return values
  }

  /// Whether the next save would write anything else than what is stored: false when what was set is what was
  /// there, and when it is transient. True of new objects.
  public var hasPersistentChangedValues: Bool { overlay?.isNew == true || !changedSlots().isEmpty }

  private func changedSlots() -> [Int] {
    core.checkOwner()
    guard let context, let overlay else { return [] }
    return shape.properties.indices.filter { slot in
      if overlay.delta(slot) != nil { return true }
      guard shape.isColumn(slot), let value = overlay.value(slot) else { return false }
      return value != (overlay.isNew ? shape.template[slot] : context.storedValue(reference, slot))
    }
  }

  private func changedTransients() -> [Int] {
    guard let overlay, overlay.changesTransients else { return [] }
    return shape.properties.indices.filter { isTransient($0) && isTransientHeld($0) }
  }

  private func isTransient(_ slot: Int) -> Bool {
    if case .transient = shape.properties[slot] { true } else { false }
  }

  private func committedValue(_ slot: Int) -> Any? {
    let stored = overlay?.isNew == true ? nil : context
    switch shape.properties[slot] {
    case .attribute(let kind, _):
      let value = stored.map { $0.graph.shown($0.storedValue(reference, slot)) } ?? .null
      if case .data(let data) = value, let transformer = shape.transformers[slot] {
        return try? transformer.value(from: data)
      }
      return value.swiftValue(of: kind)
    case .transient: return nil
    case .count(let counted):
      let relationship = shape.relationship(counted)
      return stored.map { Int64($0.storedEntries(relationship.index, reference).count) }
    case .derived(let derived):
      return stored?.storedValue(of: derived, reference).swiftValue(of: derived.kind)
    case .relationship(let relationship):
      let objects = stored?.storedTargets(of: reference, relationship).map(core.instance) ?? []
      return relationship.isToMany ? Set(objects) : objects.first
    }
  }
}

extension ContextCore {
  /// What a column holds in the store.
  fileprivate func storedValue(_ reference: ObjectReference, _ slot: Int) -> Value {
    guard let layouts = graph.shape(of: reference).storage.layouts else { return .null }
    do {
      guard let stored = try view.row(reference) else { return .null }
      return layouts.value(slot, of: try graph.store.rows.view(stored.bytes, of: reference))
    } catch {
      noteReadFailure(error, reference)
      return .null
    }
  }

  /// What is at the other end of a relationship in the store.
  fileprivate func storedTargets(
    of owner: ObjectReference, _ relationship: RelationshipShape
  ) -> [ObjectReference] {
    if relationship.form != .column { return storedEntries(relationship.index, owner) }
    guard case .reference(let target) = storedValue(owner, relationship.slot) else { return [] }
    return [target]
  }
}

// MARK: - Accessors by hand

extension ManagedObject {
  /// Fires the fault, for an accessor that goes on with `primitiveValue(forKey:)`.
  ///
  /// - Parameter key: The property, or nil.
  public func willAccessValue(forKey key: String?) {
    _ = key.map { shape.slot(named: $0) }
    wakeForAccess()
  }

  /// The other end of `willAccessValue(forKey:)`. Does nothing.
  public func didAccessValue(forKey key: String?) {}

  /// Fires the fault, for an accessor that goes on with `setPrimitiveValue(_:forKey:)`.
  public func willChangeValue(forKey key: String) {
    _ = shape.slot(named: key)
    wakeForAccess()
  }

  /// Counts an attribute as changed that `setPrimitiveValue(_:forKey:)` has set.
  public func didChangeValue(forKey key: String) {
    let slot = shape.slot(named: key)
    switch shape.properties[slot] {
    case .attribute: setAttributeValue(columnValue(slot), slot)
    case .transient: setValue(value(forKey: key), forKey: key)
    case .count, .derived, .relationship: break
    }
  }

  private func wakeForAccess() {
    core.checkOwner()
    if let context { _ = context.wake(self) }
  }

  /// The to-many relationship called `key`, to be changed in place. The entity must have it.
  public func mutableSetValue(forKey key: String) -> ToMany<ManagedObject> {
    let slot = relationshipSlot(key)
    if !shape.relationship(slot).isToMany {
      stop("\(shape.name).\(key) is to-one: it holds an object, not a set.")
    }
    return ToMany(self, slot)
  }

  /// The identities of the objects at the other end of a relationship, unsaved changes included. Makes no
  /// instances, and reads no rows but this object's. The entity must have the relationship.
  public func objectIDs(forRelationshipNamed key: String) -> [ManagedObjectID] {
    let slot = relationshipSlot(key)
    core.checkOwner()
    guard let context else { return [] }
    return context.targets(of: reference, shape.relationship(slot)).map { context.objectID(of: $0) }
  }

  /// Whether following a relationship asks the store: of one whose reference is in this object's row, until that is
  /// loaded; of any other always, unless the object is new. Asks nothing. The entity must have the relationship.
  public func hasFault(forRelationshipNamed key: String) -> Bool {
    let slot = relationshipSlot(key)
    if header.pointee.isGone || overlay?.isNew == true { return false }
    return shape.relationship(slot).form != .column || overlay?.value(slot) == nil && isFault
  }

  private func relationshipSlot(_ key: String) -> Int {
    let slot = shape.slot(named: key)
    if !shape.isRelationship(slot) { stop("\(shape.name).\(key) is an attribute, not a relationship.") }
    return slot
  }
}
