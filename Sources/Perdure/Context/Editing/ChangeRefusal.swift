// Refused changes, which the next save reports.
//
// A property setter cannot throw. Without a report, three kinds of changes are lost silently. The
// first is a change of an object that the context no longer has, such as a new object that was
// deleted. The second is a link to such an object. The third is a value that an attribute cannot
// hold. The context records each refused change, and the next save throws before it writes
// anything.
//
// Invariants
//   CR1. While a refused change is recorded, `hasChanges` is true.
//   CR2. The save that reports refused changes also removes them, so the next save writes
//        everything else. A rollback and a reset remove them too.
//   CR3. The context keeps the details of `RefusedChanges.detailsMax` changes, and counts the
//        others.

internal import PerdurePredicates

/// Checks whether objects can be changed and connected, and records refused changes for the next
/// save.
final class ChangeRefusal {
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  private let rows: RowLoader
  private let retirement: ObjectRetirement
  private let activity: ContextActivity

  init(_ reading: Shared<ContextReading>, _ activity: ContextActivity) {
    registry = reading.registry
    viewState = reading.viewState
    pending = reading.pending
    rows = reading.rows
    retirement = reading.retirement
    self.activity = activity
  }

  /// Whether changes of an object are refused, because its context no longer has it or will never
  /// save it. A `prepareForDeletion` may change objects that are deleted together with its own
  /// object.
  @inline(__always)
  func refusesChanges(_ object: ManagedObject) -> Bool {
    object.header.pointee.isGone || isDiscarded(object)
  }

  /// Whether an object was deleted before its first save. False while delete rules are applied or a
  /// `prepareForDeletion` runs.
  @inline(__always)
  func isDiscarded(_ object: ManagedObject) -> Bool {
    guard let overlay = object.overlay, overlay.isDiscarded else { return false }
    return !activity.isPropagating && activity.preparing.isEmpty
  }

  // MARK: Objects that are connected

  /// Whether an object may become a target. False if the object no longer exists or the store
  /// cannot be read. Stops the program if the object belongs to another context, or if its entity
  /// is neither the destination nor a subentity of the destination.
  func canConnect(_ object: ManagedObject, _ relationship: RelationshipShape) -> Bool {
    object.checkOwner()
    if object.header.pointee.isGone { return false }
    if object.header.pointee.memory != registry.memory { stopAsForeign(object, relationship) }
    let number = object.reference.entityNumber
    if number != relationship.destination, !pending.graph.isKind(number, of: relationship.destination) {
      stop(
        "The relationship \(relationship.name) leads to \(pending.graph.shape(numbered: relationship.destination).name), and "
          + "\(object.objectID) is a \(object.shape.name). Connect an object of the destination.")
    }
    return existsOrVanishes(object)
  }

  @inline(never)
  private func stopAsForeign(_ object: ManagedObject, _ relationship: RelationshipShape) -> Never {
    stop(
      "The relationship \(relationship.name) cannot lead to \(object.objectID), which belongs to another context. "
        + "Connect the instance of this context: context.object(with: objectID).")
  }

  /// Whether an object that is about to be connected is new or has a row. If another context has
  /// removed the row, the object is removed from this context too, because a link to it has no
  /// target. A discarded object counts as absent. If the store cannot be read, returns false, and
  /// the next fetch or save throws the error.
  func existsOrVanishes(_ object: ManagedObject) -> Bool {
    // A new object has unsaved columns, so it is never ready (H1). A discarded object is new.
    if object.header.pointee.isReady { return true }
    if isDiscarded(object) { return false }
    let hasRow = rows.hasRow(object)
    if hasRow == false { retirement.vanish(object) }
    return hasRow == true
  }

  // MARK: Refused changes

  /// Records that a property was not set because the context no longer has the object or will never
  /// save it.
  func refuseChange(of object: ManagedObject, _ slot: Int, _ value: Value = .null) {
    // Ignores changes by `didSave` of a deleted object, and transient values that
    // `didTurnIntoFault` clears.
    guard refusesChanges(object), object.header.pointee.savedState == nil else { return }
    if case .transient = object.shape.properties[slot], activity.turnedIntoFault == object.reference {
      return
    }
    noteUnset(object, slot, value)
  }

  /// Records the unsaved transient values of an object that another context has removed. A save
  /// writes nothing for them, so no conflict reports them.
  func refuseTransients(of overlay: ObjectOverlay) {
    guard let object = overlay.object, let before = overlay.transientsBefore,
      let held = object.header.pointee.transients?.takeUnretainedValue().bySlot
    else { return }
    for slot in before.setSince.sorted() {
      let initial = TransientValues.Held.value(object.shape.template[slot])
      let new = held[slot] ?? initial
      if !new.isKnown(toEqual: before.bySlot[slot] ?? initial) { noteUnset(object, slot, new.typedValue) }
    }
  }

  private func noteUnset(_ object: ManagedObject, _ slot: Int, _ value: Value) {
    note(
      object, object.shape.propertyName(slot), value,
      "was not set: \(goneReason(object.reference))")
  }

  /// Records that a relationship was not changed because the owner or the target no longer exists.
  ///
  /// - Parameter target: The object at the other end; nil if only the owner is known.
  func refuseLink(of owner: ManagedObject, _ slot: Int, to target: ManagedObject? = nil) {
    // A read failure is reported separately, by the next fetch or save.
    guard viewState.readFailure == nil, owner.header.pointee.savedState == nil else { return }
    if activity.turnedIntoFault == owner.reference, owner.shape.relationship(slot).isTransient { return }
    let reason: String
    if let target, !refusesChanges(owner) {
      reason = "was not connected with \(target.objectID): \(goneReason(target.reference))"
    } else {
      reason = "was not changed: \(goneReason(owner.reference))"
    }
    note(
      owner, owner.shape.propertyName(slot), target.map(\.predicateValue) ?? .null, reason)
  }

  private func note(
    _ object: ManagedObject, _ property: String, _ value: Value, _ rule: String
  ) {
    pending.refusedChanges.note(
      PerdureError.Detail(
        code: .objectNotFound, objectID: object.objectID, property: property, value: value, rule: rule))
  }

  private func goneReason(_ reference: ObjectReference) -> String {
    if pending[reference]?.isDiscarded == true { return "the object was deleted before its first save" }
    let survivor = pending.survivor(of: reference)
    if survivor == reference { return "the object is no longer in this context" }
    return "a save has merged the object into \(pending.objectID(of: survivor))"
  }

  /// Throws an error with the changes that were refused since the last save, and removes them
  /// (CR2).
  func throwRefusedChanges() throws(PerdureError) {
    if pending.refusedChanges.isEmpty { return }
    let refused = pending.refusedChanges
    pending.refusedChanges = RefusedChanges()
    throw .refused(refused)
  }
}

extension PerdureError {
  fileprivate static func refused(_ changes: RefusedChanges) -> PerdureError {
    let first = changes.details[0]
    let more = changes.count == 1 ? "" : " More refused changes: \(changes.count - 1); see the details."
    let isOfOneKind = changes.details.allSatisfy { $0.code == first.code }
    var error = PerdureError(
      isOfOneKind ? first.code : .multipleValidationErrors,
      "\(first.sentence)\(more) Nothing was saved. Save again to save everything else, or roll back.")
    error.details = changes.details
    var seen: Set<ManagedObjectID> = []
    error.objectIDs = changes.details.map(\.objectID).filter { seen.insert($0).inserted }
    return error
  }
}
