/// The operations of a context that use parts of all groups. Each uses only those before it, and
/// the parts that read, edit and save.
struct ContextOperations {
  let eventEnd: EventEnd
  let undoing: UndoApplication
  let refresh: ObjectRefresh
  let merging: ForeignMerging
  let fetching: ContextFetching
  let fetchedProperties: FetchedProperties
  let lookup: ObjectLookup
  let discard: ChangeDiscard
  let steps: SaveSteps
  let save: SaveRun

  init(
    reading: ContextReading, editing: ContextEditing, saving: ContextSaving, eventHub: EventHub,
    activity: ContextActivity, ownership: ContextOwnership
  ) {
    eventEnd = EventEnd(
      registry: reading.registry, pending: reading.pending, transientState: reading.transientState,
      eventHub: eventHub, undoGroups: editing.undoGroups, activity: activity)
    undoing = UndoApplication(
      registry: reading.registry, viewState: reading.viewState,
      transientState: reading.transientState, deleteRules: editing.deleteRules,
      undoGroups: editing.undoGroups, conflictFinder: saving.conflictFinder,
      undoRestorer: saving.undoRestorer, eventHub: eventHub, eventEnd: eventEnd, activity: activity,
      ownership: ownership)
    refresh = ObjectRefresh(
      registry: reading.registry, pending: reading.pending, transientState: reading.transientState,
      editing: editing, eventHub: eventHub)
    merging = ForeignMerging(
      reading, eventHub, recording: editing.recording, advancing: editing.advancing,
      foreignSaves: saving.foreignSaves, refresh: refresh, activity: activity)
    fetching = ContextFetching(
      reading, hooks: editing.hooks, deleteRules: editing.deleteRules, merging: merging,
      activity: activity)
    fetchedProperties = FetchedProperties(reading, fetching)
    lookup = ObjectLookup(reading, eventHub, hooks: editing.hooks, merging: merging)
    discard = ChangeDiscard(reading, eventHub, hooks: editing.hooks, undoGroups: editing.undoGroups)
    steps = SaveSteps(
      viewState: reading.viewState, pending: reading.pending, deleteRules: editing.deleteRules,
      recording: editing.recording, undoGroups: editing.undoGroups, saving: saving,
      eventHub: eventHub, eventEnd: eventEnd)
    save = SaveRun(
      reading: Shared(reading), refusal: editing.refusal, recording: editing.recording,
      rebase: editing.rebase, saving: saving, eventHub: eventHub, steps: steps, activity: activity)
  }
}
