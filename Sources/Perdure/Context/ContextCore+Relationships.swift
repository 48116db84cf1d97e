// What is at the other end of a relationship, unsaved changes included; and connecting both ends at once.
//
// A to-one relationship is a column of one of the two rows, and everything else follows from columns and
// links: the other end of a column is what the relation index says, corrected by the delta of the owner's
// overlay. All functions here work on references, so that no instance is made of an object that nobody
// asked for.

internal import PerdurePredicates

// MARK: - Reading

extension ContextCore {
  // What is settled was there after the last save: in the store, or in the table of transient links.
}

// MARK: - Changing

extension ContextCore {
  /// Whether an object may be put at the other end; misuse stops the program. What is gone is not connected.
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

  /// Whether an object that is about to be connected has a row, or will have one. Where another context has
  /// removed the row, the object is gone now: what it is connected with would be left with nothing. Where the
  /// store cannot say, nothing is connected, and the save says why.
  func isThere(_ object: ManagedObject) -> Bool {
    // A new object has unsaved columns, so it is never ready (H1), and a discarded one is new.
    if object.header.pointee.isReady { return true }
    if editing.refusal.isDiscarded(object) { return false }
    let hasRow = reading.rows.hasRow(object)
    if hasRow == false { reading.retirement.vanish(object) }
    return hasRow == true
  }
}
