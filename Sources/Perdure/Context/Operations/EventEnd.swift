// The end of an event. With it, the undo group of the event ends, and observers are called.

internal import PerdurePredicates

/// Ends the events of a context.
final class EventEnd {
  private let registry: ObjectRegistry
  private let pending: PendingChanges
  private let transientState: TransientState
  private let eventHub: EventHub
  private let undoGroups: UndoGroups
  private let activity: ContextActivity

  init(
    registry: ObjectRegistry, pending: PendingChanges, transientState: TransientState,
    eventHub: EventHub, undoGroups: UndoGroups, activity: ContextActivity
  ) {
    self.registry = registry
    self.pending = pending
    self.transientState = transientState
    self.eventHub = eventHub
    self.undoGroups = undoGroups
    self.activity = activity
  }

  /// What is changed from now on belongs to another event (`changedValuesForCurrentEvent`).
  ///
  /// - Parameter prepare: Called when the changes of the event are known, before the observers.
  func endEvent(beforeTelling prepare: () -> Void = {}) {
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    undoGroups.endGroupOfEvent()
    let edited = editedInEvent()
    let news = eventHub.newsOfEvent(edited)
    for overlay in edited {
      transientState.dropTransientsAtEvent(overlay)
      overlay.endEvent()
    }
    registry.memory.pointee.eventEdits.begin(count: pending.count)
    pending.eventStarts = [:]
    eventHub.forgetGone()
    prepare()
    eventHub.tell(news)
  }

  /// The overlays that were edited in the current event, in order of reference. The others are as
  /// they were at its end.
  ///
  /// - Complexity: O(k log k) for k of them; at the first event O(pending changes).
  private func editedInEvent() -> [ObjectOverlay] {
    let edits = registry.memory.pointee.eventEdits
    guard edits.isComplete else { return pending.ordered.flatMap { $0 } }
    let references = Set(edits.references).sorted { $0.rawValue < $1.rawValue }
    return references.compactMap { pending[$0] }
  }

  // MARK: Operations that end the event

  /// Ends a closure of an undo group. The end of the outermost closure ends the event.
  func endGroup() {
    if undoGroups.end() { endEventOfOperation() }
  }

  /// Ends the group of an asynchronous closure, and the event.
  func endTask(_ token: UndoTask) {
    if undoGroups.endTask(token) { endEventOfOperation() }
  }

  /// Runs the save of a child as one undo group, and ends the event.
  func runSaveOfChild(_ body: () -> Void) {
    undoGroups.begin("")
    body()
    // Observers are called afterwards: their edits are not of the child.
    undoGroups.end()
    endEventOfOperation()
  }

  /// Ends the event together with a group or with the save of a child, unless a hook or an observer
  /// has made the group or saved the child.
  private func endEventOfOperation() {
    if activity.operationsEndEvents { endEvent() }
  }
}
