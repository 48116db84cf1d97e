// A context: one view of the store, the instances of its objects, and the unsaved changes.
//
//   ManagedObjectContext   the handle that programs retain
//   ContextCore            connects the parts; calls of the program enter here
//   State/                 the state of a context: instances, view, unsaved changes, transient state,
//                          observers
//   Reading/               the objects as the context shows them: rows, links, siblings, layer, derived
//                          values
//   Editing/               edits: objects, links, positions, delete rules, rebase onto a newer state
//   Saving/                validation, the commit, merging, changes of children, undo
//   ContextFetching        fetches
//
// Each folder uses only those above it, and each part only those before it in its folder
// (`ContextReading`, `ContextEditing`, `ContextSaving`). No part uses ContextCore. A test checks
// this (PartDirectionTests).
//
// Invariants (C1 is in ObjectRegistry.swift, C2 in PendingChanges.swift, C3 in PendingRebase.swift,
// C5 and C6 in LinkEditor.swift):
//   C4. A save that fails changes neither the store nor the context, except for changes by hooks.

internal import PerdurePredicates

/// The implementation of a context; `ManagedObjectContext` is its handle. Connects the parts.
final class ContextCore {
  let eventHub: EventHub
  let reading: ContextReading
  let editing: ContextEditing
  let saving: ContextSaving
  let fetching: ContextFetching
  let activity = ContextActivity()
  let ownership: ContextOwnership
  // The exclusivity of accesses is not checked at run time: no access calls code that accesses the
  // property.
  /// The undo manager; nil if there is none.
  @exclusivity(unchecked) var undoManager: ContextUndoManager?

  init(_ source: ContextSource, ownership: ContextOwnership) {
    self.ownership = ownership
    let registry = ObjectRegistry(source.graph)
    let viewState = ViewState(source.store, source.graph, registry.memory)
    let pending = PendingChanges(registry)
    let transientState = TransientState(viewState, pending)
    eventHub = EventHub(source: source, registry: registry, pending: pending, activity: activity)
    reading = ContextReading(
      registry: registry, viewState: viewState, pending: pending, transientState: transientState,
      eventHub: eventHub)
    editing = ContextEditing(reading, activity)
    fetching = ContextFetching(reading, editing, activity)
    saving = ContextSaving(reading, editing, activity, durability: source.durability)
    registry.memory.pointee.core = .passUnretained(self)
  }

  var store: any PersistentStore { reading.viewState.store }
  var graph: GraphSchema { reading.graph }
  var registry: ObjectRegistry { reading.registry }
  var viewState: ViewState { reading.viewState }
  var pending: PendingChanges { reading.pending }
  var transientState: TransientState { reading.transientState }

  /// Called when the handle is freed. Unsaved changes will not be saved, so they no longer retain
  /// their objects. Objects must not retain each other, and so the context, by the values of
  /// transient attributes.
  func abandon() {
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    registry.isAbandoned = true
    transientState.abandon(registry)
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

  /// In debug builds, stops a program that uses the context outside of its isolation.
  @inline(__always)
  func checkOwner() {
    assert(ownership.isCurrent, ownership.complaint)
  }
}

/// The parts of a container that a context uses.
struct ContextSource: Sendable {
  let store: any PersistentStore
  let graph: GraphSchema
  let durability: Durability
  let saves = SaveBroadcast()
  var log = LogSwitch()
}
