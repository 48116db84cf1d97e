// Changed values, committed values, and functions for hand-written accessors.

internal import PerdurePredicates

extension ManagedObject {
  /// The changed properties with their current values, in the form of `value(forKey:)`. A property
  /// is changed if its value differs from the last read or saved one. A property without a value
  /// has nil. Accessors that the class implements are not called.
  ///
  /// A property that was set to its earlier value is not included, although the object counts as
  /// updated. For a new object, the result has the differences from the defaults; defaults that
  /// were made for it (`DefaultValue.now`) count as changes. Derived attributes are not included.
  /// Transient attributes are included; one whose values cannot be compared is included if it was
  /// set. A composite attribute is included as a whole.
  ///
  /// - Complexity: O(number of properties), and one read of the store. Objects in relationships are
  ///   returned as faults.
  public func changedValues() -> [String: Any?] {
    var values: [String: Any?] = [:]
    for slot in changedSlots() + changedTransients(since: overlay?.transientsBefore) {
      let name = changedName(slot)
      if values[name] != nil { continue }
      values.updateValue(storedValue(forKey: name), forKey: name)
    }
    return values
  }

  /// The properties that were changed in the current event, with their values at its beginning. A
  /// property without a value has nil. Transient attributes are included as in `changedValues()`.
  /// Transformable attributes without a named transformer have their bytes.
  ///
  /// An event ends with `processPendingChanges()` of the context, a successful save, or a `perform`
  /// of a background context. It also ends with an `undoGroup`, an undo or a redo, and with the
  /// save of a child context. If objects have hooks or the context is observed, each save ends it
  /// before the first `willSave()`, even if the save fails. A rollback and a reset discard it. For
  /// an object that was inserted in the event, the result has the properties that differ from the
  /// defaults, with the defaults.
  ///
  /// - Complexity: O(number of properties), one read of the store, and one for each to-many
  ///   relationship that has changed.
  public func changedValuesForCurrentEvent() -> [String: Any?] {
    core.checkOwner()
    var values = transientsAtEvent()
    guard let context, let start = eventStart else { return values }
    let overlay = overlay
    var stored = StoredColumns(context, self)
    for slot in shape.properties.indices {
      if shape.isColumn(slot) {
        guard overlay?.value(slot) != nil || start.columns[slot] != nil else { continue }
        let old = start.columns[slot] ?? stored.value(slot)
        guard old != overlay?.value(slot) ?? stored.value(slot) else { continue }
        let name = changedName(slot)
        if values[name] != nil { continue }
        if let composite = shape.composite(named: name) {
          let before = compositeValue(composite) { shown(start.columns[$0] ?? stored.value($0), $0) }
          values.updateValue(before, forKey: name)
        } else {
          values.updateValue(shown(old, slot), forKey: name)
        }
      } else if overlay?.delta(slot) != nil || start.deltas[slot] != nil {
        let relationship = shape.relationship(slot)
        let entries =
          overlay?.isUnknownToStore == true
          ? [] : context.reading.savedLinks.savedTargets(of: reference, relationship)
        let old = (start.deltas[slot] ?? LinkDelta()).applied(to: entries)
        guard old != (overlay?.delta(slot) ?? LinkDelta()).applied(to: entries) else { continue }
        let objects = old.map(context.registry.instance)
        values.updateValue(relationship.isToMany ? Set(objects) : objects.first, forKey: relationship.name)
      }
    }
    return values
  }

  /// The former values of the transient attributes that have changed in the current event, by name.
  private func transientsAtEvent() -> [String: Any?] {
    let before = overlay?.transientsAtEvent
    var values: [String: Any?] = [:]
    for slot in changedTransients(since: before) {
      values.updateValue(shown(before?.bySlot[slot], slot), forKey: shape.propertyName(slot))
    }
    return values
  }

  /// The former value of a transient attribute, in the form of `value(forKey:)`.
  private func shown(_ held: TransientValues.Held?, _ slot: Int) -> Any? {
    switch held ?? .value(shape.template[slot]) {
    case .object(let object): return object.value
    case .value(let value):
      guard case .transient(let type, _) = shape.properties[slot] else { return nil }
      return shown(value, slot, FieldKind(type))
    }
  }

  /// The changes at the beginning of the current event; nil if the object has not changed in it.
  private var eventStart: EventStart? {
    guard let overlay else { return context?.pending.eventStarts[reference] }
    return overlay.isBeforeEvent ? nil : overlay.eventStart ?? EventStart()
  }

