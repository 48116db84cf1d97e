// A save of a child context. ChildIntake takes over its changes.

internal import PerdurePredicates

extension ContextCore {
  /// Takes over what a child has saved; it has been judged before.
  ///
  /// - Throws: what the store throws; then nothing has changed.
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
