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
//   C1. There is at most one registered instance of a reference.
//   C2. An object has an entry in the tracker if and only if a save or rollback would do something about it.
//   C3. Deltas of relationships agree with the changed columns (see rebaseDeltas).
//   C4. A save that fails changes neither the store nor the context, but for what hooks have done.
//   C5, C6 are about what others have removed: ContextCore+Vanished.swift.

internal import PerdurePredicates

/// What a context is; see ManagedObjectContext, its handle.
final class ContextCore {
  let store: any PersistentStore
  let graph: GraphSchema
  let ownership: ContextOwnership
  let durability: Durability
  /// Whether nothing can be saved at all.
  let isReadOnly: Bool
  /// Whether another process may write what this one only reads.
  let followsOthers: Bool
  // Accesses to the next ones are not checked for exclusivity at run time, which would cost more than what
  // they do. None of their functions calls anything that could come back here; see ChangeTracker.remove.
  /// What the context sees of the store.
  @exclusivity(unchecked) var view: any StoreView
  @exclusivity(unchecked) var tracker = ChangeTracker()
  /// The unsaved changes as a layer over `view`, as of the last fetch; nil before the first.
  @exclusivity(unchecked) var contextLayer: ContextLayer?
  /// How layers follow from rows; nil before the first layer.
  @exclusivity(unchecked) var indexFeeds: IndexFeeds?
  /// The last revision of `contextLayer`. Grows when the layer changes.
  @exclusivity(unchecked) var layerRevision: UInt64 = 0
  @exclusivity(unchecked) var identityMap = IdentityMap()
  @exclusivity(unchecked) var siblingGroups = SiblingGroups()
  @exclusivity(unchecked) var recentWalks = RecentWalks()
  @exclusivity(unchecked) var statistics = ContextStatistics()
  /// What a save does where others were faster.
  @exclusivity(unchecked) var mergePolicy = MergePolicy.error
  /// The new objects that the last save has merged into others, and these.
  @exclusivity(unchecked) var mergedObjects: [ObjectReference: ObjectReference] = [:]
  /// What others have removed, of what unsaved changes are about or lead to (C5).
  @exclusivity(unchecked) var vanished: Set<ObjectReference> = [] {
    didSet { linksChanged() }
  }
  /// The links of transient relationships, as the last save has left them.
  @exclusivity(unchecked) var transientLinks = TransientLinks()
  /// What had been changed when the current event began of objects that have no changes any more.
  @exclusivity(unchecked) var eventStarts: [ObjectReference: EventStart] = [:]
  /// The relationships that were read ahead for deletions; nil if none were in this epoch.
  @exclusivity(unchecked) var storedLinks: StoredLinks?
  /// Room for what an index gives, used from one walk to the next.
  @exclusivity(unchecked) var found: [ObjectReference] = []
  /// Instances in memory, those that are gone included. While there are any, the context keeps itself alive.
  @exclusivity(unchecked) var instanceCount = 0
  @exclusivity(unchecked) var allocator = IDAllocator()
  /// What transient attributes have lost and nobody has released yet (T3 in TransientValues.swift).
  @exclusivity(unchecked) var dropped: [TransientValues] = []
  /// How many things are under way that must be done before that.
  @exclusivity(unchecked) var keeperCount = 0
  /// The registered instances, where they are to be kept.
  @exclusivity(unchecked) var retained: [ObjectIdentifier: ManagedObject]?
  /// Whether a transient attribute ever held anything.
  @exclusivity(unchecked) var hasTransients = false
  /// The objects whose `prepareForDeletion` is running.
  var preparing: Set<ObjectReference> = []
  /// Those of them that were deleted by it.
  var deletedInPreparation: Set<ObjectReference> = []
  /// Whether a save is running, its hooks included.
  var isSaving = false
  /// Whether the validation of the program's classes is running.
  var isValidating = false
  /// Whether a save is validating and planning: then no hook runs (W2 in ContextCore+LifeCycle.swift).
  var isPlanning = false
  /// Whether delete rules are being applied.
  var isPropagating = false
  /// Whether the context stays at its view.
  var isPinned = false
  /// What a fault without a row is: a deleted object, or an error.
  var deletesInaccessibleFaults = true
  /// Whether somebody asks for an object that may not be there.
  var isLooking = false
  /// The instances of objects that are gone, while the program holds them. Relationships of other
  /// removed instances lead to them, and an undo brings them back.
  @exclusivity(unchecked) var removedInstances: [ObjectReference: Unmanaged<ManagedObject>] = [:]
  /// The cached results of fetched properties, by owner and name (FP1 in ContextCore+Fetched.swift).
  @exclusivity(unchecked) var keptFetches: [ObjectReference: [String: [ObjectReference]]] = [:]
  /// The reads of a key path that is being probed (KeyPathProbe.swift); nil in other contexts.
  @exclusivity(unchecked) var probedReads: ProbedReads?
  /// The changes that were refused since the last save.
  var refusedChanges = RefusedChanges()
  /// The object whose `didTurnIntoFault` is running.
  var turnedIntoFault: ObjectReference?
  /// The versions of objects that the next save looks at, though it does not write them.
  var watched: [ObjectReference: RowVersion] = [:]
  /// The observers in the context's isolation.
  var observers = ObserverList<ContextNotification>()
  /// The new objects that observers know of and that were taken back in the current event.
  var goneInserts: [(reference: ObjectReference, object: ManagedObject?)] = []
  /// The sequences of the context's events.
  private(set) var streams: EventStreams
  /// Whether another context has taken over the event sequences.
  private var hasSuccessor = false
  /// Who wants to know what fetches and saves take.
  let logSwitch: LogSwitch
  /// The saves of all contexts of the store.
  let saves: SaveBroadcast
  /// What others have saved and is to be merged; nil where nothing is merged by itself.
  var inbox: MergeInbox?
  /// Whether who comes back into an ordered relationship comes to where it was in the store.
  var restoresOrder = false
  /// Whether the handle is gone; then overlays keep no instances alive.
  private(set) var isAbandoned = false
  /// The handle, while a user holds it.
  weak var handle: ManagedObjectContext?
  /// The cancellation flag of the running `BackgroundContext.perform`; nil at other times.
  var cancellation: CancellationFlag?
  /// The first error that an accessor met and could not throw. The next fetch or save throws it.
  var readFailure: PerdureError?
  /// Why the context could not move on when it was last told to, by the store's place. The next fetch that asks the
  /// store throws it, once.
  var refreshFailures: [(place: Int, failure: PerdureError)] = []
  /// The memory of the objects, also behind a plain pointer.
  let memoryOwner = ObjectMemoryOwner()
  let memory: UnsafeMutablePointer<ObjectMemory>
  /// What takes back edits; nil where nothing does.
  @exclusivity(unchecked) var undoManager: ContextUndoManager?

