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
    saving.childIntake.apply(changes, of: change, transients)
    // Observers are called afterwards: their edits are not of the child.
    completeUndoGroup()
    endEventOfOperation()
  }
}
