// Changes of columns and transient attributes, and deletions of objects. The objects may have no
// instance.

internal import PerdurePredicates

/// Changes single objects.
final class ObjectEditor {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let pending: PendingChanges
  @Shared private var reading: ContextReading
  private let hooks: ObjectHooks
  private let refusal: ChangeRefusal
  private let recording: EditRecording

  init(
    _ reading: Shared<ContextReading>, hooks: ObjectHooks, refusal: ChangeRefusal, recording: EditRecording
  ) {
    graph = reading.graph
    registry = reading.registry
    pending = reading.pending
    _reading = reading
    self.hooks = hooks
    self.refusal = refusal
    self.recording = recording
  }

  // MARK: Columns

  /// Sets an attribute for an accessor of the object.
  @inline(__always)
  func setAttribute(of object: ManagedObject, _ slot: Int, _ value: Value) {
    if let overlay = object.overlay, overlay.changesRow {
      if overlay.isDiscarded, refusal.isDiscarded(object) {
        return refusal.refuseChange(of: object, slot, value)
      }
      overlay.setValue(value, slot)
    } else if object.header.pointee.wakefulness.contains(.waking) {
      setRowValue(of: object, slot, value)
    } else {
      setFirstAttribute(of: object, slot, value)
    }
  }

  @inline(never)
  private func setFirstAttribute(of object: ManagedObject, _ slot: Int, _ value: Value) {
    guard reading.rows.loadRow(of: object) else { return refusal.refuseChange(of: object, slot, value) }
    // Runs the refresh hook before the new value is applied.
    if object.header.pointee.wakefulness.contains(.hookIsDue), !hooks.wake(object) {
      return refusal.refuseChange(of: object, slot, value)
    }
    setColumn(of: object, slot, value)
  }

  /// Sets an attribute without calling hooks. If the object has unsaved changes, the value is saved
  /// or rolled back with them. Otherwise only the instance has the value.
  func setPrimitive(of object: ManagedObject, _ slot: Int, _ value: Value) {
    guard let overlay = object.overlay else { return setRowValue(of: object, slot, value) }
    if overlay.changesRow { return overlay.setPrimitiveValue(value, slot) }
    if object.header.pointee.wakefulness.contains(.waking) { return setRowValue(of: object, slot, value) }
    let wasTouched = overlay.isTouched
    setFirstColumn(of: object, slot, value)
    overlay.isTouched = wasTouched
  }

  /// Sets a value in an instance's copy of its row. This is not an unsaved change: the value is
  /// dropped with the row, and saved only if another change writes the row.
  private func setRowValue(of object: ManagedObject, _ slot: Int, _ value: Value) {
    let header = object.header
    guard reading.rows.loadRow(of: object), let row = header.pointee.loadedRow,
      let layouts = object.shape.storage.layouts
    else { return }
    let bytes = RowWriter(layouts).row(base: row) { $0 == slot ? .value(value) : .copied }
    let epoch = header.pointee.epoch
    let isAltered =
      !header.pointee.wakefulness.contains(.waking)
      || header.pointee.wakefulness.contains(.altered)
    let version = header.pointee.version
    layouts.withRow(bytes) { header.pointee.setRow($0, version: version) }
    header.pointee.epoch = epoch
    header.pointee.wakefulness.insert(.rewritten)
    if isAltered { header.pointee.wakefulness.insert(.altered) }
  }

  /// Sets a column of an object with an instance.
  @inline(__always)
  func setColumn(of object: ManagedObject, _ slot: Int, _ value: Value) {
    if let overlay = object.overlay, overlay.changesRow {
      overlay.setValue(value, slot)
    } else {
      setFirstColumn(of: object, slot, value)
    }
  }

