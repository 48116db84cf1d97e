// Actions for undo groups in an undo manager of the system, such as Foundation's.
//
// Foundation's manager exists only on Apple's systems, so it is used through a protocol. Tests have
// an implementation of their own.
//
// Invariants:
//   GA1. The actions to undo are those of the groups that can be undone and were added after the
//        registration, in the same order. The actions agree with the groups after each change of
//        the groups.
//   GA2. An action to redo can be added only during an undo. The actions to redo are those of the
//        last groups that can be redone, or there are none.

/// An undo manager of the system, which stores the actions.
@MainActor protocol UndoActionStack: AnyObject {
  /// Adds an action. During an undo of this manager, it is an action to redo, otherwise an action
  /// to undo. If neither an undo nor a redo is running, the actions to redo are removed.
  func add(_ action: GroupAction, name: String)
  /// Removes an action. Does nothing if the manager does not have it.
  func remove(_ action: GroupAction)
  /// Calls a closure after the running undo or redo of this manager.
  func callAfterward(_ body: @escaping @MainActor () -> Void)
}

/// The action of one group.
@MainActor final class GroupAction {
  fileprivate let number: UInt64
  private let direction: UndoHistory.Direction
  private weak var actions: GroupActions?

  fileprivate init(_ group: UndoGroup, _ direction: UndoHistory.Direction, _ actions: GroupActions) {
    number = group.number
    self.direction = direction
    self.actions = actions
  }

  /// Called by the system's undo manager. That manager also removes the action.
  func perform() { actions?.perform(self, direction) }
}

/// Keeps the actions of a manager equal to the groups of a context.
@MainActor final class GroupActions {
  private let manager: ContextUndoManager
  private let stack: any UndoActionStack
  private let onFailure: (PerdureError) -> Void
  private var observation: ContextObservation?
  /// The number of the last group before the registration. Groups up to this number have no
  /// actions.
  private let lastNumberBefore: UInt64
  private var undoActions: [GroupAction] = []
  private var redoActions: [GroupAction] = []
  private var isPerforming = false

  init(
    of manager: ContextUndoManager, on stack: any UndoActionStack,
    onFailure: @escaping (PerdureError) -> Void
  ) {
    self.manager = manager
    self.stack = stack
    self.onFailure = onFailure
    lastNumberBefore = manager.lastGroupNumber
    observation = manager.observe { [weak self] _ in
      MainActor.assumeIsolated { self?.synchronize() }
    }
  }

  func cancel() {
    observation?.cancel()
    removeUndoActions(from: 0)
    removeRedoActions()
  }

  private func removeUndoActions(from position: Int) {
    for action in undoActions[position...] { stack.remove(action) }
    undoActions.removeSubrange(position...)
  }

  private func removeRedoActions() {
    for action in redoActions { stack.remove(action) }
    redoActions = []
  }

  /// Removes the actions of groups that no longer exist, and adds actions for new groups.
  private func synchronize() {
    if isPerforming { return }
    let groups = manager.groups(.undo).filter { $0.number > lastNumberBefore }
    let equalCount = zip(undoActions, groups).prefix { $0.number == $1.number }.count
    removeUndoActions(from: equalCount)
    for group in groups[equalCount...] {
      removeRedoActions()
      let action = GroupAction(group, .undo, self)
      undoActions.append(action)
      stack.add(action, name: group.name)
    }
    let lastGroups = manager.groups(.redo).suffix(redoActions.count)
    if lastGroups.map(\.number) != redoActions.map(\.number) { removeRedoActions() }
  }

  fileprivate func perform(_ action: GroupAction, _ direction: UndoHistory.Direction) {
    undoActions.removeAll { $0 === action }
    redoActions.removeAll { $0 === action }
    isPerforming = true
    do throws(PerdureError) {
      if direction == .undo { try manager.undo() } else { try manager.redo() }
      addReverse(direction)
    } catch {
      onFailure(error)
    }
    isPerforming = false
    // Adds the action of a refused undo again. An action that is added during an undo becomes an
    // action to redo, so `synchronize` runs after the undo.
    stack.callAfterward { [weak self] in self?.synchronize() }
  }

  private func addReverse(_ direction: UndoHistory.Direction) {
    let reverse: UndoHistory.Direction = direction == .undo ? .redo : .undo
    guard let group = manager.groups(reverse).last else { return }
    let action = GroupAction(group, reverse, self)
    if reverse == .undo { undoActions.append(action) } else { redoActions.append(action) }
    stack.add(action, name: group.name)
  }
}
