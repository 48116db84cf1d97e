// Reads and changes of properties.
//
// A fast read compares the epoch (H1 in ObjectHeader.swift), checks the field of the slot and the
// presence bit, and loads the value. It is inlined into the program
// (ManagedObject+InlinedReading.swift). All other reads call functions: they fire a fault, check a
// row against a newer view, or look up an unsaved change. A change loads the row, gives the object
// an overlay, and stores the value there.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension ManagedObject {
  /// The row, if a field may be read from it without a check of unsaved changes.
  @inline(__always)
  var readyRow: RowView? {
    let header = header
    return header.pointee.isReady ? header.pointee.loadedRow : nil
  }

  /// As `readyRow`, but loads the row first if the slot is a column and no column of the object has
  /// an unsaved change.
  @inline(__always)
  func readyRow(for slot: Int) -> RowView? {
    let header = header
    return header.pointee.isReady ? header.pointee.loadedRow : loadReadyRow(for: slot)
  }

  @inline(never)
  private func loadReadyRow(for slot: Int) -> RowView? {
    guard shape.isColumn(slot), overlay?.changesRow != true, loadRow() else { return nil }
    return readyRow
  }

  @inline(__always)
  func checkSlot(_ slot: Int) {
    if UInt(bitPattern: slot) >= UInt(header.pointee.slotCount) { stopWithoutSlot(slot) }
  }

  @inline(never)
  private func stopWithoutSlot(_ slot: Int) -> Never {
    stop(
      "\(type(of: self)) has an accessor for slot \(slot), which its entity does not have. \(shape.slotList)")
  }

  /// The value of a column: an attribute, or the reference of a to-one relationship. Returns
  /// `.null` if there is no value.
  func columnValue(_ slot: Int) -> Value {
    if let row = readyRow { return row.value(slot) }
    return slowColumnValue(slot)
  }

  @inline(never)
  private func slowColumnValue(_ slot: Int) -> Value {
    wakeIfHookIsDue()
    let value = overlay?.value(slot) ?? loadedValue(slot)
    guard case .reference(let target) = value, shape.isRelationship(slot) else { return value }
    return core.viewState.shown(target, of: reference) == nil ? .null : value
  }

  private func loadedValue(_ slot: Int) -> Value {
    // If loading finds that the row was removed, the last values are returned.
    guard loadRow() || header.pointee.isGone, let row = header.pointee.loadedRow else {
      return core.reading.retirement.lastValue(slot, of: self)
    }
    return row.value(slot)
  }

  /// The value of a column, even if it refers to an object that another context has removed.
  func heldColumnValue(_ slot: Int) -> Value { overlay?.value(slot) ?? loadedValue(slot) }

  /// Loads the row if it is not loaded, and calls the hook for it. Returns false if there is no
  /// row. Loads nothing for an object that is gone.
  func loadRow() -> Bool {
    header.pointee.isGone ? header.pointee.row != nil : core.editing.hooks.wake(self)
  }

  /// Calls the hooks that must run before an access to the object.
  @inline(__always)
  private func wakeIfHookIsDue() {
    if header.pointee.wakefulness.contains(.hookIsDue), !header.pointee.isGone {
      _ = core.editing.hooks.wake(self)
    }
  }

  /// The value of an attribute. The attribute may be derived or transient.
  func attributeValue(_ slot: Int) -> Value {
    core.checkOwner()
    checkSlot(slot)
    switch shape.properties[slot] {
    case .attribute(.reference, _), .attribute(.data, _): return core.graph.shown(columnValue(slot))
    case .attribute: return columnValue(slot)
    case .count(let counted): return .integer(Int64(relatedCount(counted)))
    case .derived(let derived): return derivedValue(derived)
    case .transient(let type, _):
      if type == .undefined {
        stop(
          "\(shape.name).\(shape.propertyName(slot)) has the type undefined, and no typed value. Read it with "
            + "value(forKey:).")
      }
      return core.graph.shown(transientValue(slot))
    case .relationship: stopAsRelationship(slot)
    }
  }

  @inline(never)
  private func stopAsRelationship(_ slot: Int) -> Never {
    stop(
      "\(shape.name).\(shape.propertyName(slot)), slot \(slot), is a relationship, but an accessor of "
        + "\(type(of: self)) reads it as an attribute. \(shape.slotList)")
  }

  /// Changes an attribute. An object that is gone does not change, and the next save reports the
  /// refused change.
  func setAttributeValue(_ value: Value, _ slot: Int) {
    uncountedCore._withUnsafeGuaranteedRef { core in
      core.checkOwner()
      if !header.pointee.wakefulness.isDisjoint(with: [.gone, .hookIsDue]), !canChange() {
        return core.editing.refusal.refuseChange(of: self, slot, value)
      }
      checkSlot(slot)
      let kind = uncountedShape._withUnsafeGuaranteedRef { $0.attributeKinds[slot] }
      guard kind != .absent else { return setTransientValue(value, slot) }
      core.editing.objectEditor.setAttribute(of: self, slot, stored(value, kind, slot))
    }
  }

  /// The stored form of an accessor's value. Stops the program if the attribute cannot hold the
  /// value, or if only saves set the attribute.
  @inline(__always)
  private func stored(_ value: Value, _ kind: FieldKind, _ slot: Int) -> Value {
    if kind == .date { checkIsSettable(slot) }
    guard let stored = value.stored(as: kind) ?? unsaved(value, kind, slot) ?? value.date(for: kind)
    else { stopUnfit(value, slot) }
    return stored
  }

  private func checkIsSettable(_ slot: Int) {
    uncountedShape._withUnsafeGuaranteedRef { shape in
      if shape.saveTimeSlots.contains(slot) { stop(shape.saveTimeComplaint(slot)) }
    }
  }

  /// Calls the hooks that must run before a change. Returns false if the object is gone.
  @inline(never)
  private func canChange() -> Bool {
    wakeIfHookIsDue()
    return !header.pointee.isGone
  }

  /// The stored form of a value that is set by name; nil if the attribute cannot hold it.
  func held(_ value: Any, _ slot: Int) -> Value? {
    if let transformed = transformed(value, slot) { return transformed }
    if let type = collectionType(slot) { return type.converted(value) }
    guard let content = KeyedValue.content(of: value) else { return nil }
    switch shape.properties[slot] {
    case .attribute(let kind, _): return KeyedValue.exact(content, as: kind) ?? unsaved(content, kind, slot)
    case .transient(.objectID, _):
      guard case .objectID = content else { return nil }
      return content
    case .transient(.transformable, _) where content.transformationProblem != nil: return content
    case .transient(let type, _): return KeyedValue.exact(content, as: FieldKind(type))
    case .count, .derived, .relationship: return content
    }
  }

  /// The stored form of a value that only a save checks; nil for other values. Such values are ids
  /// for an attribute of ids, and values that a transformer could not convert.
  @inline(never)
  private func unsaved(_ value: Value, _ kind: FieldKind, _ slot: Int) -> Value? {
    if value.transformationProblem != nil, shape.transformableSlots.contains(slot) { return value }
    guard kind == .reference, case .objectID(let text) = value else { return nil }
    return core.graph.heldIdentity(text)
  }

  @inline(never)
  func stopUnfit(_ value: Value, _ slot: Int) -> Never {
    let type = shape.schema.properties[slot].attributeType.map { "\($0)" } ?? "nothing"
    stop(
      "\(shape.name).\(shape.propertyName(slot)) of \(objectID) holds \(type) and cannot hold "
        + "\(value.kindName) that is not of this type. Set user input with setCheckedValue(_:forKey:)."
    )
  }

  /// Changes an attribute without marking the object as changed.
  func setPrimitiveAttributeValue(_ value: Value, _ slot: Int) {
    core.checkOwner()
    checkSlot(slot)
    if core.editing.refusal.refusesChanges(self) {
      return core.editing.refusal.refuseChange(of: self, slot, value)
    }
    let kind = shape.attributeKinds[slot]
    guard kind != .absent else { return hold(.value(storedTransient(value, slot)), slot) }
    core.editing.objectEditor.setPrimitive(of: self, slot, stored(value, kind, slot))
  }

  /// The context; nil if the object is gone.
  func contextForChange() -> ContextCore? {
    core.checkOwner()
    return context
  }

  /// The context, if relationships of the object can change in it. Otherwise records a refused
  /// change for the next save, and returns nil.
  func contextForConnecting(_ slot: Int) -> ContextCore? {
    guard let context = contextForChange(), context.editing.refusal.existsOrVanishes(self) else {
      core.editing.refusal.refuseLink(of: self, slot)
      return nil
    }
    return context
  }
}