  init(_ source: ContextSource, ownership: ContextOwnership) {
    store = source.store
    graph = source.graph
    durability = source.durability
    isReadOnly = source.graph.stores.allSatisfy(\.isReadOnly)
    followsOthers = source.graph.stores.contains(where: \.isReadOnly)
    self.ownership = ownership
    saves = source.saves
    streams = EventStreams()
    logSwitch = source.log
    view = source.store.view()
    memory = memoryOwner.memory
    memory.pointee.core = .passUnretained(self)
    if followsOthers {
      refreshStore()
      view = store.view()
    }
  }

  deinit {
    identityMap.deallocate()
    tracker.deallocate()
  }

  /// The handle is gone: what is pending will not be saved, and must not keep itself alive. Nor must objects keep
  /// each other alive, and the context with them, by what their transient attributes hold.
  func abandon() {
    keepDropped()
    defer { releaseDropped() }
    isAbandoned = true
    abandonTransients()
    let undoManager = dropUndoManager()
    defer { withExtendedLifetime(undoManager) {} }
    for overlay in tracker.all { overlay.object = nil }
    stopMerging()
    if !hasSuccessor { streams.finish() }
    forgetObservers()
    forgetGone()
    releaseRetained()
  }

  /// Takes over the settings, observers and event sequences of another context, which keeps them
  /// too.
  func takeOverSettings(of old: ContextCore) {
    mergePolicy = old.mergePolicy
    deletesInaccessibleFaults = old.deletesInaccessibleFaults
    retainObjects(old.retained != nil)
    mergeAutomatically(old.inbox != nil)
    let undoManager = old.undoManager
    old.setUndoManager(nil)
    setUndoManager(undoManager)
    observers = old.observers
    streams = old.streams
    old.hasSuccessor = true
  }

  /// What H1 in ObjectHeader.swift compares with.
  var epoch: UInt64 { memory.pointee.epoch }

  /// From now on loaded rows have to be compared with the view again.
  func beginEpoch() {
    memory.pointee.epoch += 1
    storedLinks = nil
    linksChanged()
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
  var hasChanges: Bool { !refusedChanges.isEmpty || tracker.contains { $0.state.isPending } }

  func objects(in state: ObjectState) -> Set<ManagedObject> {
    checkOwner()
    return Set(tracker.all.filter { $0.state == state }.map { instance(of: $0.reference) })
  }
}
