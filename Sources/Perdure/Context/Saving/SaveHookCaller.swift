// Calls the hooks of a save: classes can change values before it, refuse it, and react to it.
//
// Before anything is written, the hooks of all objects with unsaved changes are called, in order of
// entity and id:
//
//   SH1. `willSave`, until nothing changes. If an object is changed after its `willSave` began,
//        `willSave` is called again. So each object's `willSave` runs after all changes that other
//        hooks made to it.
//   SH2. Then `validateValue` and `validateForInsert`, `validateForUpdate` or `validateForDelete`.
//        If these change anything, SH1 is repeated for the changed objects. Then validation is
//        repeated for all objects, because a rule may read several objects, including objects
//        without hooks. If a required to-one relationship of an object has no target (1570),
//        `validateForInsert` and `validateForUpdate` are not called: a read of that relationship
//        does not return a valid object.
//   SH3. After 1,000 rounds of SH1 and SH2 together, the save throws an error with the objects that
//        still change.
//   SH4. No hooks are called for objects that were inserted and deleted since the last save. The
//        same applies to objects that another context has removed, because the save refuses them.
//
// Hooks may insert, delete, discard, roll back and reset. Therefore an overlay is used only while
// `PendingChanges` contains it. Hooks must not save, because a nested save writes only a part of
// the changes.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Calls the hooks of a save, and the validation of the program's classes.
final class SaveHookCaller {
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  @Shared private var reading: ContextReading
  private let recording: EditRecording
  private let deleteRules: DeleteRules
  private let classValidation: ClassValidation
  private let objectEditor: ObjectEditor
  private let activity: ContextActivity

  init(
    reading: Shared<ContextReading>, recording: EditRecording, deleteRules: DeleteRules,
    classValidation: ClassValidation, objectEditor: ObjectEditor, activity: ContextActivity
  ) {
    registry = reading.registry
    viewState = reading.viewState
    pending = reading.pending
    _reading = reading
    self.recording = recording
    self.deleteRules = deleteRules
    self.classValidation = classValidation
    self.objectEditor = objectEditor
    self.activity = activity
  }

  static let saveRoundsMax = 1000

  /// Stops the program if it saves inside of a hook that must not save.
  func checkSaveIsPossible() {
    if activity.isPropagating {
      stop(
        "save() was called by prepareForDeletion of an object that a delete rule deletes. Save after the deletion."
      )
    }
    if activity.isValidating {
      stop(
        "save() was called by a validation hook of validate(). Remove the call: changes in hooks stay pending."
      )
    }
    if activity.isSaving {
      stop(
        "save() was called by a hook of a save: willSave, didSave or a validation. Remove the call: the running save "
          + "saves the changes of willSave, and those of didSave stay pending.")
    }
  }

  /// Calls the hooks before a save, and applies the delete rules.
  ///
  /// - Returns: The violations that the validation has found.
  /// - Throws: 139000 after too many rounds (SH3), or the error of a failed read.
  func callSaveHooks() throws(PerdureError) -> [PerdureError.Detail] {
    var changed = pending.saved(where: { $0.shape.hasSaveHooks }, in: viewState)
    var count = 0
    while true {
      count += 1
      if count > Self.saveRoundsMax {
        throw .endlessChanges(changed.map { pending.objectID(of: $0.reference) })
      }
      for overlay in changed { willSave(overlay) }
      deleteRules.propagateDeletes()
      try viewState.throwReadFailure()
      changed = pending.saved(
        where: { $0.isTouched && $0.shape.lifeCycle.contains(.willSave) }, in: viewState)
      guard changed.isEmpty else { continue }
      for overlay in pending.all { overlay.isTouched = false }
      let refusals = classValidation.validateObjects()
      deleteRules.propagateDeletes()
      changed = pending.saved(where: \.isTouched, in: viewState)
      if changed.isEmpty { return refusals }
    }
  }

  private func willSave(_ overlay: ObjectOverlay) {
    guard overlay.shape.lifeCycle.contains(.willSave), pending.isSaved(overlay, in: viewState) else { return }
    overlay.isTouched = false
    let object = registry.instance(of: overlay.reference)
    recording.callHook(of: overlay.reference) {
      object.willSave()
      // The changes by delete rules belong to the same groups as the deletion.
      deleteRules.propagateDeletes()
    }
  }

