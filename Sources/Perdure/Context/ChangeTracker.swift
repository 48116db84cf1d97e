// What a context has not saved, by reference.
//
// Overlays stand in one array for each entity, in the order in which they were made: ids ascend as objects are
// inserted, so the order of a save is mostly there already. A table leads from a reference to its overlay.
//
// Invariants:
//   P1. The table has exactly the overlays of the arrays, and `overlay.place` is where one stands.
//   P2. An array that is not marked as unordered ascends by reference.

internal import PerdurePredicates

/// The unsaved changes of a context, by reference.
struct ChangeTracker {
  private struct Group {
    var overlays: [ObjectOverlay] = []
    var isOrdered = true
  }

  /// By entity number.
  private var groups: [Group] = []
  private var table = ReferenceTable<ObjectOverlay>()
  /// Whether any object has been marked as deleted since the last save.
  private var hasDeletions = false
  /// Grows when many changes are forgotten at once.
  private(set) var generation: UInt64 = 0
  /// Deleted objects whose delete rules have yet to be applied.
  var unpropagated: [ObjectReference] = []

  var isEmpty: Bool { table.count == 0 }

  /// The number of objects with unsaved changes.
  var count: Int { table.count }

  /// Frees the table; the tracker must not be used afterwards.
  func deallocate() { table.deallocate() }

  @inline(__always)
  subscript(reference: ObjectReference) -> ObjectOverlay? { table.object(reference) }

  /// Adds the changes of an object that has none.
  mutating func insert(_ overlay: ObjectOverlay) {
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
  /// happen while the tracker is being changed.
  @discardableResult
  mutating func remove(_ reference: ObjectReference) -> ObjectOverlay? {
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
  mutating func removeAll() -> [[ObjectOverlay]] {
    let everything = groups.map(\.overlays)
    generation += 1
    groups = []
    table.removeAll()
    hasDeletions = false
    unpropagated = []
    return everything
  }

  /// Forgets the changes of some entities, and gives them.
  mutating func removeAll(ofEntities isRemoved: (UInt16) -> Bool) -> [[ObjectOverlay]] {
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
  mutating func propagateLater(_ overlay: ObjectOverlay) {
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

  /// The changes of the entities that fulfil a condition, as `ordered`.
  func ordered(where holds: (EntityShape) -> Bool) -> [ObjectOverlay] {
    groups.filter { $0.overlays.first.map { holds($0.shape) } ?? false }.flatMap { group in
      group.isOrdered
        ? group.overlays : group.overlays.sorted { $0.reference.rawValue < $1.reference.rawValue }
    }
  }
}