extension Value {
  /// The date for a number of seconds since the reference date. An accessor of the type
  /// `TimeInterval` passes such a number to a date attribute. Nil for other values and attributes.
  func date(for kind: FieldKind) -> Value? {
    guard kind == .date, case .double(let seconds) = self else { return nil }
    return .date(Date(timeIntervalSinceReferenceDate: seconds))
  }
}

// MARK: - Relationships

extension ManagedObject {
  /// The object at the other end of a to-one relationship.
  @usableFromInline @inline(never)
  final func related(_ slot: Int) -> ManagedObject? {
    if let kept = header.keptTarget(slot) {
      core.checkOwner()
      return kept?.takeUnretainedValue()
    }
    checkSlot(slot)
    let object = readRelated(slot)
    if header.pointee.wasReadBefore(slot) {
      uncountedCore._withUnsafeGuaranteedRef { $0.reading.siblings.keep(object, slot, of: self) }
    }
    return object
  }

  private func readRelated(_ slot: Int) -> ManagedObject? {
    uncountedCore._withUnsafeGuaranteedRef { core in
      core.checkOwner()
      if let row = readyRow(for: slot), row.fields[slot].kind == .reference {
        let field = row.fields[slot]
        // With the delete rule `noAction`, a row may refer to an object that was removed.
        guard row.isPresent(field), let target = core.viewState.shown(row.reference(field), of: reference)
        else {
          return nil
        }
        return core.reading.siblings.instance(of: target, at: slot, of: self)
      }
      if header.pointee.isGone, let reads = core.reading.retirement.probedReads {
        return reads.related(slot, of: self)
      }
      let relationship = shape.relationship(slot)
      if relationship.form == .column {
        guard let target = relatedReference(relationship) else { return nil }
        return header.pointee.isGone
          ? core.registry.lastInstance(of: target)
          : core.reading.siblings.instance(of: target, at: slot, of: self)
      }
      if let (relation, range) = core.reading.siblings.related(to: self, by: slot) {
        guard let place = range.first, let group = relation.group else { return nil }
        return core.reading.siblings.instance(at: Int(relation.places[place]), of: group)
      }
      return relatedReference(relationship).map { core.registry.instance(of: $0) }
    }
  }

