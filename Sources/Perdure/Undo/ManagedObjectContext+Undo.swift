extension ManagedObjectContext {
  /// The undo manager of this context. If it is nil, the default, edits cannot be undone.
  ///
  /// A manager belongs to one context. Setting a manager of another context stops the program.
  /// Setting another manager or nil removes the groups of the previous manager.
  public var undoManager: ContextUndoManager? {
    get { core.editing.undoGroups.manager }
    set { core.operations.undoing.setManager(newValue) }
  }

  /// Undoes the last group, and ends the event; does nothing without an undo manager.
  ///
  /// - Parameter policy: How to treat values that were changed after the group's edits.
  /// - Throws: As `ContextUndoManager.undo`.
  public func undo(_ policy: UndoConflictPolicy = .refuse) throws(PerdureError) {
    try core.operations.undoing.revertLastGroup(.undo, policy)
  }

  /// Redoes the last undone group, and ends the event; does nothing without an undo manager.
  ///
  /// - Parameter policy: How to treat values that were changed after the group's edits.
  /// - Throws: As `ContextUndoManager.redo`.
  public func redo(_ policy: UndoConflictPolicy = .refuse) throws(PerdureError) {
    try core.operations.undoing.revertLastGroup(.redo, policy)
  }

  /// Runs a closure, and adds its edits to one undo group.
  ///
  ///     context.undoGroup("Move to Archive") {
  ///       note.folder = archive
  ///       note.isPinned = false
  ///     }
  ///
  /// The delete rules of the closure's deletions are applied before the group ends, and their
  /// changes belong to the group. A closure inside another one belongs to the outer group. If the
  /// closure throws, its edits stay in the context and in the group. The end of the outermost
  /// closure ends the event, so observers of the context are called before the call returns. If a
  /// hook or an observer makes the call, the event continues. Without an undo manager, the call
  /// only runs the closure.
  ///
  /// - Parameters:
  ///   - name: The name for menus (`ContextUndoManager.undoActionName`).
  ///   - body: The edits.
  public func undoGroup<R, E: Error>(_ name: String, _ body: () throws(E) -> R) throws(E) -> R {
    core.checkOwner()
    core.editing.undoGroups.begin(name)
    defer { core.operations.eventEnd.endGroup() }
    return try body()
  }

  /// Runs an asynchronous closure, and adds its edits to one undo group.
  ///
  /// Like the other overload, this method ends the event. The group contains the edits of the
  /// closure's task, and of tasks that the closure starts while it runs. While the closure is
  /// suspended, edits of other tasks are in other groups. So two closures can overlap. If both
  /// change the same property, undoing one of the groups can be a conflict. Groups are undone in
  /// the reverse of the order in which they ended.
  ///
  /// - Parameters:
  ///   - name: The name for menus (`ContextUndoManager.undoActionName`).
  ///   - isolation: The isolation of the context, in which the closure runs.
  ///   - body: The edits.
  public func undoGroup<R>(
    _ name: String, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> R
  ) async rethrows -> R {
    core.checkOwner()
    guard let token = core.editing.undoGroups.beginTask(name) else { return try await body() }
    defer { core.operations.eventEnd.endTask(token) }
    return try await UndoTask.$token.withValue(token, operation: body, isolation: isolation)
  }

  /// Runs a closure whose edits cannot be undone, for example to set the time of the last visit.
  ///
  /// An undo of an earlier edit of the same property is then a conflict. Changes by the delete
  /// rules of the closure's deletions cannot be undone either. The closure must not call `undo` or
  /// `redo`.
  public func withoutUndo<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    core.checkOwner()
    return try core.editing.undoGroups.excluding(body)
  }
}