  @inline(never)
  private func setFirstColumn(of object: ManagedObject, _ slot: Int, _ value: Value) {
    guard reading.rows.loadRow(of: object) else { return }
    let overlay = pending.overlay(for: object.reference)
    overlay.setValue(value, slot)
    overlay.baseVersion = overlay.baseVersion ?? object.header.pointee.version
    object.header.pointee.shut()
  }

  /// Sets a column of an object with or without an instance.
  func setColumn(_ reference: ObjectReference, _ slot: Int, _ value: Value) {
    if let overlay = pending[reference], overlay.changesRow {
      overlay.setValue(value, slot)
      return
    }
    if let object = registry.identityMap.object(reference) {
      setColumn(of: object, slot, value)
      return
    }
    guard let version = reading.rows.viewVersion(of: reference) else { return }
    let overlay = pending.overlay(for: reference)
    overlay.setValue(value, slot)
    overlay.baseVersion = overlay.baseVersion ?? version
  }

  // MARK: Transient attributes

  /// Sets a transient attribute (TV2). Refuses the change if the object no longer exists or will
  /// never be saved.
  func setTransient(of object: ManagedObject, _ slot: Int, _ held: TransientValues.Held) {
    guard !refusal.refusesChanges(object), object.overlay?.isNew == true || hooks.wake(object) else {
      return refusal.refuseChange(of: object, slot, held.typedValue)
    }
    recording.recordTransient(object.reference, slot)
    noteTransients(of: object)
    if !object.header.pointee.wakefulness.contains(.waking) {
      object.overlay?.transientsBefore?.setSince.insert(slot)
      object.overlay?.transientsAtEvent?.setSince.insert(slot)
    }
    object.hold(held, slot)
  }

  /// Copies the transient values of an object before they change (TV2).
  func noteTransients(of object: ManagedObject) {
    // Values that `awakeFromFetch` sets are not changes.
    if object.header.pointee.wakefulness.contains(.waking) { return }
    let overlay = pending.overlay(for: object.reference)
    if overlay.transientsBefore == nil || overlay.transientsAtEvent == nil {
      // Without a handle, no rollback can happen and no previous value can be read.
      let held = registry.isAbandoned ? nil : object.header.pointee.transients?.takeUnretainedValue().bySlot
      if overlay.transientsBefore == nil { overlay.transientsBefore = TransientValues(held ?? [:]) }
      if overlay.transientsAtEvent == nil { overlay.transientsAtEvent = TransientValues(held ?? [:]) }
    }
    overlay.isTouched = true
    overlay.joinEvent()
  }

  // MARK: Deletions

  /// Marks an object as deleted, with or without an instance.
  func markDeleted(_ reference: ObjectReference) {
    let object = registry.identityMap.object(reference)
    // A changed object can be deleted even if its row was removed: a refresh then drops its
    // changes.
    if let object, pending[reference]?.baseVersion == nil, reading.rows.hasRow(object) != true { return }
    guard pending[reference] != nil || reading.rows.viewVersion(of: reference) != nil else { return }
    if pending.isDeleted(reference) { return }
    recording.recordDeletion(reference)
    let overlay = pending.overlay(for: reference)
    overlay.isDeleted = true
    overlay.deletedWith = nil
    overlay.isPropagatedAgain = recording.recorder?.isApplyingRulesAgain == true
    overlay.isTouched = true
    if !overlay.isNew, overlay.baseVersion == nil {
      overlay.baseVersion = loadedVersion(object) ?? reading.rows.viewVersion(of: reference)
    }
    pending.propagateLater(overlay)
  }

  /// Cancels a deletion. The other changes of the object stay.
  func unmarkDeleted(_ overlay: ObjectOverlay) {
    recording.recorder?.note(.object(overlay.reference)) { .absent }
    overlay.isDeleted = false
    overlay.isPropagated = false
    overlay.deletedWith = nil
  }

  private func loadedVersion(_ object: ManagedObject?) -> RowVersion? {
    guard let object, object.header.pointee.row != nil else { return nil }
    return object.header.pointee.version
  }
}
