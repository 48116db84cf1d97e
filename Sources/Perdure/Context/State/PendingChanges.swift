// The unsaved changes of a context, by reference.
//
// Each entity has an array of overlays, in the order of their creation. The ids of inserted objects
// ascend, so the array is mostly in the order that a save needs. A table maps references to
// overlays.
//
// Invariants:
//   CX2. An object has an entry if and only if it has changes that a save or a rollback concerns.
//   PC1. The table contains exactly the overlays of the arrays. `overlay.place` is the offset of an
//        overlay in its array.
//   PC2. An array with `isOrdered` ascends by reference.

internal import PerdurePredicates

/// The unsaved changes of a context, by reference.
final class PendingChanges {
  private struct Group {
    var overlays: [ObjectOverlay] = []
    var isOrdered = true
  }

  private let registry: ObjectRegistry
  var graph: GraphSchema { registry.graph }
  private var memory: UnsafeMutablePointer<ObjectMemory> { registry.memory }
  // The exclusivity of accesses is not checked at run time: see `remove`.
  /// The overlays, by entity number.
  @exclusivity(unchecked) private var groups: [Group] = []
  @exclusivity(unchecked) private var table = ReferenceTable<ObjectOverlay>()
  /// Whether any object has been marked as deleted since the last call of `removeAll()`.
  @exclusivity(unchecked) private var hasDeletions = false
  /// Grows when many changes are removed at once.
  @exclusivity(unchecked) private(set) var generation: UInt64 = 0
  /// Deleted objects whose delete rules have yet to be applied.
  @exclusivity(unchecked) var unpropagated: [ObjectReference] = []
  /// The changes of objects at the beginning of the current event, if the objects have no changes
  /// now.
  @exclusivity(unchecked) var eventStarts: [ObjectReference: EventStart] = [:]
  /// The ids of new objects.
  @exclusivity(unchecked) var allocator = IDAllocator()
  /// For each new object that the last save has merged: the object into which it was merged.
  @exclusivity(unchecked) var mergedObjects: [ObjectReference: ObjectReference] = [:]
  /// The changes that were refused since the last save.
  @exclusivity(unchecked) var refusedChanges = RefusedChanges()

  init(_ registry: ObjectRegistry) { self.registry = registry }

  deinit { table.deallocate() }

  var isEmpty: Bool { table.count == 0 }

  /// The number of objects with unsaved changes.
  var count: Int { table.count }

  @inline(__always)
  subscript(reference: ObjectReference) -> ObjectOverlay? { table.object(reference) }

  /// Adds the changes of an object. The table stops the program if the object already has an entry
  /// (PC1).
  func insert(_ overlay: ObjectOverlay) {
    memory.pointee.copies?._withUnsafeGuaranteedRef { $0.willInsert(overlay.reference) }
    let entity = Int(overlay.reference.entityNumber)
    while groups.count <= entity { groups.append(Group()) }
    if let last = groups[entity].overlays.last, last.reference.rawValue > overlay.reference.rawValue {
      groups[entity].isOrdered = false
    }
    if overlay.isDeleted { hasDeletions = true }
    overlay.didEnterTracker()
    overlay.place = groups[entity].overlays.count
    groups[entity].overlays.append(overlay)
    table.insert(overlay, overlay.reference)
  }

  /// Removes an entry and returns it. The caller releases it. A release may run an object's
  /// deinitializer, and no deinitializer may run while the changes are being modified.
  @discardableResult
  func remove(_ reference: ObjectReference) -> ObjectOverlay? {
    guard let overlay = table.object(reference) else { return nil }
    overlay.willChange()
    overlay.noteEdit()
    table.remove(reference)
    let entity = Int(reference.entityNumber)
    let last = groups[entity].overlays.removeLast()
    if last !== overlay {
      groups[entity].overlays[overlay.place] = last
      last.place = overlay.place
      groups[entity].isOrdered = false
    }
    return overlay
  }

  /// Removes and returns all overlays, entity by entity.
  func removeAll() -> [[ObjectOverlay]] {
    let everything = groups.map(\.overlays)
    generation += 1
    groups = []
    table.removeAll()
    hasDeletions = false
    unpropagated = []
    memory.pointee.oneWaySources.removeAll()
    return everything
  }

  /// Removes and returns the overlays of some entities.
  func removeAll(ofEntities isRemoved: (UInt16) -> Bool) -> [[ObjectOverlay]] {
    var removed: [[ObjectOverlay]] = []
    generation += 1
    for number in groups.indices where !groups[number].overlays.isEmpty && isRemoved(UInt16(number)) {
      for overlay in groups[number].overlays { table.remove(overlay.reference) }
      removed.append(groups[number].overlays)
      groups[number] = Group()
    }
    unpropagated.removeAll { isRemoved($0.entityNumber) }
    return removed
  }

  func isNew(_ reference: ObjectReference) -> Bool { self[reference]?.isNew ?? false }

  /// Whether the store has no reference to an object (`ObjectOverlay.isUnknownToStore`).
  func isUnknownToStore(_ reference: ObjectReference) -> Bool { self[reference]?.isUnknownToStore ?? false }

