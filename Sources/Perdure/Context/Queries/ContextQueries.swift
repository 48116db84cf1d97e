/// The parts that return objects to the program, and the parts that first merge the saves of other
/// contexts. Each part uses only those before it, and the parts that read and edit.
struct ContextQueries {
  let foreignSaves: ForeignSaves
  let refresh: ObjectRefresh
  let merging: ForeignMerging
  let fetching: ContextFetching
  let fetchedProperties: FetchedProperties
  let lookup: ObjectLookup

  init(
    _ reading: Shared<ContextReading>, _ editing: ContextEditing, _ eventHub: EventHub,
    _ activity: ContextActivity
  ) {
    foreignSaves = ForeignSaves(reading)
    refresh = ObjectRefresh(
      registry: reading.registry, pending: reading.pending, transientState: reading.transientState,
      editing: editing, eventHub: eventHub)
    merging = ForeignMerging(
      reading, eventHub, recording: editing.recording, advancing: editing.advancing,
      foreignSaves: foreignSaves, refresh: refresh, activity: activity)
    fetching = ContextFetching(
      reading, hooks: editing.hooks, deleteRules: editing.deleteRules, merging: merging,
      activity: activity)
    fetchedProperties = FetchedProperties(reading, fetching)
    lookup = ObjectLookup(reading, eventHub, hooks: editing.hooks, merging: merging)
  }
}
