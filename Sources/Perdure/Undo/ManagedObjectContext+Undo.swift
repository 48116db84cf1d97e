extension ManagedObjectContext {
  /// Takes back edits of this context; nil, the default, for a context whose edits cannot be
  /// undone.
  ///
  /// A manager belongs to one context: one of another context stops the program. Setting another
  /// manager or nil forgets the groups of the previous one.
  public var undoManager: ContextUndoManager? {
    get { core.undoManager }
    set { core.setUndoManager(newValue) }
  }

  /// Takes back the last undo group; does nothing without an undo manager or a group.
  ///
  /// - Parameter policy: What to do about values that have changed since the group.
  /// - Throws: As `ContextUndoManager.undo`.
  public func undo(_ policy: UndoConflictPolicy = .refuse) throws(PerdureError) {
    try core.takeBack(.undo, policy)
  }

  /// Makes the last undone group again; does nothing without an undo manager or a group.
  ///
  /// - Parameter policy: What to do about values that have changed since the group.
  /// - Throws: As `ContextUndoManager.redo`.
  public func redo(_ policy: UndoConflictPolicy = .refuse) throws(PerdureError) {
    try core.takeBack(.redo, policy)
  }

  /// Runs a closure whose edits one undo takes back.
  ///
  ///     context.undoGroup("Move to Archive") {
  ///       note.folder = archive
  ///       note.isPinned = false
  ///     }
  ///
  /// Delete rules of its deletions are applied before it ends, and belong to the group. A closure
  /// inside another one belongs to the outer group. If the closure throws, its edits stay, and the
  /// group has them. Without an undo manager the closure just runs.
  ///
  /// - Parameters:
  ///   - name: The name for menus (`ContextUndoManager.undoActionName`).
  ///   - body: The edits.
  public func undoGroup<R, E: Error>(_ name: String, _ body: () throws(E) -> R) throws(E) -> R {
    core.beginUndoGroup(name)
    defer { core.endUndoGroup() }
    return try body()
  }

  /// Runs an asynchronous closure whose edits one undo takes back.
  ///
  /// The group has the edits of the closure's own task. Edits of other tasks, while the closure is
  /// suspended, belong to groups of their own; so two closures may overlap. If both change one
  /// property, undoing one of them can be a conflict. Groups are undone in the reverse of the order
  /// in which they ended.
  ///
  /// - Parameters:
  ///   - name: The name for menus (`ContextUndoManager.undoActionName`).
  ///   - isolation: The isolation of the context, in which the closure runs.
  ///   - body: The edits.
  public func undoGroup<R>(
    _ name: String, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> R
  ) async rethrows -> R {
    guard let token = core.beginUndoTask(name) else { return try await body() }
    defer { core.endUndoTask(token) }
    return try await UndoTask.$token.withValue(token, operation: body, isolation: isolation)
  }

  /// Runs a closure whose edits no undo takes back: for example the time of the last visit.
  ///
  /// An undo of an earlier edit of the same property is a conflict. What delete rules change for
  /// deletions of the closure belongs to no group either.
  public func withoutUndo<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    try core.withoutUndo(body)
  }
}

extension ContextCore {
  func setUndoManager(_ manager: ContextUndoManager?) {
    checkOwner()
    guard manager !== undoManager else { return }
    manager?.attach(to: self)
    let previous = undoManager
    undoManager = manager
    memory.pointee.recorder = manager.map { .passUnretained($0.recorder) }
    previous?.detach()
  }

  /// The handle is released, perhaps outside of the context's isolation: no observer is called.
  ///
  /// - Returns: The manager, whose groups may hold the last reference to an object of the program.
  func dropUndoManager() -> ContextUndoManager? {
    let manager = undoManager
    memory.pointee.recorder = nil
    undoManager = nil
    manager?.abandon()
    return manager
  }
}