  /// False only if no object is marked as deleted.
  var mayHaveDeletions: Bool { hasDeletions }

  func isDeleted(_ reference: ObjectReference) -> Bool {
    hasDeletions && self[reference]?.isDeleted ?? false
  }

  /// Schedules the delete rules of an object. They may have been applied before.
  func propagateLater(_ overlay: ObjectOverlay) {
    overlay.isPropagated = false
    hasDeletions = true
    unpropagated.append(overlay.reference)
  }

  /// Schedules the delete rules of an object after a merge. If the rules were applied before, their
  /// new changes belong to the undo group of the deletion (ReopenedGroups.swift).
  func propagateAgain(_ overlay: ObjectOverlay) {
    if overlay.isPropagated { overlay.isPropagatedAgain = true }
    propagateLater(overlay)
  }

  /// Whether there are unsaved changes of an entity for which `holds` is true.
  func containsEntity(where holds: (EntityShape) -> Bool) -> Bool {
    groups.contains { $0.overlays.first.map { holds($0.shape) } ?? false }
  }

  func contains(where holds: (ObjectOverlay) -> Bool) -> Bool {
    groups.contains { $0.overlays.contains(where: holds) }
  }

  /// Whether there are changes that a save writes or reports.
  var hasChanges: Bool {
    !refusedChanges.isEmpty || contains { $0.state.isPending || $0.isDeniedDiscard }
  }

  /// The objects with changes of a kind.
  func objects(in state: ObjectState) -> Set<ManagedObject> {
    Set(all.filter { $0.state == state }.map { registry.instance(of: $0.reference) })
  }

  /// The changes in no particular order.
  var all: [ObjectOverlay] { groups.flatMap(\.overlays) }

  /// The changes entity by entity and in order of reference, which is the same in every run.
  var ordered: [[ObjectOverlay]] {
    groups.map { group in
      group.isOrdered
        ? group.overlays : group.overlays.sorted { $0.reference.rawValue < $1.reference.rawValue }
    }
  }

  /// The overlays that a save concerns and for which `holds` is true, in order (SH4 in
  /// SaveHookCaller.swift).
  func saved(where holds: (ObjectOverlay) -> Bool, in viewState: ViewState) -> [ObjectOverlay] {
    ordered.joined().filter { isSaved($0, in: viewState) && holds($0) }
  }

  /// Whether a save concerns an object.
  func isSaved(_ overlay: ObjectOverlay, in viewState: ViewState) -> Bool {
    overlay.state.isPending && self[overlay.reference] === overlay
      && !viewState.hasVanished(overlay.reference)
  }

  /// The overlays that have had an unsaved link to one of the targets in a relationship without an
  /// inverse, in order of reference. The link may have been replaced or removed.
  ///
  /// - Complexity: O(k log k) for k targets and overlays.
  func oneWaySources(of targets: some Sequence<ObjectReference>) -> [ObjectOverlay] {
    memory.pointee.oneWaySources.sources(of: targets).compactMap { self[$0] }
  }

  // MARK: Overlays

  /// The overlay of an object that is about to change. Creates it if there is none.
  func overlay(for reference: ObjectReference) -> ObjectOverlay {
    if let overlay = self[reference] { return overlay }
    let overlay = ObjectOverlay(reference, graph.shape(of: reference), isNew: false, in: registry.memory)
    insert(overlay)
    if !eventStarts.isEmpty, let start = eventStarts.removeValue(forKey: reference) {
      overlay.resumeEvent(start)
    }
    if let object = registry.identityMap.object(reference) { registry.attach(overlay, to: object) }
    return overlay
  }

  /// Removes an overlay that contains no changes.
  func dropIfUnchanged(_ overlay: ObjectOverlay) {
    if overlay.hasDeltas || overlay.isToBeWritten || overlay.changesTransients { return }
    // An edit of the caller may have dropped the overlay. The object may have another one (PC1).
    guard self[overlay.reference] === overlay else { return }
    if !overlay.isBeforeEvent, let start = overlay.eventStart { eventStarts[overlay.reference] = start }
    // `overlay.object` is not used here: after the handle is freed, the overlay has no instance.
    registry.identityMap.object(overlay.reference)?.header.pointee.overlay = nil
    remove(overlay.reference)
  }

  /// Makes an object part of the current event, although it does not change.
  func joinEvent(_ reference: ObjectReference) {
    if let overlay = self[reference] { overlay.joinEvent() } else { eventStarts[reference] = EventStart() }
  }

  func objectID(of reference: ObjectReference) -> ManagedObjectID {
    graph.id(of: reference, isTemporary: self[reference]?.hasTemporaryID ?? false)
  }

  /// The object into which an object was merged, after all merges in sequence.
  func survivor(of reference: ObjectReference) -> ObjectReference {
    var other = reference
    while let next = mergedObjects[other] { other = next }
    return other
  }

  /// The overlays with unsaved links to each target, in order.
  func sourcesByTarget() -> [ObjectReference: [ObjectOverlay]] {
    var sources: [ObjectReference: [ObjectOverlay]] = [:]
    for overlay in ordered.joined() {
      for target in overlay.linkTargets { sources[target, default: []].append(overlay) }
    }
    return sources
  }
}