  // MARK: After the commit

  /// The objects whose `didSave` is called after the commit, with their states in the save. Loads
  /// the deleted ones, so that they stay readable.
  func objectsForDidSave() -> [(object: ManagedObject, state: ObjectState)] {
    guard pending.containsEntity(where: { $0.lifeCycle.contains(.didSave) }) else { return [] }
    return pending.ordered.joined().filter {
      $0.shape.lifeCycle.contains(.didSave) && pending.isSaved($0, in: viewState)
    }
    .map { overlay in
      let object = registry.instance(of: overlay.reference)
      if overlay.isDeleted { loadQuietly(object) }
      return (object, overlay.state)
    }
  }

  /// Loads a row without recording a failure: a failed read must not prevent the commit that
  /// removes the row.
  private func loadQuietly(_ object: ManagedObject) {
    let before = viewState.readFailure
    _ = reading.rows.loadRow(of: object)
    viewState.readFailure = before
  }

  /// Calls `didSave`. During these calls, each object reports the state that it had before the
  /// save, unless it was deleted afterwards. Changes by the hook are unsaved changes.
  func callDidSave(_ saved: [(object: ManagedObject, state: ObjectState)]) {
    for (object, state) in saved { object.header.pointee.savedState = state }
    for (object, _) in saved { object.didSave() }
    for (object, _) in saved { object.header.pointee.savedState = nil }
  }

  // MARK: Attributes with the time of the save

  /// An attribute that a save has set to the time of the save.
  struct SaveTime {
    fileprivate let reference: ObjectReference
    fileprivate let slot: Int
    /// The unsaved value before the save; nil if there was none.
    fileprivate let earlier: Value?
  }

  /// Sets the attributes that store the time of the save. Runs after the hooks of the save, and
  /// before the rules of the model are checked. Does nothing in a child context: the save of the
  /// topmost parent sets them.
  ///
  /// - Returns: The attributes, for `restore` if the save fails.
  func setSaveTimes() -> [SaveTime] {
    guard !viewState.isChild, pending.containsEntity(where: { !$0.saveTimeSlots.isEmpty }) else { return [] }
    let now = Value.date(Date())
    var times: [SaveTime] = []
    for overlay in pending.ordered.joined() {
      let slots = overlay.shape.saveTimeSlots
      guard !slots.isEmpty, !overlay.isDeleted, overlay.isToBeWritten,
        !viewState.hasVanished(overlay.reference)
      else { continue }
      for slot in slots {
        times.append(SaveTime(reference: overlay.reference, slot: slot, earlier: overlay.value(slot)))
        setAttribute(overlay, slot, now)
      }
    }
    return times
  }

  /// Restores attributes after a save has failed (CX4).
  func restore(_ times: [SaveTime]) {
    for time in times {
      guard let overlay = pending[time.reference] else { continue }
      if let earlier = time.earlier {
        overlay.setValue(earlier, time.slot)
        continue
      }
      overlay.unmark { slot, _ in slot == time.slot }
      if !overlay.changesRow, !overlay.isDeleted { overlay.baseVersion = nil }
      pending.dropIfUnchanged(overlay)
    }
  }

  /// Sets a column. Needs no instance if other columns have changed.
  private func setAttribute(_ overlay: ObjectOverlay, _ slot: Int, _ value: Value) {
    if overlay.changesRow { return overlay.setValue(value, slot) }
    objectEditor.setAttribute(of: registry.instance(of: overlay.reference), slot, value)
  }
}

extension PerdureError {
  fileprivate static func endlessChanges(_ objects: [ManagedObjectID]) -> PerdureError {
    let named = objects.prefix(3).map(\.uri).joined(separator: ", ") + (objects.count > 3 ? ", …" : "")
    var error = PerdureError(
      .endlessChanges,
      "After \(SaveHookCaller.saveRoundsMax) rounds, willSave or validation still changes \(named). Let them set a "
        + "value only if it differs, or use setPrimitiveValue. Nothing was saved.")
    error.objectIDs = objects
    return error
  }
}
