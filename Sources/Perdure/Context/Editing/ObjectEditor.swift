// Changes of columns and transient attributes, and deletions, of objects with and without an instance.

internal import PerdurePredicates

/// Changes single objects.
final class ObjectEditor {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  private let reading: ContextReading
  private let hooks: ObjectHooks
  private let refusal: ChangeRefusal
  private let recording: EditRecording

  init(_ reading: ContextReading, _ hooks: ObjectHooks, _ refusal: ChangeRefusal, _ recording: EditRecording)
  {
    graph = reading.graph
    registry = reading.registry
    viewState = reading.viewState
    pending = reading.pending
    self.reading = reading
    self.hooks = hooks
    self.refusal = refusal
    self.recording = recording
  }

  // MARK: Columns

  /// Changes an attribute for who touches the object.
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
    if object.header.pointee.wakefulness.contains(.drowsy), !hooks.wake(object) {
      return refusal.refuseChange(of: object, slot, value)
    }
    setColumn(of: object, slot, value)
  }

  /// Changes an attribute without anybody being told. Of an object that is pending it is saved with the rest, and
  /// rolled back with it; of any other it is the instance's alone.
  func setPrimitive(of object: ManagedObject, _ slot: Int, _ value: Value) {
    guard let overlay = object.overlay else { return setRowValue(of: object, slot, value) }
    if overlay.changesRow { return overlay.setPrimitiveValue(value, slot) }
    if object.header.pointee.wakefulness.contains(.waking) { return setRowValue(of: object, slot, value) }
    let wasTouched = overlay.isTouched
    setFirstColumn(of: object, slot, value)
    overlay.isTouched = wasTouched
  }

  /// Gives an instance another value than its row in the store has, which is no change: it is gone with the
  /// row, and saved if something else makes the row be written.
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
    do {
      try bytes.withUnsafeBytes {
        let row = try graph.store.rows.view($0, of: object.reference)
        header.pointee.setRow(row, version: header.pointee.version)
      }
    } catch {
      preconditionFailure("A row that was just written cannot be read.")
    }
    header.pointee.epoch = epoch
    header.pointee.wakefulness.insert(.rewritten)
    if isAltered { header.pointee.wakefulness.insert(.altered) }
  }

  /// Changes a column of an object that has an instance.
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

  /// Changes a column of an object that may have no instance.
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

  /// Sets a transient attribute (T2). What is gone stays as it is.
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

  /// Remembers what the transient attributes of an object hold, which is about to change (T2).
  func noteTransients(of object: ManagedObject) {
    // What `awakeFromFetch` sets is no change.
    if object.header.pointee.wakefulness.contains(.waking) { return }
    let overlay = pending.overlay(for: object.reference)
    if overlay.transientsBefore == nil || overlay.transientsAtEvent == nil {
      // Nobody can roll back any more when the handle is gone, nor ask what was before.
      let held = registry.isAbandoned ? nil : object.header.pointee.transients?.takeUnretainedValue().bySlot
      if overlay.transientsBefore == nil { overlay.transientsBefore = TransientValues(held ?? [:]) }
      if overlay.transientsAtEvent == nil { overlay.transientsAtEvent = TransientValues(held ?? [:]) }
    }
    overlay.isTouched = true
  }

  // MARK: Deletions

  /// Marks an object as deleted, with or without an instance.
  func markDeleted(_ reference: ObjectReference) {
    let object = registry.identityMap.object(reference)
    // What has changes on a row that is gone can be deleted: then a refresh forgets it.
    if let object, pending[reference]?.baseVersion == nil, reading.rows.hasRow(object) != true { return }
    guard pending[reference] != nil || reading.rows.viewVersion(of: reference) != nil else { return }
    if pending.isDeleted(reference) { return }
    recording.recordDeletion(reference)
    let overlay = pending.overlay(for: reference)
    overlay.isDeleted = true
    overlay.deletedWith = nil
    overlay.isTouched = true
    if !overlay.isNew, overlay.baseVersion == nil {
      overlay.baseVersion = loadedVersion(object) ?? reading.rows.viewVersion(of: reference)
    }
    pending.propagateLater(overlay)
  }

  /// Takes the mark of a deletion back. The other changes of the object stay.
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
