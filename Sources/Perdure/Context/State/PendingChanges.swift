// What a context has not saved, by reference.
//
// Overlays stand in one array for each entity, in the order in which they were made: ids ascend as objects are
// inserted, so the order of a save is mostly there already. A table leads from a reference to its overlay.
//
// Invariants:
//   C2. An object has an entry if and only if a save or rollback would do something about it.
//   P1. The table has exactly the overlays of the arrays, and `overlay.place` is where one stands.
//   P2. An array that is not marked as unordered ascends by reference.

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
  // Not checked for exclusivity at run time: see `remove`.
  /// By entity number.
  @exclusivity(unchecked) private var groups: [Group] = []
  @exclusivity(unchecked) private var table = ReferenceTable<ObjectOverlay>()
  /// Whether any object has been marked as deleted since the last save.
  @exclusivity(unchecked) private var hasDeletions = false
  /// Grows when many changes are forgotten at once.
  @exclusivity(unchecked) private(set) var generation: UInt64 = 0
  /// Deleted objects whose delete rules have yet to be applied.
  @exclusivity(unchecked) var unpropagated: [ObjectReference] = []
  /// What had been changed when the current event began of objects that have no changes any more.
  @exclusivity(unchecked) var eventStarts: [ObjectReference: EventStart] = [:]
  /// The ids of new objects.
  @exclusivity(unchecked) var allocator = IDAllocator()
  /// The new objects that the last save has merged into others, and these.
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

  /// Adds the changes of an object that has none.
  func insert(_ overlay: ObjectOverlay) {
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

  /// Removes an entry and gives it to the caller: releasing it may run an object's deinit, which must not
  /// happen while the changes are being changed.
  @discardableResult
  func remove(_ reference: ObjectReference) -> ObjectOverlay? {
    guard let overlay = table.object(reference) else { return nil }
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

  /// Forgets everything, and gives what there was, entity by entity.
  func removeAll() -> [[ObjectOverlay]] {
    let everything = groups.map(\.overlays)
    generation += 1
    groups = []
    table.removeAll()
    hasDeletions = false
    unpropagated = []
    return everything
  }

  /// Forgets the changes of some entities, and gives them.
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

  /// Whether the store can have nothing that leads to an object (`ObjectOverlay.isUnknownToStore`).
  func isUnknownToStore(_ reference: ObjectReference) -> Bool { self[reference]?.isUnknownToStore ?? false }

  /// False only if no object is to be deleted.
  var mayHaveDeletions: Bool { hasDeletions }

  func isDeleted(_ reference: ObjectReference) -> Bool {
    hasDeletions && self[reference]?.isDeleted ?? false
  }

  /// Makes sure that the delete rules are applied to an object, again if need be.
  func propagateLater(_ overlay: ObjectOverlay) {
    overlay.isPropagated = false
    hasDeletions = true
    unpropagated.append(overlay.reference)
  }

  /// Whether anything is pending of an entity that fulfils a condition.
  func containsEntity(where holds: (EntityShape) -> Bool) -> Bool {
    groups.contains { $0.overlays.first.map { holds($0.shape) } ?? false }
  }

  func contains(where holds: (ObjectOverlay) -> Bool) -> Bool {
    groups.contains { $0.overlays.contains(where: holds) }
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

  /// The changes that a save concerns and that fulfil a condition, in order (S4 in SaveHookCaller.swift).
  func saved(where holds: (ObjectOverlay) -> Bool, in viewState: ViewState) -> [ObjectOverlay] {
    ordered.joined().filter { isSaved($0, in: viewState) && holds($0) }
  }

  /// Whether a save concerns an object.
  func isSaved(_ overlay: ObjectOverlay, in viewState: ViewState) -> Bool {
    overlay.state.isPending && self[overlay.reference] === overlay
      && !viewState.hasVanished(overlay.reference)
  }

  /// The changes of the entities that fulfil a condition, as `ordered`.
  func ordered(where holds: (EntityShape) -> Bool) -> [ObjectOverlay] {
    groups.filter { $0.overlays.first.map { holds($0.shape) } ?? false }.flatMap { group in
      group.isOrdered
        ? group.overlays : group.overlays.sorted { $0.reference.rawValue < $1.reference.rawValue }
    }
  }

  // MARK: Overlays

  /// The overlay of an object that is about to change, made when there is none.
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

  /// Lets go of an overlay in which nothing is left.
  func dropIfUnchanged(_ overlay: ObjectOverlay) {
    if overlay.hasDeltas || overlay.isToBeWritten || overlay.changesTransients { return }
    if !overlay.isBeforeEvent, let start = overlay.eventStart { eventStarts[overlay.reference] = start }
    // Not by way of the overlay, which does not know its object once the context is given up.
    registry.identityMap.object(overlay.reference)?.header.pointee.overlay = nil
    remove(overlay.reference)
  }

  func objectID(of reference: ObjectReference) -> ManagedObjectID {
    graph.id(of: reference, isTemporary: self[reference]?.hasTemporaryID ?? false)
  }

  /// Where what was merged is now: what it was merged into may have been merged into a third one.
  func survivor(of reference: ObjectReference) -> ObjectReference {
    var other = reference
    while let next = mergedObjects[other] { other = next }
    return other
  }

  /// By what unsaved links lead to, what they lead from, in order.
  func sourcesByTarget() -> [ObjectReference: [ObjectOverlay]] {
    var sources: [ObjectReference: [ObjectOverlay]] = [:]
    for overlay in ordered.joined() {
      for target in overlay.linkTargets { sources[target, default: []].append(overlay) }
    }
    return sources
  }
}
