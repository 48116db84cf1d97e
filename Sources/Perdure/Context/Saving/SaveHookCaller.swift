// The hooks of a save: what the program's own classes change, refuse, and are told.
//
// Before anything is written, every pending object whose class has a hook is asked, in order of entity and
// identity:
//
//   S1. `willSave`, to a fixed point. Who is changed after its `willSave` began is called again, so whatever a
//       `willSave` does, to its own object or to others, is seen by the `willSave` of who it was done to.
//   S2. Then `validateValue` and `validateForInsert`, `validateForUpdate` or `validateForDelete`. If anything is
//       changed by them, all begins again with S1 for who was changed, and validation for everybody: a rule may look at
//       several objects, also such as have no hooks themselves. The methods of an object that leads to nothing
//       where it has to (1570) are not called: to read such a property stops the program.
//   S3. After 1,000 rounds of both together the save gives up, and names who still changes.
//   S4. Objects that were inserted and deleted since the last save hear nothing of it, nor do those that another
//       context has removed: the save refuses them anyway.
//
// Hooks may insert, delete, discard, roll back and reset; so an overlay is only believed while the tracker has it.
// They may not save: a save inside a save would write half of it.

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
  private let reading: ContextReading
  private let deleteRules: DeleteRules
  private let classValidation: ClassValidation
  private let objectEditor: ObjectEditor
  private let activity: ContextActivity

  init(
    _ reading: ContextReading, _ deleteRules: DeleteRules, _ classValidation: ClassValidation,
    _ objectEditor: ObjectEditor, _ activity: ContextActivity
  ) {
    registry = reading.registry
    viewState = reading.viewState
    pending = reading.pending
    self.reading = reading
    self.deleteRules = deleteRules
    self.classValidation = classValidation
    self.objectEditor = objectEditor
    self.activity = activity
  }

  static let saveRoundsMax = 1000

  /// Stops a program that saves where everything is in motion.
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

  /// Lets objects prepare for the save, and refuse it.
  ///
  /// - Returns: What their validation has found. Delete rules are applied.
  func callSaveHooks() throws(PerdureError) -> [PerdureError.Detail] {
    guard pending.containsEntity(where: \.hasSaveHooks) else { return [] }
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
    registry.instance(of: overlay.reference).willSave()
  }

  // MARK: After the commit

  /// The objects that are told when the commit is done, each with what it will have made of them. Those that go
  /// are loaded, so that they can be read to the end.
  func objectsToTell() -> [(object: ManagedObject, state: ObjectState)] {
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

  /// A row that cannot be read is no reason to refuse what comes after the commit that removes it.
  private func loadQuietly(_ object: ManagedObject) {
    let before = viewState.readFailure
    _ = reading.rows.loadRow(of: object)
    viewState.readFailure = before
  }

  /// Calls `didSave`, while the objects still say what they were before. What it changes is pending.
  func callDidSave(_ saved: [(object: ManagedObject, state: ObjectState)]) {
    for (object, state) in saved { object.header.pointee.savedState = state }
    for (object, _) in saved { object.didSave() }
    for (object, _) in saved { object.header.pointee.savedState = nil }
  }

  // MARK: Attributes with the time of the save

  /// Sets the attributes, after the hooks of the save and before validation.
  func setSaveTimes() {
    guard !viewState.isChild, pending.containsEntity(where: { !$0.saveTimeSlots.isEmpty }) else { return }
    let now = Value.date(Date())
    for overlay in pending.ordered.joined() {
      let slots = overlay.shape.saveTimeSlots
      guard !slots.isEmpty, !overlay.isDeleted, overlay.isToBeWritten,
        !viewState.hasVanished(overlay.reference)
      else { continue }
      for slot in slots { setAttribute(overlay, slot, now) }
    }
  }

  /// Changes a column. Needs no instance if other columns have changed.
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
