// Undoes and redoes a group of edits.
//
// An undo gives each place the content that it had before the group. These changes are ordinary
// edits: the recorder makes a group of them, and a redo undoes that group. So undo and redo are one
// function. A redo reverts all changes of the undo, also those by delete rules. The steps:
//
//   1. objects that the group has removed   inserted again with their attributes
//   2. columns                              to-one relationships with their other ends
//   3. links, positions, transient attributes
//   4. objects that the group has added     removed
//
// Invariants:
//   UN1. Before an undo changes anything, it compares each place with the content after the group.
//        A content that is neither this one nor the content before the group is a conflict.
//   UN2. The contents before a group agree with each other (both ends of a one-to-one relationship,
//        links and positions). So the order within the steps 2 and 3 does not matter.

internal import PerdurePredicates

extension ContextCore {
  /// Undoes or redoes the last group of a direction, if there is one.
  func takeBack(
    _ direction: UndoHistory.Direction, _ policy: UndoConflictPolicy
  ) throws(PerdureError) {
    checkOwner()
    guard let undoManager else { return }
    checkUndoIsPossible(undoManager)
    keepDropped()
    defer { releaseDropped() }
    propagateDeletes()
    endUndoGroupOfEvent()
    guard let group = undoManager.history.last(direction) else { return }
    let conflicts = conflicts(of: group) { undoManager.history.brings(back: $0, direction) }
    if let readFailure { throw readFailure }
    if policy == .refuse, !conflicts.isEmpty {
      throw .undo(conflicts.map { shown($0) }, direction)
    }
    let kept = policy == .keepCurrent ? Set(conflicts.map(\.place)) : []
    undoManager.takeBack(direction, self) {
      restore(group.changes.filter { !isKept($0, kept) }, kept)
      propagateDeletes()
    }
  }

  private func checkUndoIsPossible(_ undoManager: ContextUndoManager) {
    if undoManager.recorder.isInGroup {
      stop("undo() or redo() was called inside undoGroup. Call it after the closure has returned.")
    }
    if isSaving || isValidating || isPropagating {
      stop("undo() or redo() was called by a hook of a save or of a deletion. Call it afterwards.")
    }
  }

  // MARK: Restoring

  /// - Parameter kept: The places that are not changed.
  private func restore(_ changes: [UndoGroup.Change], _ kept: Set<EditedPlace>) {
    let returned = changes.filter { change in
      guard case .object(let object) = change.before, !exists(change.place.owner) else { return false }
      bringBack(change.place.owner, object)
      return true
    }
    // Rows of other objects may refer to objects that are inserted again (C3).
    if returned.contains(where: { tracker[$0.place.owner]?.isInsertedAgain == true }) { rebaseDeltas() }
    for case (let change, .object(let object)) in returned.map({ ($0, $0.before) }) {
      connect(change.place.owner, object, kept)
    }
    for change in changes { restoreColumn(change) }
    for change in changes { restoreLink(change) }
    for change in changes { restorePosition(change) }
    for change in changes { restoreTransient(change) }
    for change in changes {
      guard case .object(let reference) = change.place, change.before.isAbsent else { continue }
      takeAway(reference)
    }
    tellRestored(changes, returned: Set(returned.map(\.place.owner)))
  }

  /// Calls `awake(fromSnapshotEvents:)` of the instances whose values the undo has changed.
  private func tellRestored(_ changes: [UndoGroup.Change], returned: Set<ObjectReference>) {
    var notified: Set<ObjectReference> = []
    for change in changes {
      let owner = change.place.owner
      guard let object = identityMap.object(owner), object.isAwake, notified.insert(owner).inserted,
        exists(owner)
      else { continue }
      reawaken(object, returned.contains(owner) ? .undoDeletion : .undoUpdate)
    }
  }

  private func restoreColumn(_ change: UndoGroup.Change) {
    guard case .column(let reference, let slot) = change.place, case .value(let value) = change.before,
      isHere(change.place)
    else { return }
    let shape = graph.shape(of: reference)
    guard shape.isRelationship(slot) else {
      if columnValue(reference, slot) != value { setColumn(reference, slot, value) }
      return
    }
    // A deleted object cannot get links.
    guard exists(reference) else { return }
    var target: ObjectReference?
    if case .reference(let found) = value {
      guard exists(found) else { return }
      target = found
    }
    setColumn(reference, shape.relationship(slot), target)
  }

  private func restoreLink(_ change: UndoGroup.Change) {
    guard case .link(let owner, let slot, let target) = change.place else { return }
    let relationship = graph.shape(of: owner).relationship(slot)
    if change.before.isAbsent {
      disconnect(owner, relationship, target)
    } else if exists(owner), exists(target) {
      connect(owner, relationship, target)
    }
  }