  private func relatedReference(_ relationship: RelationshipShape) -> ObjectReference? {
    if relationship.form == .column {
      guard case .reference(let target) = columnValue(relationship.slot) else { return nil }
      return target
    }
    return context?.reading.links.target(of: reference, relationship)
  }

  /// Changes a to-one relationship and its inverse.
  func setRelated(_ object: ManagedObject?, _ slot: Int) {
    uncountedCore._withUnsafeGuaranteedRef { core in
      core.checkOwner()
      wakeIfHookIsDue()
      checkSlot(slot)
      guard !header.pointee.isGone, core.editing.refusal.existsOrVanishes(self) else {
        return core.editing.refusal.refuseLink(of: self, slot)
      }
      uncountedShape._withUnsafeGuaranteedRef { $0.uncountedRelationship(slot) }
        ._withUnsafeGuaranteedRef { relationship in
          if relationship.isToMany {
            stop("\(shape.name).\(relationship.name) is to-many. Set a collection instead of one object.")
          }
          guard let object else { return core.editing.linkEditor.clear(reference, relationship) }
          guard core.editing.refusal.canConnect(object, relationship) else {
            return core.editing.refusal.refuseLink(of: self, slot, to: object)
          }
          core.editing.linkEditor.connect(reference, relationship, object.reference)
        }
    }
  }

  /// The references at the other end of a to-many relationship, in no particular order.
  func relatedReferences(_ slot: Int) -> [ObjectReference] {
    core.checkOwner()
    return context?.reading.links.targets(of: reference, shape.relationship(slot)) ?? []
  }

  /// The walk of `siblings(_:)` for a relationship without a valid cached value.
  @usableFromInline @inline(never)
  final func siblingsAnew(_ slot: Int) -> SiblingWalk {
    checkSlot(slot)
    return uncountedCore._withUnsafeGuaranteedRef { core in
      core.checkOwner()
      return header.pointee.isGone ? walkOfGone(core) : walk(over: slot, core)
    }
  }

  /// The number of objects at the other end of a relationship.
  @usableFromInline
  final func relatedCount(_ slot: Int) -> Int {
    core.checkOwner()
    if let kept = header.keptTargets(slot) { return kept?._withUnsafeGuaranteedRef { $0.count } ?? 0 }
    if header.pointee.groupNumber != 0, let known = core.reading.siblings.count(of: self, slot) {
      return known
    }
    return context?.reading.links.targetCount(of: reference, shape.relationship(slot)) ?? 0
  }
}
