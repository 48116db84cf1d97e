internal import PerdurePredicates

/// The unsaved changes of a context, by reference.
///
/// Kept apart by entity, so that a fetch of one entity costs nothing for the changes of others.
struct ChangeTracker {
  /// By entity number.
  private var overlaysByEntity: [[ObjectReference: ObjectOverlay]] = []
  private(set) var count = 0
  /// Deleted objects whose delete rules have yet to be applied.
  var unpropagated: [ObjectReference] = []

  var isEmpty: Bool { count == 0 }

  subscript(reference: ObjectReference) -> ObjectOverlay? {
    let entity = Int(reference.entityNumber)
    return entity < overlaysByEntity.count ? overlaysByEntity[entity][reference] : nil
  }

  /// The changes of objects of one concrete entity.
  func overlays(ofEntity entity: UInt16) -> some Collection<ObjectOverlay> {
    (Int(entity) < overlaysByEntity.count ? overlaysByEntity[Int(entity)] : [:]).values
  }

  func touches(entity: UInt16) -> Bool {
    Int(entity) < overlaysByEntity.count && !overlaysByEntity[Int(entity)].isEmpty
  }

  mutating func insert(_ overlay: ObjectOverlay) {
    let entity = Int(overlay.reference.entityNumber)
    while overlaysByEntity.count <= entity { overlaysByEntity.append([:]) }
    if overlaysByEntity[entity].updateValue(overlay, forKey: overlay.reference) == nil { count += 1 }
  }

  /// Removes an entry and gives it to the caller: releasing it may run an object's deinit, which must not
  /// happen while the tracker is being changed.
  @discardableResult
  mutating func remove(_ reference: ObjectReference) -> ObjectOverlay? {
    let entity = Int(reference.entityNumber)
    guard entity < overlaysByEntity.count,
      let overlay = overlaysByEntity[entity].removeValue(forKey: reference)
    else { return nil }
    count -= 1
    return overlay
  }

  /// Forgets everything, and gives what there was.
  mutating func removeAll() -> [ObjectOverlay] {
    let everything = all
    self = ChangeTracker()
    return everything
  }

  func isNew(_ reference: ObjectReference) -> Bool { self[reference]?.isNew ?? false }

  func isDeleted(_ reference: ObjectReference) -> Bool { self[reference]?.isDeleted ?? false }

  /// Makes sure that the delete rules are applied to an object, again if need be.
  mutating func propagateLater(_ overlay: ObjectOverlay) {
    overlay.isPropagated = false
    unpropagated.append(overlay.reference)
  }

  func contains(where holds: (ObjectOverlay) -> Bool) -> Bool {
    overlaysByEntity.contains { $0.values.contains(where: holds) }
  }

  /// The changes in no particular order.
  var all: [ObjectOverlay] { overlaysByEntity.flatMap(\.values) }

  /// The changes in order of reference, which is the same in every run.
  var ordered: [ObjectOverlay] { all.sorted { $0.reference.rawValue < $1.reference.rawValue } }
}
