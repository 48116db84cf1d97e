// The last values of an object, which its instance shows after the object was removed from the
// context.

internal import PerdurePredicates

extension ContextCore {

  /// The value of a column in the kept row of an object with unsaved changes. Null unless the
  /// object is deleted or another context has removed it.
  func lastValue(_ slot: Int, of object: ManagedObject) -> Value {
    if let probedReads { return probedReads.value(slot, of: object) }
    guard let overlay = object.overlay, let kept = overlay.keptBase,
      overlay.isDeleted || viewState.hasVanished(object.reference), let layouts = object.shape.storage.layouts
    else { return .null }
    do {
      return try kept.bytes.withUnsafeBytes {
        layouts.value(slot, of: try graph.store.rows.view($0, of: object.reference))
      }
    } catch {
      preconditionFailure("A row that was read before cannot be read.")
    }
  }

  /// The target of a required to-one relationship that has no object: the object that it had last,
  /// or a deleted object without values. nil if no entity can have such an object.
  func lastTarget(of owner: ManagedObject, _ relationship: RelationshipShape) -> ManagedObject? {
    if relationship.form == .column, case .reference(let target) = owner.heldColumnValue(relationship.slot) {
      return registry.lastInstance(of: target)
    }
    return reading.retirement.absentInstance(of: relationship.destination)
  }
}
