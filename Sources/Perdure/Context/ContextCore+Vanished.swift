// What another context has removed, and what is changed or linked to here all the same.
//
// Unsaved changes outlive the row that they were made to, and the object that they lead to: what somebody
// typed is not thrown away unasked. Yet nothing is there any more, so nothing of it shows: such an object
// counts as deleted, no fetch finds it, and no relationship leads to it or from it. The changes stay for the
// save to refuse.
//
// Invariants:
//   C5. `vanished` has every reference that an unsaved change is about or leads to, that is not new and not
//       deleted here, and that has no row in the view. It may have more: what was one of these once. Ids are
//       never given out again, so what has vanished stays so.
//   C6. The deltas of columns have none of them at either end, whatever the columns hold.

internal import PerdurePredicates

extension ContextCore {
  /// Whether an object that is changed or linked to here has been removed by another context.
  @inline(__always)
  func hasVanished(_ reference: ObjectReference) -> Bool {
    !vanished.isEmpty && vanished.contains(reference)
  }

  /// Restores C5 after the view has moved.
  func findVanished() {
    vanished = []
    for overlay in tracker.ordered.joined() {
      addIfVanished(overlay.reference)
      for slot in overlay.shape.columnSlots {
        if let target = overlay.reference(slot) { addIfVanished(target) }
      }
      for (_, delta) in overlay.deltas {
        for target in delta.added.ordered { addIfVanished(target) }
      }
    }
  }

  func addIfVanished(_ reference: ObjectReference) {
    if let overlay = tracker[reference], overlay.isNew || overlay.isDeleted { return }
    guard !vanished.contains(reference) else { return }
    do {
      if try view.version(of: reference) == nil { vanished.insert(reference) }
    } catch {
      noteReadFailure(error, reference)
    }
  }

  /// Whether a reference leads to nothing, because the object there was deleted under the rule no action.
  func isLeftBehind(_ target: ObjectReference, at relationship: RelationshipShape) -> Bool {
    guard relationship.form == .column, let inverse = inverse(of: relationship, at: target) else {
      return false
    }
    forgetDangling(target, inverse)
    return hasVanished(target)
  }

  /// What a column shows: a reference to what has vanished, or from it, leads to nothing.
  @inline(__always)
  func shown(_ target: ObjectReference?, of owner: ObjectReference) -> ObjectReference? {
    guard !vanished.isEmpty, let target else { return target }
    return vanished.contains(target) || vanished.contains(owner) ? nil : target
  }

  /// Whether another context has removed an object, or a new object was deleted. Reads the view,
  /// unless the object's row is known to be current.
  func isRemovedElsewhere(_ object: ManagedObject) -> Bool {
    let header = object.header
    if header.pointee.isGone { return header.pointee.hasVanished }
    if let overlay = object.overlay {
      return overlay.isDeleted || !overlay.isNew && hasVanished(object.reference)
    }
    if header.pointee.isReady { return false }
    guard deletesInaccessibleFaults, hasRow(object) == false else { return false }
    vanish(object)
    return true
  }

  /// Lets go of unsaved links to what has vanished.
  func letGoOfVanishedTargets(_ owner: ObjectReference, _ relationship: RelationshipShape) {
    guard !vanished.isEmpty, !relationship.isInColumn,
      let delta = tracker[owner]?.delta(relationship.slot)
    else { return }
    for target in delta.added.ordered where vanished.contains(target) {
      disconnect(owner, relationship, target)
    }
  }
}