  /// The values of properties when they were last read or saved. A property without a value has
  /// nil.
  ///
  /// These are the values in the state of the store that the context sees. A new object has none:
  /// its attributes have nil, and its to-many relationships are empty. A transient attribute has
  /// none either; a transient relationship has its value after the last save. An object that the
  /// context no longer has returns its attributes, and the to-one relationships of its row, as they
  /// were last read.
  ///
  /// Transformable attributes without a named transformer give their bytes.
  ///
  /// - Parameter keys: The properties, which the entity must have; nil for all that are not
  ///   transient.
  /// - Complexity: one read of the store, and one for each relationship that the other end stores.
  public func committedValues(forKeys keys: [String]?) -> [String: Any?] {
    core.checkOwner()
    var stored = overlay?.isNew == true ? nil : context.map { StoredColumns($0, self) }
    var values: [String: Any?] = [:]
    for key in keys ?? shape.properties.indices.filter({ !isTransient($0) }).map(changedName) {
      if values[key] != nil { continue }
      if let composite = shape.composite(named: key) {
        values.updateValue(compositeValue(composite) { committedValue($0, &stored) }, forKey: key)
      } else {
        values.updateValue(committedValue(shape.slot(named: key), &stored), forKey: key)
      }
    }
    return values
  }

  /// Whether the next save writes a value that differs from the stored one. False if the set value
  /// equals the stored one, and for transient properties. True for new objects.
  public var hasPersistentChangedValues: Bool {
    core.checkOwner()
    guard let context, let overlay else { return false }
    if overlay.isNew { return true }
    var stored = StoredColumns(context, self)
    return shape.properties.indices.contains { !isTransient($0) && isChanged($0, overlay, &stored) }
  }

  private func changedSlots() -> [Int] {
    core.checkOwner()
    guard let context, let overlay else { return [] }
    var stored = StoredColumns(context, self)
    return shape.properties.indices.filter { isChanged($0, overlay, &stored) }
  }

  private func isChanged(_ slot: Int, _ overlay: ObjectOverlay, _ stored: inout StoredColumns) -> Bool {
    if overlay.delta(slot) != nil || overlay.order(slot) != nil { return true }
    guard shape.isColumn(slot), let value = overlay.value(slot) else { return false }
    return value != stored.value(slot)
  }

  private func isTransient(_ slot: Int) -> Bool {
    switch shape.properties[slot] {
    case .transient: true
    case .relationship(let relationship): relationship.isTransient
    case .attribute, .count, .derived: false
    }
  }

  /// A value in the form of `value(forKey:)`. `kind` is the kind of a derived or transient
  /// attribute; nil for a column.
  private func shown(_ value: Value, _ slot: Int, _ kind: FieldKind? = nil) -> Any? {
    if shape.isRelationship(slot) {
      guard case .reference(let target) = value else { return nil }
      return header.pointee.isGone
        ? core.registry.lastInstance(of: target) : core.registry.instance(of: target)
    }
    let value = core.graph.shown(value)
    if case .data(let data) = value, let transformer = shape.transformers[slot] {
      return try? transformer.value(from: data)
    }
    return value.swiftValue(of: kind ?? shape.attributeKinds[slot])
  }

  /// The value of a column in the last row that an object has read, if the object is gone. Nil if
  /// the row was never in the store.
  private func lastStoredValue(_ slot: Int) -> Value? {
    guard header.pointee.isGone, header.pointee.version != .unknown,
      let row = header.pointee.loadedRow
    else { return nil }
    return row.value(slot)
  }

  private func committedValue(_ slot: Int, _ stored: inout StoredColumns?) -> Any? {
    if shape.isColumn(slot) {
      guard let value = stored?.value(slot) ?? lastStoredValue(slot) else { return nil }
      return shown(value, slot)
    }
    switch shape.properties[slot] {
    case .attribute, .transient: return nil
    case .count(let counted):
      let relationship = shape.relationship(counted)
      return stored.map { $0.context.reading.savedLinks.savedTargetCount(of: reference, relationship) }
    case .derived(let derived):
      return stored.flatMap {
        shown(
          derived.shown($0.context.reading.derived.storedValue(of: derived, reference)), slot, derived.kind)
      }
    case .relationship(let relationship):
      if let order = relationship.order {
        return stored?.context.reading.savedLinks.storedMembers(of: reference, relationship, order).map(
          core.registry.instance)
          ?? []
      }
      let objects =
        stored?.context.reading.savedLinks.savedTargets(of: reference, relationship).map(
          core.registry.instance) ?? []
      return relationship.isToMany ? Set(objects) : objects.first
    }
  }
}

// MARK: - Hand-written accessors

extension ManagedObject {
  /// Fires the fault, for an accessor that then calls `primitiveValue(forKey:)`.
  ///
  /// - Parameter key: The property, or nil.
  public func willAccessValue(forKey key: String?) {
    _ = key.map { shape.slots(named: $0) }
    wakeForAccess()
  }

  /// The counterpart of `willAccessValue(forKey:)`. Does nothing.
  public func didAccessValue(forKey key: String?) {}

