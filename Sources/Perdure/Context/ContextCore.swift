// A context: one view of the store, the instances of its objects, and the unsaved changes.
//
//   ManagedObjectContext   the handle that programs retain
//   ContextCore            creates the parts; the handles call the parts through it
//   State/                 the state of a context: instances, view, unsaved changes, transient
//                          state, observers
//   Reading/               the objects as the context shows them: rows, links, siblings, layer,
//                          derived values
//   Editing/               edits: objects, links, positions, delete rules, rebase onto a newer
//                          state
//   Queries/               fetches and lookups; refreshes and merges of other contexts' saves
//   Saving/                validation, the commit, merging, changes of children, undo
//   Operations/            ends of events, undo and redo, rollback and reset, saves
//
// Each folder uses only those above it in this list, and each part only those before it in its
// folder (`ContextReading`, `ContextEditing`, `ContextQueries`, `ContextSaving`,
// `ContextOperations`). No part uses ContextCore. A test checks this (PartDirectionTests).
//
// The parts of the last two folders are created at their first use: many contexts only read.
//
// Invariants (CX1 is in ObjectRegistry.swift, CX2 in PendingChanges.swift, CX3 in
// PendingRebase.swift, CX5 and CX6 in LinkEditor.swift, CX7 in PendingRebase+Insertions.swift):
//   CX4. A save that fails changes neither the store nor the context, except for changes by hooks.
//        If it writes to several stores, the commits before the failure stay (134040).

internal import PerdurePredicates

/// The implementation of a context; `ManagedObjectContext` is its handle. Connects the parts.
final class ContextCore {
  let eventHub: EventHub
  let reading: ContextReading
  let editing: ContextEditing
  let queries: ContextQueries
  private(set) lazy var saving = ContextSaving(
    reading, editing, foreignSaves: queries.foreignSaves, activity, durability: durability)
  private(set) lazy var operations = ContextOperations(
    reading: reading, editing: editing, saving: saving, eventHub: eventHub, activity: activity,
    ownership: ownership)
  let activity = ContextActivity()
  let ownership: ContextOwnership
  let durability: Durability

  init(_ source: ContextSource, ownership: ContextOwnership) {
    self.ownership = ownership
    durability = source.durability
    let registry = ObjectRegistry(source.graph)
    let viewState = ViewState(source.store, source.graph, registry.memory)
    let pending = PendingChanges(registry)
    let transientState = TransientState(viewState, pending)
    eventHub = EventHub(source: source, registry: registry, pending: pending, activity: activity)
    reading = ContextReading(
      registry: registry, viewState: viewState, pending: pending, transientState: transientState,
      eventHub: eventHub)
    let shared = Shared(reading)
    editing = ContextEditing(shared, activity)
    queries = ContextQueries(shared, editing, eventHub, activity)
    registry.memory.pointee.core = .passUnretained(self)
  }

  var store: any PersistentStore { reading.viewState.store }
  var graph: GraphSchema { reading.graph }
  var registry: ObjectRegistry { reading.registry }
  var viewState: ViewState { reading.viewState }
  var pending: PendingChanges { reading.pending }
  var transientState: TransientState { reading.transientState }

  /// Called when the handle is freed. Unsaved changes will not be saved, so they no longer retain
  /// their objects. Transient values are dropped too. Otherwise objects could retain each other,
  /// and the context, through these values.
  func abandon() {
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    registry.isAbandoned = true
    transientState.abandon(registry)
    // The handle may be freed outside of the context's isolation, so no observer of the undo
    // manager is called. The manager's groups may have the last reference to a transient value. So
    // the manager is released last.
    let undoManager = editing.undoGroups.replaceManager(nil)
    undoManager?.abandon()
    defer { withExtendedLifetime(undoManager) {} }
    for overlay in pending.all { overlay.object = nil }
    eventHub.abandon()
    registry.releaseRetained()
  }

  /// Copies the settings of another context, and shares its observers and event sequences. Moves
  /// its undo manager to this context.
  func takeOverSettings(of old: ContextCore) {
    saving.mergeRules.mergePolicy = old.saving.mergeRules.mergePolicy
    reading.rows.deletesInaccessibleFaults = old.reading.rows.deletesInaccessibleFaults
    registry.retainObjects(old.registry.retainsInstances)
    mergeAutomatically(old.eventHub.inbox != nil)
    let undoManager = old.editing.undoGroups.manager
    old.operations.undoing.setManager(nil)
    operations.undoing.setManager(undoManager)
    eventHub.takeOver(old.eventHub)
  }

  /// In debug builds, stops a program that uses the context outside of its isolation.
  @inline(__always)
  func checkOwner() { ownership.check() }

  func mergeAutomatically(_ merges: Bool) {
    queries.merging.mergeAutomatically(merges, wake: ownership.wake(eventHub.handle))
  }

  // MARK: Registration, called by instances

  /// Called by every instance when it is created. The first instance retains the context on behalf
  /// of all instances.
  func didMake(_ object: ManagedObject) {
    registry.instanceCount &+= 1
    if registry.instanceCount == 1 { _ = Unmanaged.passRetained(self) }
    let reference = object.header.pointee.reference
    registry.identityMap.insert(object, reference)
    if object.uncountedShape._withUnsafeGuaranteedRef({ $0.followsRow }) {
      editing.hooks.sleep(object.header)
    }
    if !pending.isEmpty, let overlay = pending[reference] { registry.attach(overlay, to: object) }
    registry.retain(object)
  }

  /// Called by every instance in its deinitializer. The last instance releases the context.
  func willFree(_ object: ManagedObject) {
    let header = object.header
    if header.pointee.isKept { viewState.linksChanged() }
    if header.pointee.kept != nil { header.pointee.dropKept() }
    if !header.pointee.isGone {
      registry.identityMap.remove(header.pointee.reference)
      registry.forgetFetched(of: header.pointee.reference)
    } else if !registry.removedInstances.isEmpty {
      registry.forgetRemoved(object)
    }
    // The sibling group may keep the header and its row for the next instance of the object.
    let isLasting = header.pointee.groupNumber & SiblingGroup.lastingMark != 0
    if !isLasting || !registry.siblingGroups.leave(header) { header.free() }
    registry.instanceCount &-= 1
    guard registry.instanceCount == 0 else { return }
    // Without instances, no group is needed any more.
    registry.siblingGroups.removeAll()
    Unmanaged.passUnretained(self).release()
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
