// Checks of objects before they are connected.

internal import PerdurePredicates

extension ContextCore {
  /// Whether an object may become a target. False if it no longer exists. Stops the program if it
  /// belongs to another context or has an entity other than the destination.
  func canConnect(_ object: ManagedObject, _ relationship: RelationshipShape) -> Bool {
    let isOurs = object.uncountedCore._withUnsafeGuaranteedRef { core in
      core.checkOwner()
      return core === self
    }
    if object.header.pointee.isGone { return false }
    if !isOurs { stopAsForeign(object, relationship) }
    let number = object.reference.entityNumber
    if number != relationship.destination, !graph.isKind(number, of: relationship.destination) {
      stop(
        "The relationship \(relationship.name) leads to \(graph.shape(numbered: relationship.destination).name), and "
          + "\(object.objectID) is a \(object.shape.name). Connect an object of the destination.")
    }
    return isThere(object)
  }

  @inline(never)
  private func stopAsForeign(_ object: ManagedObject, _ relationship: RelationshipShape) -> Never {
    stop(
      "The relationship \(relationship.name) cannot lead to \(object.objectID), which belongs to another context. "
        + "Connect the instance of this context: context.object(with: objectID).")
  }

  /// Whether an object that is about to be connected is new or has a row. If another context has
  /// removed the row, the object is removed here too: a link to it would have no target. If the
  /// store cannot be read, returns false, and the next save throws the error.
  func isThere(_ object: ManagedObject) -> Bool {
    // A new object has unsaved columns, so it is never ready (H1). A discarded object is new.
    if object.header.pointee.isReady { return true }
    if editing.refusal.isDiscarded(object) { return false }
    let hasRow = reading.rows.hasRow(object)
    if hasRow == false { reading.retirement.vanish(object) }
    return hasRow == true
  }
}
