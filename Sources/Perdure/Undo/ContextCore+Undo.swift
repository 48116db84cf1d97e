// Taking back what a group has changed.
//
// An undo gives each place the content that it had before the group. These are edits like others:
// the recorder makes a group of them, which is what a redo takes back. So undo and redo are the
// same function, and a redo restores exactly what the undo has changed, delete rules included.
//
//   1. objects that the group has removed   with their attributes
//   2. columns                              to-one relationships with their other ends
//   3. links, positions, transient attributes
//   4. objects that the group has added     they go
//
// Invariants:
//   UN1. Before anything is changed, each place is compared with what the group has left there.
//        What is neither that nor the content before the group is a conflict.
//   UN2. The contents before a group agree with each other (both ends of a one-to-one relationship,
//        links and positions), so the order of the steps inside 2 and 3 does not matter.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension ContextCore {
  /// Takes back the last group of a direction, if there is one.
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
    let conflicts = conflicts(of: group)
    if let readFailure { throw readFailure }
    if policy == .refuse, !conflicts.isEmpty {
      throw .undo(conflicts.map { shown($0) }, direction)
    }
    let kept = policy == .keepCurrent ? Set(conflicts.map(\.place)) : []
    undoManager.takeBack(direction, self) {
      restore(group.changes.filter { !kept.contains($0.place) })
      propagateDeletes()
    }
  }

  private func checkUndoIsPossible(_ undoManager: ContextUndoManager) {
    if undoManager.recorder.isInGroup {
      stop("undo() or redo() was called inside undoGroup. Call it when the closure has returned.")
    }
    if isSaving || isValidating || isPropagating {
      stop("undo() or redo() was called by a hook of a save or of a deletion. Call it when that is done.")
    }
  }

  // MARK: Conflicts

  private struct FoundConflict {
    let place: EditedPlace
    let property: EditedPlace
    let before: EditedContent
    let after: EditedContent
    let current: EditedContent
  }

  /// UN1.
  private func conflicts(of group: UndoGroup) -> [FoundConflict] {
    let returning = Set(
      group.changes.compactMap { change -> ObjectReference? in
        guard case .object(let reference) = change.place, !change.before.isAbsent else { return nil }
        return reference
      })
    var gone: Set<ObjectReference> = []
    var found: [FoundConflict] = []
    for change in group.changes {
      let owner = change.place.owner
      if case .object = change.place {
        found += conflicts(ofObject: change)
        continue
      }
      // The group has all columns of an object that it restores.
      if returning.contains(owner) { continue }
      // Without its owner or its member there is no position: the link is in the conflicts.
      if case .position(let member, _, _) = change.place, !exists(owner) || !exists(member) { continue }
      guard exists(owner) else {
        if gone.insert(owner).inserted {
          found.append(
            FoundConflict(
              place: change.place, property: .object(owner), before: .value(.bool(true)),
              after: .value(.bool(true)), current: .value(.bool(false))))
        }
        continue
      }
      let current = content(of: change.place)
      let target = target(of: change)
      let isLost = target.map { !exists($0) && !returning.contains($0) } ?? false
      if isLost || !current.isSame(as: change.after) && !current.isSame(as: change.before) {
        found.append(
          FoundConflict(
            place: change.place, property: change.place, before: change.before, after: change.after,
            current: current))
      }
    }
    return found
  }

  /// An object that the group has added, and that has changed since.
  private func conflicts(ofObject change: UndoGroup.Change) -> [FoundConflict] {
    guard case .object(let after) = change.after, case .object(let current) = content(of: change.place) else {
      return []
    }
    let (reference, shape) = (change.place.owner, graph.shape(of: change.place.owner))
    return after.columns.indices.filter { after.columns[$0] != current.columns[$0] && shape.isColumn($0) }
      .map { slot in
        FoundConflict(
          place: change.place, property: .column(reference, slot: slot), before: .absent,
          after: .value(after.columns[slot]), current: .value(current.columns[slot]))
      }
  }

  /// The object that a restored place leads to.
  private func target(of change: UndoGroup.Change) -> ObjectReference? {
    switch (change.place, change.before) {
    case (.column, .value(.reference(let target))): target
    case (.link(_, _, let target), .linked): target
    default: nil
    }
  }

  private func shown(_ conflict: FoundConflict) -> UndoConflict {
    let (owner, slot) = (conflict.property.owner, conflict.property.slot)
    var member: ManagedObjectID?
    switch conflict.property {
    case .link(_, _, let target), .position(let target, _, _): member = objectID(of: target)
    default: break
    }
    return UndoConflict(
      objectID: objectID(of: owner),
      property: slot.map { graph.shape(of: owner).propertyName($0) } ?? "",
      before: shown(conflict.before, conflict.property), after: shown(conflict.after, conflict.property),
      current: shown(conflict.current, conflict.property), member: member)
  }

  private func shown(_ content: EditedContent, _ place: EditedPlace) -> Value {
    switch content {
    case .value(let value), .transient(.value(let value)): graph.shown(value)
    case .transient(.instance(let reference)): graph.shown(.reference(reference))
    case .linked, .object: .bool(true)
    case .key(let key): .data(Data(key.bytes))
    case .absent: if case .link = place { .bool(false) } else { .null }
    case .stored, .transient: .null
    }
  }

  // MARK: Restoring

  private func restore(_ changes: [UndoGroup.Change]) {
    let returned = changes.filter { change in
      guard case .object(let object) = change.before, !exists(change.place.owner) else { return false }
      bringBack(change.place.owner, object)
      return true
    }
    for case (let change, .object(let object)) in returned.map({ ($0, $0.before) }) {
      connect(change.place.owner, object)
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

  /// Calls `awake(fromSnapshotEvents:)` of instances that have other values now.
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
      exists(reference)
    else { return }
    let shape = graph.shape(of: reference)
    guard shape.isRelationship(slot) else {
      if columnValue(reference, slot) != value { setColumn(reference, slot, value) }
      return
    }
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

  /// An object is there again, with its attributes.
  private func bringBack(_ reference: ObjectReference, _ object: EditedObject) {
    if let overlay = tracker[reference], overlay.isDeleted { return takeBackDeletion(overlay) }
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
    // Others' rows may lead to it (C3).
    if object.wasStored { rebaseDeltas() }
  }

  /// The object is not deleted any more; its other changes stay.
  private func takeBackDeletion(_ overlay: ObjectOverlay) {
    recordRemovalOfDeletion(overlay.reference)
    overlay.isDeleted = false
    overlay.isPropagated = false
    overlay.deletedWith = nil
    if !overlay.isNew, !overlay.changesRow { overlay.baseVersion = nil }
    dropIfUnchanged(overlay)
    addIfVanished(overlay.reference)
    // Observers know of the deletion, so the end of the event reports the object.
    if tracker[overlay.reference] == nil, overlay.toldState != nil {
      eventStarts[overlay.reference] = EventStart()
    }
  }

  private func recordRemovalOfDeletion(_ reference: ObjectReference) {
    recorder?.note(.object(reference)) { .absent }
  }

  /// The instance that the object had, if the program still has it.
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

  /// The to-one relationships of an object that is there again.
  private func connect(_ reference: ObjectReference, _ object: EditedObject) {
    guard let overlay = tracker[reference], overlay.isNew else { return }
    let shape = overlay.shape
    for relationship in shape.columns {
      guard case .reference(let target) = object.columns[relationship.slot], exists(target) else { continue }
      setColumn(reference, relationship, target)
    }
  }

  /// An object that was added goes, and with it the links that it has now. No delete rule takes
  /// others along: before the group there was nothing that could.
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
