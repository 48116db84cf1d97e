internal import PerdurePredicates

/// The unsaved changes of a context, by reference.
struct ChangeTracker {
  private(set) var overlays: [ObjectReference: ObjectOverlay] = [:]
  /// Deleted objects whose delete rules have yet to be applied.
  var unpropagated: [ObjectReference] = []

  var isEmpty: Bool { overlays.isEmpty }

  subscript(reference: ObjectReference) -> ObjectOverlay? { overlays[reference] }

  mutating func insert(_ overlay: ObjectOverlay) {
    overlays[overlay.reference] = overlay
  }

  /// Removes an entry and gives it to the caller: releasing it may run an object's deinit, which must not
  /// happen while the tracker is being changed.
  @discardableResult
  mutating func remove(_ reference: ObjectReference) -> ObjectOverlay? {
    overlays.removeValue(forKey: reference)
  }

  /// Forgets everything, and gives what there was.
  mutating func removeAll() -> [ObjectOverlay] {
    let all = Array(overlays.values)
    overlays = [:]
    unpropagated = []
    return all
  }

  func isNew(_ reference: ObjectReference) -> Bool { overlays[reference]?.isNew ?? false }

  func isDeleted(_ reference: ObjectReference) -> Bool { overlays[reference]?.isDeleted ?? false }

  /// Makes sure that the delete rules are applied to an object, again if need be.
  mutating func propagateLater(_ overlay: ObjectOverlay) {
    overlay.isPropagated = false
    unpropagated.append(overlay.reference)
  }

  /// The changes in order of reference, which is the same in every run.
  var ordered: [ObjectOverlay] {
    overlays.values.sorted { $0.reference.rawValue < $1.reference.rawValue }
  }
}
