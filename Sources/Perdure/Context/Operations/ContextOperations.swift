/// The parts that end events, undo, discard and save. Each uses only those before it, and the parts
/// of all other groups. A context creates them at their first use.
final class ContextOperations {
  let reversal: EditReversal
  let eventEnd: EventEnd
  let undoing: UndoApplication
  let discard: ChangeDiscard
  let steps: SaveSteps
  let save: SaveRun

  init(
    reading: ContextReading, editing: ContextEditing, saving: ContextSaving, eventHub: EventHub,
    activity: ContextActivity, ownership: ContextOwnership
  ) {
    reversal = EditReversal(
      reading, eventHub, stores: saving.stores, recording: editing.recording,
      undoGroups: editing.undoGroups)
    eventEnd = EventEnd(
      registry: reading.registry, pending: reading.pending, transientState: reading.transientState,
      eventHub: eventHub, undoGroups: editing.undoGroups, activity: activity)
    undoing = UndoApplication(
      registry: reading.registry, viewState: reading.viewState,
      transientState: reading.transientState, deleteRules: editing.deleteRules,
      undoGroups: editing.undoGroups, conflictFinder: saving.conflictFinder,
      undoRestorer: saving.undoRestorer, eventHub: eventHub, reversal: reversal, eventEnd: eventEnd,
      activity: activity, ownership: ownership)
    discard = ChangeDiscard(reading, eventHub, hooks: editing.hooks, undoGroups: editing.undoGroups)
    steps = SaveSteps(
      viewState: reading.viewState, pending: reading.pending, deleteRules: editing.deleteRules,
      recording: editing.recording, undoGroups: editing.undoGroups, saving: saving,
      eventHub: eventHub, eventEnd: eventEnd)
    save = SaveRun(
      reading: Shared(reading), refusal: editing.refusal, rebase: editing.rebase,
      mergeRules: saving.mergeRules, mergeApplication: saving.mergeApplication,
      saveHooks: saving.saveHooks, reversal: reversal, steps: steps, activity: activity)
  }
}