  private func restorePosition(_ change: UndoGroup.Change) {
    guard case .position(let member, let owner, let slot) = change.place, case .key(let key) = change.before
    else { return }
    let relationship = graph.shape(of: owner).relationship(slot)
    guard exists(owner), contains(owner, relationship, member) else { return }
    if content(of: change.place).isSame(as: change.before) { return }
    setPlace(of: member, to: key, of: owner, relationship, isSpread: false)
  }

  private func restoreTransient(_ change: UndoGroup.Change) {
    guard case .transient(let reference, let slot) = change.place, exists(reference) else { return }
    let object = instance(of: reference)
    let held: TransientValues.Held
    switch change.before {
    case .transient(.value(let value)): held = .value(value)
    case .transient(.instance(let other)): held = .object(instance(of: other))
    case .transient(.foreign(let other)): held = other.object.map { .object($0) } ?? .value(.null)
    case .transient(.any(let value)): held = .object(value)
    default: held = .value(object.shape.template[slot])
    }
    setTransient(of: object, slot, held)
  }

  // MARK: Objects

  /// Restores a removed object with its attributes.
  private func bringBack(_ reference: ObjectReference, _ object: EditedObject) {
    if let overlay = tracker[reference], overlay.isDeleted { return takeBackDeletion(overlay, object) }
    let shape = graph.shape(of: reference)
    let overlay = ObjectOverlay(reference, shape, isNew: true, in: memory)
    overlay.isInsertedAgain = object.wasStored
    overlay.hasPermanentID = object.hasPermanentID
    recordInsertion(overlay)
    tracker.insert(overlay)
    revive(overlay)
    vanished.remove(reference)
    for slot in object.columns.indices where shape.isColumn(slot) {
      overlay.setValue(shape.isRelationship(slot) ? .null : object.columns[slot], slot)
    }
  }

  /// Cancels a pending deletion, and restores the attributes that the object had at the deletion.
  private func takeBackDeletion(_ overlay: ObjectOverlay, _ object: EditedObject) {
    unmarkDeleted(overlay)
    if !overlay.isNew, !overlay.changesRow { overlay.baseVersion = nil }
    dropIfUnchanged(overlay)
    addIfVanished(overlay.reference)
    // Observers have received the deletion, so the event must report the object.
    if tracker[overlay.reference] == nil, overlay.toldState != nil {
      eventStarts[overlay.reference] = EventStart()
    }
    // A child context may have changed the attributes since the deletion.
    for (slot, value) in object.columns.enumerated()
    where overlay.shape.isColumn(slot) && !overlay.shape.isRelationship(slot)
      && columnValue(overlay.reference, slot) != value
    {
      setColumn(overlay.reference, slot, value)
    }
  }

  /// Uses the object's previous instance again, if the program still has it.
  private func revive(_ overlay: ObjectOverlay) {
    let reference = overlay.reference
    if identityMap.object(reference) == nil, let removed = removedInstances.removeValue(forKey: reference) {
      let object = removed.takeUnretainedValue()
      object.header.pointee.wakefulness.subtract([.gone, .vanished, .drowsy])
      object.header.pointee.dropRow()
      identityMap.insert(object, reference)
      retain(object)
    }
    guard let object = identityMap.object(reference) else { return }
    attach(overlay, to: object)
    if object.shape.followsRow { object.header.pointee.wakefulness = .awake }
    linksChanged()
  }

  /// Restores the to-one relationships of an object that was inserted again.
  private func connect(_ reference: ObjectReference, _ object: EditedObject, _ kept: Set<EditedPlace>) {
    guard let overlay = tracker[reference], overlay.isNew else { return }
    let shape = overlay.shape
    for relationship in shape.columns {
      guard case .reference(let target) = object.columns[relationship.slot], exists(target),
        !kept.contains(.column(reference, slot: relationship.slot))
      else { continue }
      setColumn(reference, relationship, target)
    }
  }

  /// Removes an object that the group has added, with its current links. Does not apply delete
  /// rules: before the group, the object had no links that a rule could follow.
  private func takeAway(_ reference: ObjectReference) {
    guard exists(reference) else { return }
    let overlay = overlay(for: reference)
    guard overlay.isNew else {
      letGoOfDeleted(overlay)
      return markDeleted(reference)
    }
    recordDeletion(reference)
    let row = identityMap.object(reference) == nil ? nil : row(of: overlay, base: nil)
    letGoOfDeleted(overlay)
    retireNew(overlay, row)
  }
}
