// The end of an event. When an event ends, its undo group ends, and observers are called.

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

  /// Ends the current event. Later changes belong to another event
  /// (`changedValuesForCurrentEvent`).
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

  /// The overlays that were edited in the current event, sorted by object reference. The others
  /// have not changed since the end of the previous event.
  ///
  /// - Complexity: O(k log k) for k edited overlays; O(unsaved changes) if not all edits were
  ///   noted.
  private func editedInEvent() -> [ObjectOverlay] {
    let edits = registry.memory.pointee.eventEdits
    guard edits.isComplete else { return pending.ordered.flatMap { $0 } }
    let references = Set(edits.references).sorted { $0.rawValue < $1.rawValue }
    return references.compactMap { pending[$0] }
  }

  // MARK: Operations that end the event

  /// Called when the closure of `undoGroup(_:_:)` has returned or thrown. The end of the outermost
  /// closure ends the event.
  func endGroup() {
    if undoGroups.end() { endEventOfOperation() }
  }

  /// Ends the group of an asynchronous closure, and the event.
  func endTask(_ token: UndoTask) {
    if undoGroups.endTask(token) { endEventOfOperation() }
  }

  /// Runs the save of a child as one undo group.
  ///
  /// - Parameter body: Applies the save. If it throws, it has changed nothing.
  /// - Returns: A closure that ends the event and calls the observers of this context and of its
  ///   undo manager. These may edit the child, so the child calls the closure at the end of its
  ///   save.
  func runSaveOfChild(_ body: () throws -> Void) throws -> () -> Void {
    let holding = undoGroups.holdReports()
    undoGroups.begin("")
    do { try body() } catch {
      undoGroups.end()
      holding?.releaseReports()
      throw error
    }
    undoGroups.end()
    return {
      holding?.releaseReports()
      self.endEventOfOperation()
    }
  }

  /// Ends the event after a group or after a child's save. Does nothing if a hook or an observer
  /// began the group or saved the child.
  private func endEventOfOperation() {
    if activity.operationsEndEvents { endEvent() }
  }
}
