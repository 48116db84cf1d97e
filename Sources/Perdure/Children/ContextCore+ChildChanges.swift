// A save of a child context. ChildIntake adopts its changes.

internal import PerdurePredicates

extension ContextCore {
  /// Adopts the changes of a child, after all checks.
  ///
  /// - Throws: The errors of the store; then nothing has changed.
  func take(_ change: StoreChange, _ transients: [ChangedTransients]) throws {
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    let changes = try saving.childIntake.changes(change)
    beginUndoGroup("")
    defer { endUndoGroup() }
    saving.childIntake.apply(changes, of: change, transients)
    if !activity.isSaving { endEvent() }
  }
}
