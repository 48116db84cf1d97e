// Registers undo groups with the undo manager of a window or document on Apple's systems.
// Foundation has no undo manager on other systems.

#if canImport(Darwin)
  public import Foundation

  /// Keeps the groups of a context's undo manager registered with an undo manager of Foundation.
  ///
  /// Each later group becomes an action of Foundation's manager, with the name that the group had
  /// at its end. The menu items of that manager, and gestures of the system, then call `undo` and
  /// `redo` of the context's manager. If groups disappear, for example by a rollback or a direct
  /// call of `undo`, their actions are removed. A group that was undone directly has no action to
  /// redo. If an undo is refused, its action is added again. Foundation's manager then removes its
  /// own actions to redo.
  @MainActor public final class FoundationUndoRegistration {
    private let actions: GroupActions

    /// Registers the groups that a manager completes after this call. Retain the registration as
    /// long as its actions are needed, and call `cancel` before you release it: Foundation's
    /// manager does not retain the targets of its actions.
    ///
    /// - Parameters:
    ///   - manager: The manager of a context of the main actor.
    ///   - target: The manager of a window or a document.
    ///   - onFailure: Called with the error of an `undo` or a `redo` that failed, for example
    ///     139003: values were changed after the group.
    public init(
      of manager: ContextUndoManager, with target: UndoManager,
      onFailure: @escaping (PerdureError) -> Void = { _ in }
    ) {
      actions = GroupActions(of: manager, on: FoundationActionStack(target), onFailure: onFailure)
    }

    /// Ends the registration, and removes its actions.
    public func cancel() { actions.cancel() }
  }

  /// An undo manager of Foundation.
  @MainActor private final class FoundationActionStack: UndoActionStack {
    private let target: UndoManager

    init(_ target: UndoManager) { self.target = target }

    func add(_ action: GroupAction, name: String) {
      // Outside of a grouping, Foundation's manager throws an Objective-C exception.
      let needsGroup = !target.groupsByEvent && target.groupingLevel == 0
      if needsGroup { target.beginUndoGrouping() }
      target.registerUndo(withTarget: action) { action in
        MainActor.assumeIsolated { action.perform() }
      }
      target.setActionName(name)
      if needsGroup { target.endUndoGrouping() }
    }

    func remove(_ action: GroupAction) { target.removeAllActions(withTarget: action) }

    func callAfterward(_ body: @escaping @MainActor () -> Void) {
      Task { @MainActor in body() }
    }
  }
#endif
