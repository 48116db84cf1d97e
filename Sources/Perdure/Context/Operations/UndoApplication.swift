// Undoes and redoes a group of edits.
//
// An undo sets each place (`EditedPlace`) to its content before the group. These changes are
// ordinary edits: the recorder adds them to a new group, and a redo undoes that group. So undo and
// redo are one function. A redo reverts all changes of the undo, also those by delete rules. The
// steps:
//
//   1. objects that the group has removed   inserted again with their attributes
//   2. columns                              to-one relationships with their other ends
//   3. links, positions, transient attributes
//   4. objects that the group has added     removed
//
// Invariants:
//   UN1. Before an undo changes anything, it compares each place with the content after the group.
//        A place conflicts if its content is neither the content after the group nor that before
//        it. If a refresh or a save has dropped a deletion of the group, a column of the object
//        conflicts unless its content is that from before the group. A transient attribute that has
//        lost its value with its instance does not conflict. A place also conflicts in these cases:
//        - Its object does not exist, and the undo does not restore it.
//        - An unsaved edit hides a content that another context has saved (HS1 in
//          HiddenSaves.swift).
//        - An earlier group and this group have changed the place in turns, or an earlier group has
//          deleted the object after the change (EarlierGroups.swift).
//        - The other end of a restored link does not exist, or has another partner now.
//        - The undo removes an object whose columns have changed since, or that has new targets
//          that a cascade deletes.
//   UN2. The contents before a group agree with each other (both ends of a one-to-one relationship,
//        links and positions). So the order within the steps 2 and 3 does not matter.
//   UN3. If a read fails, nothing is undone, and all groups stay (VR1 in EditReversal.swift).
//   UN4. If an earlier group has removed one end of a link, and the removal was saved, the undo
//        leaves the link out. The undo of the earlier group restores it (UndoDeferral.swift).

internal import PerdurePredicates

/// Undoes and redoes the groups of a context.
final class UndoApplication {
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let transientState: TransientState
  private let deleteRules: DeleteRules
  private let undoGroups: UndoGroups
  private let conflictFinder: UndoConflictFinder
  private let undoRestorer: UndoRestorer
  private let eventHub: EventHub
  private let reversal: EditReversal
  private let eventEnd: EventEnd
  private let activity: ContextActivity
  private let ownership: ContextOwnership

  init(
    registry: ObjectRegistry, viewState: ViewState, transientState: TransientState,
    deleteRules: DeleteRules, undoGroups: UndoGroups, conflictFinder: UndoConflictFinder,
    undoRestorer: UndoRestorer, eventHub: EventHub, reversal: EditReversal, eventEnd: EventEnd,
    activity: ContextActivity, ownership: ContextOwnership
  ) {
    self.registry = registry
    self.viewState = viewState
    self.transientState = transientState
    self.deleteRules = deleteRules
    self.undoGroups = undoGroups
    self.conflictFinder = conflictFinder
    self.undoRestorer = undoRestorer
    self.eventHub = eventHub
    self.reversal = reversal
    self.eventEnd = eventEnd
    self.activity = activity
    self.ownership = ownership
  }

  /// Sets the undo manager of the context, and removes the groups of the previous one.
  func setManager(_ manager: ContextUndoManager?) {
    ownership.check()
    guard manager !== undoGroups.manager else { return }
    manager?.attach(to: self, registry.memory)
    let previous = undoGroups.replaceManager(manager)
    previous?.detach()
  }

  /// Undoes or redoes the last group of a direction, if there is one, and ends the event.
  func revertLastGroup(
    _ direction: UndoHistory.Direction, _ policy: UndoConflictPolicy
  ) throws(PerdureError) {
    ownership.check()
    guard let undoManager = undoGroups.manager else { return }
    // Observers may release the context.
    let handle = eventHub.handle
    defer { withExtendedLifetime(handle) {} }
    checkUndoIsPossible(undoManager)
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    deleteRules.propagateDeletes()
    undoGroups.endGroupOfEvent()
    var stored: [(overlay: ObjectOverlay, row: KeptRow)] = []
    var undone: [UndoGroup.Change] = []
    // Observers receive earlier edits and those of the undo in one report.
    defer {
      eventEnd.endEvent {
        undoRestorer.dropStoredValues(stored)
        undoRestorer.dropRestoredTransients(undone)
      }
    }
    guard let last = undoManager.history.last(direction) else { return }
    try checkShowsLastSave(undoManager)
    try viewState.throwReadFailure()
    let earlier = { EarlierGroups(undoManager.history.groups(direction).dropLast()) }
    var deferral = UndoDeferral(conflictFinder, earlier)
    let group = try reversal.check(.edit) {
      deferral.rest(of: conflictFinder.withoutReplacedSpreads(last))
    }
    let conflicts = try reversal.check(.edit) { conflictFinder.conflicts(of: group, earlier) }
    if policy == .refuse, !conflicts.isEmpty {
      throw .undo(conflicts.map { conflictFinder.shown($0) }, direction)
    }
    let kept = policy == .keepCurrent ? Set(conflicts.map(\.place)) : []
    let changes = group.changes.filter { !conflictFinder.isKept($0, kept) }
    var rows: [(overlay: ObjectOverlay, row: KeptRow)] = []
    try reversal.run(.edit) {
      undoGroups.revertLastGroup(direction) {
        if policy == .overwrite {
          undoRestorer.acceptHiddenSaves(of: changes)
          undoRestorer.deleteConnected(conflicts)
        }
        undoRestorer.restore(changes, kept)
        deleteRules.propagateDeletes()
        return deferral.links.filter { !conflictFinder.isKept($0, kept) }
      }
      rows = undoRestorer.storedRows(of: changes)
    }
    (stored, undone) = (rows, changes)
  }

  /// Throws if the context shows a state before its last save: its contents can be older than those
  /// in the groups.
  private func checkShowsLastSave(_ undoManager: ContextUndoManager) throws(PerdureError) {
    if viewState.view.sequence >= undoManager.history.savedSequence { return }
    throw PerdureError(
      .storeOperation,
      "The context shows a state before its last save, so nothing was undone or redone. Show the newest state first: call setQueryGeneration(from: .current), or unpin and refresh the context."
    )
  }

  private func checkUndoIsPossible(_ undoManager: ContextUndoManager) {
    if undoManager.recorder.isInGroup {
      stop("undo() or redo() was called inside undoGroup. Call it after the closure has returned.")
    }
    if undoManager.recorder.isExcluding {
      stop(
        "undo() or redo() was called inside withoutUndo, or by a hook of a refresh or a merge. Call it afterwards."
      )
    }
    if !activity.isIdle || !activity.preparing.isEmpty {
      stop("undo() or redo() was called by a hook of a save or of a deletion. Call it afterwards.")
    }
  }
}
