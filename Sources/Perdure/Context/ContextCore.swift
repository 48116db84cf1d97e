// A context: one view of the store, the instances that were made of its objects, and what has been changed.
//
// Where to look:
//   ManagedObjectContext  the handle that users hold
//   +Objects        from an identity to an instance; faults and how they fire
//   +Insertion      insert and delete
//   +Siblings       walks over to-many relationships, and faults that fire together
//   +KeptRelations  where relationships lead, as long as nothing changes
//   +SiblingRelations  what siblings are related to, got for many of them at once
//   +Relationships  what is at the other end, with unsaved changes; connecting both ends at once
//   +Fetch          fetches
//   +Save           the save, step by step; SavePlan and Validation hold its rules
//   +Stores         what is different where there are several stores; fetches are in FetchParts
//   +SaveHooks      what the program's classes do before and after a save
//   +LifeCycle      what they are told of their rows
//   +Advancing      how the view moves on: rollback, refresh, reset; QueryGeneration: how it does not
//   +Registration   which instances are kept, which ids are final
//   +Events         what the context tells of itself; +Merging: what it does with what others tell
//   TransientLinks  relationships that no store holds
//   +Vanished       what others have removed and is changed or linked to here
//   DeletePropagation  the delete rules
//   FetchedProperties/  the results of fetched properties
//   Undo/           undo groups: which edits they have, and how they are taken back
//   Merging/        what a save makes of what others have saved meanwhile
//   +PendingLayer   unsaved changes as a layer over the view, for fetches and children; Pending/
//   Children/       contexts whose store is another context
//
// Invariants:
//   C3. Deltas of relationships agree with the changed columns (see rebaseDeltas).
//   C4. A save that fails changes neither the store nor the context, but for what hooks have done.
//   C5, C6 are about what others have removed: ContextCore+Vanished.swift.

internal import PerdurePredicates

/// What a context is; see ManagedObjectContext, its handle. It wires the parts, and has no state besides.
final class ContextCore {
  let store: any PersistentStore
  let graph: GraphSchema
  let registry: ObjectRegistry
  let viewState: ViewState
  let pending: PendingChanges
  let transientState: TransientState
  let eventHub: EventHub
  /// What reads the objects as the context shows them.
  let reading: ContextReading
  /// What changes them.
  let editing: ContextEditing
  /// What checks, merges and takes over changes.
  let saving: ContextSaving
  let activity = ContextActivity()
  let ownership: ContextOwnership
  let durability: Durability
  /// Room for what an index gives, used from one walk to the next.
  @exclusivity(unchecked) var found: [ObjectReference] = []
  /// The reads of a key path that is being probed (KeyPathProbe.swift); nil in other contexts.
  @exclusivity(unchecked) var probedReads: ProbedReads?
  /// What takes back edits; nil where nothing does.
  @exclusivity(unchecked) var undoManager: ContextUndoManager?

  init(_ source: ContextSource, ownership: ContextOwnership) {
    store = source.store
    graph = source.graph
    self.ownership = ownership
    durability = source.durability
    registry = ObjectRegistry(source.graph)
    viewState = ViewState(source.store, source.graph, registry.memory)
    pending = PendingChanges(registry)
    transientState = TransientState(viewState, pending)
    eventHub = EventHub(source, registry, pending)
    reading = ContextReading(registry, viewState, pending, transientState, eventHub)
    editing = ContextEditing(reading, activity)
    saving = ContextSaving(reading, editing, activity)
    registry.memory.pointee.core = .passUnretained(self)
  }

  /// The handle is gone: what is pending will not be saved, and must not keep itself alive. Nor must objects keep
  /// each other alive, and the context with them, by what their transient attributes hold.
  func abandon() {
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    registry.isAbandoned = true
    abandonTransients()
    let undoManager = dropUndoManager()
    defer { withExtendedLifetime(undoManager) {} }
    for overlay in pending.all { overlay.object = nil }
    eventHub.abandon()
    registry.releaseRetained()
  }

  /// Takes over the settings, observers and event sequences of another context, which keeps them
  /// too.
  func takeOverSettings(of old: ContextCore) {
    saving.mergeRules.mergePolicy = old.saving.mergeRules.mergePolicy
    reading.rows.deletesInaccessibleFaults = old.reading.rows.deletesInaccessibleFaults
    registry.retainObjects(old.registry.retainsInstances)
    mergeAutomatically(old.eventHub.inbox != nil)
    let undoManager = old.undoManager
    old.setUndoManager(nil)
    setUndoManager(undoManager)
    eventHub.takeOver(old.eventHub)
  }

  /// In debug builds, stops a program that uses the context in the wrong place.
  @inline(__always)
  func checkOwner() {
    assert(ownership.isCurrent, ownership.complaint)
  }
}

/// What a context needs of its container.
struct ContextSource: Sendable {
  let store: any PersistentStore
  let graph: GraphSchema
  let durability: Durability
  let saves = SaveBroadcast()
  var log = LogSwitch()
}

// MARK: - What has changed

extension ContextCore {
  var hasChanges: Bool { !pending.refusedChanges.isEmpty || pending.contains { $0.state.isPending } }

  func objects(in state: ObjectState) -> Set<ManagedObject> {
    checkOwner()
    return Set(pending.all.filter { $0.state == state }.map { registry.instance(of: $0.reference) })
  }
}