  /// Fires the fault, for an accessor that then calls `setPrimitiveValue(_:forKey:)`. A transient
  /// attribute counts as changed from this call on, and a rollback restores the value that it has
  /// now.
  public func willChangeValue(forKey key: String) {
    let slots = shape.slots(named: key)
    wakeForAccess()
    if slots.contains(where: { isTransient($0) && !shape.isRelationship($0) }) {
      context?.editing.objectEditor.noteTransients(of: self)
    }
  }

  /// Marks an attribute as changed, after `setPrimitiveValue(_:forKey:)` has set it. Does nothing
  /// for a relationship, and for an attribute that is derived or set by saves.
  public func didChangeValue(forKey key: String) {
    for slot in shape.slots(named: key) {
      switch shape.properties[slot] {
      case .attribute where shape.saveTimeSlots.contains(slot): break
      case .attribute: setAttributeValue(columnValue(slot), slot)
      case .transient(.undefined, _): setTransientObject(transientObject(slot), slot)
      case .transient: setTransientValue(transientValue(slot), slot)
      case .count, .derived, .relationship: break
      }
    }
  }

  private func wakeForAccess() {
    core.checkOwner()
    if let context { _ = context.editing.hooks.wake(self) }
  }

  /// The to-many relationship called `key`, to be changed in place. The entity must have it.
  public func mutableSetValue(
    forKey key: String, file: StaticString = #fileID, line: UInt = #line
  ) -> ToMany<ManagedObject> {
    let slot = relationshipSlot(key, file, line)
    if !shape.relationship(slot).isToMany {
      stop("\(shape.name).\(key) is to-one. Use setValue(_:forKey:) with an object.", file: file, line: line)
    }
    return ToMany(self, slot)
  }

  /// The to-many relationship called `key`, with objects of a class, to be changed in place:
  /// `let workers: ToMany<Worker> = company.mutableSetValue(forKey: "workers")`. The entity must
  /// have it. Reading an object of another class stops the program.
  @_disfavoredOverload
  public func mutableSetValue<T: ManagedObject>(
    forKey key: String, file: StaticString = #fileID, line: UInt = #line
  ) -> ToMany<T> {
    let objects: ToMany<ManagedObject> = mutableSetValue(forKey: key, file: file, line: line)
    return ToMany(objects.source)
  }

  /// The ordered to-many relationship called `key`, to be changed in place. The entity must have
  /// it.
  public func mutableOrderedSetValue(
    forKey key: String, file: StaticString = #fileID, line: UInt = #line
  ) -> OrderedToMany<ManagedObject> {
    let slot = relationshipSlot(key, file, line)
    if shape.relationship(slot).order == nil {
      let remedy =
        shape.relationship(slot).isToMany
        ? "is not ordered. Use mutableSetValue(forKey:), or declare it ordered."
        : "is to-one. Use setValue(_:forKey:) with an object."
      stop("\(shape.name).\(key) \(remedy)", file: file, line: line)
    }
    return OrderedToMany(self, slot)
  }

  /// The ordered to-many relationship called `key`, with objects of a class, to be changed in
  /// place. The entity must have it. Reading an object of another class stops the program.
  @_disfavoredOverload
  public func mutableOrderedSetValue<T: ManagedObject>(
    forKey key: String, file: StaticString = #fileID, line: UInt = #line
  ) -> OrderedToMany<T> {
    let objects: OrderedToMany<ManagedObject> = mutableOrderedSetValue(forKey: key, file: file, line: line)
    return OrderedToMany(objects.source)
  }

  /// The identities of the objects at the other end of a relationship, including unsaved changes.
  /// Makes no instances of these objects, and reads none of their rows. The entity must have the
  /// relationship.
  public func objectIDs(forRelationshipNamed key: String) -> [ManagedObjectID] {
    let slot = relationshipSlot(key)
    core.checkOwner()
    guard let context else { return [] }
    return context.reading.links.targets(of: reference, shape.relationship(slot)).map {
      context.pending.objectID(of: $0)
    }
  }

  /// Whether reading a relationship may query the store. The call itself does not query the store.
  /// The entity must have the relationship.
  ///
  /// For a relationship whose reference is in this object's row, the result is true until the row
  /// is loaded or the relationship is changed. The result is false for a transient relationship,
  /// for a new object, and for an object that is no longer in its context. For any other
  /// relationship it is true, even if the relationship was read before.
  public func hasFault(forRelationshipNamed key: String) -> Bool {
    let slot = relationshipSlot(key)
    if header.pointee.isGone || overlay?.isNew == true { return false }
    switch shape.relationship(slot).form {
    case .column: return overlay?.value(slot) == nil && isFault
    case .inverseToOne, .inverseToMany, .links: return true
    case .transient: return false
    }
  }

  private func relationshipSlot(
    _ key: String, _ file: StaticString = #fileID, _ line: UInt = #line
  ) -> Int {
    let slot = shape.slot(named: key, file, line)
    if !shape.isRelationship(slot) {
      stop("\(shape.name).\(key) is an attribute. Name a relationship.", file: file, line: line)
    }
    return slot
  }
}
