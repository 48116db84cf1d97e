// Restores the contents of places from an undo group.

internal import PerdurePredicates

/// Restores the contents that a group has recorded.
final class UndoRestorer {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  @Shared private var reading: ContextReading
  @Shared private var editing: ContextEditing
  private let conflictFinder: UndoConflictFinder

  init(
    _ reading: Shared<ContextReading>, _ editing: Shared<ContextEditing>, _ conflictFinder: UndoConflictFinder
  ) {
    graph = reading.graph
    registry = reading.registry
    viewState = reading.viewState
    pending = reading.pending
    _reading = reading
    _editing = editing
    self.conflictFinder = conflictFinder
  }

  /// Restores the contents before the changes, in the order of UndoApplication.swift.
  ///
  /// - Parameter kept: The places that the undo does not change.
  func restore(_ changes: [UndoGroup.Change], _ kept: Set<EditedPlace>) {
    let returned = reinsert(conflictFinder.returning(changes))
    let places = Set(changes.map(\.place))
    // Members that are linked again return to their stored positions, because the undo restores no
    // position that is in conflict.
    let restoredOrder = editing.orderEditor.restoresOrder
    editing.orderEditor.restoresOrder = true
    for (reference, object) in returned { connect(reference, object, kept, restoredLater: places) }
    for change in changes { restoreColumn(change) }
    for change in changes { restoreLink(change) }
    editing.orderEditor.restoresOrder = restoredOrder
    for change in changes { restorePosition(change) }
    for change in changes { restoreTransient(change) }
    // No cascade is applied: targets that were connected after the group are in conflict.
    editing.removal.remove(
      changes.compactMap { change in
        guard case .object(let reference) = change.place, change.before.isAbsent else { return nil }
        return reference
      }, keepsDenied: true)
    for (reference, _) in returned { editing.removal.reportReferences(to: reference) }
    awakenRestored(changes, returned: Set(returned.map(\.reference)))
  }

  /// Deletes the objects that a cascade deletes with an object that the undo removes, although they
  /// were connected after the group.
  func deleteConnected(_ conflicts: [FoundConflict]) {
    for target in conflicts.compactMap(\.connected) where reading.contents.exists(target) {
      editing.objectEditor.markDeleted(target)
    }
  }

  /// Accepts the saved values that unsaved edits hide, before the undo replaces them. The next save
  /// then keeps the restored values, even if it merges them with the saved ones. Later undos of the
  /// same places do not conflict.
  func acceptHiddenSaves(of changes: [UndoGroup.Change]) {
    for change in changes where conflictFinder.hiddenSave(change) != nil {
      if case .column(let owner, let slot) = change.place {
        editing.hiddenSaveSearch.acceptSaved(slot, of: owner)
      }
      editing.recording.recorder?.hiddenSaves.remove(change.place)
    }
  }

  /// Calls `awake(fromSnapshotEvents:)` of the instances whose values the undo has changed.
  private func awakenRestored(_ changes: [UndoGroup.Change], returned: Set<ObjectReference>) {
    var notified: Set<ObjectReference> = []
    for change in changes {
      let owner = change.place.owner
      guard let object = registry.identityMap.object(owner), notified.insert(owner).inserted,
        reading.contents.exists(owner)
      else { continue }
      editing.hooks.reawaken(object, returned.contains(owner) ? .undoDeletion : .undoUpdate)
    }
  }

  private func restoreColumn(_ change: UndoGroup.Change) {
    guard case .column(let reference, let slot) = change.place, case .value(let value) = change.before,
      conflictFinder.isHere(change.place)
    else { return }
    let shape = graph.shape(of: reference)
    guard shape.isRelationship(slot) else {
      if reading.rows.columnValue(reference, slot) != value {
        editing.objectEditor.setColumn(reference, slot, value)
      }
      return
    }
    // A deleted object cannot get links.
    guard reading.contents.exists(reference) else { return }
    var target: ObjectReference?
    if case .reference(let found) = value {
      if conflictFinder.canLink(change.place, found) {
        target = found
      } else if !conflictFinder.mayBeLeftBehind(found, at: change.place) {
        return
      }
    }
    editing.linkEditor.setColumn(reference, shape.relationship(slot), target)
  }

  private func restoreLink(_ change: UndoGroup.Change) {
    guard case .link(let owner, let slot, let target) = change.place else { return }
    let relationship = graph.shape(of: owner).relationship(slot)
    if change.before.isAbsent {
      editing.linkEditor.disconnect(owner, relationship, target)
    } else if conflictFinder.canLinkEnds(change.place, target) {
      editing.linkEditor.connect(owner, relationship, target)
    }
  }

  private func restorePosition(_ change: UndoGroup.Change) {
    guard case .position(let member, let owner, let slot) = change.place, case .key(let key) = change.before
    else { return }
    let relationship = graph.shape(of: owner).relationship(slot)
    guard reading.contents.exists(owner), reading.links.contains(owner, relationship, member) else { return }
    if reading.contents.content(of: change.place).isSame(as: change.before) { return }
    editing.orderEditor.setPlace(of: member, to: key, of: owner, relationship, isSpread: change.isSpread)
  }

  private func restoreTransient(_ change: UndoGroup.Change) {
    guard case .transient(let reference, let slot) = change.place, reading.contents.exists(reference) else {
      return
    }
    let object = registry.instance(of: reference)
    if case .transient(let value) = change.before {
      editing.objectEditor.setTransient(of: object, slot, held(value))
    } else {
      editing.objectEditor.setTransient(of: object, slot, .value(object.shape.template[slot]))
    }
  }

  private func held(_ transient: HeldTransient) -> TransientValues.Held {
    switch transient {
    case .value(let value): .value(value)
    case .instance(let other): .newObject(registry.lastInstance(of: other))
    case .foreign(let other): other.object.map { .newObject($0) } ?? .value(.null)
    case .any(let value): .object(value)
    }
  }

  /// Restores the transient values that an object had before its deletion, if a later edit has
  /// changed them.
  private func restoreChangedTransients(_ reference: ObjectReference, _ object: EditedObject) {
    for slot in object.columns.indices where graph.shape(of: reference).isTransient(slot) {
      let place = EditedPlace.transient(reference, slot: slot)
      let before = object.transients[slot].map { EditedContent.transient($0) } ?? .absent
      let current = reading.contents.content(of: place)
      if before.isSame(as: current) { continue }
      restoreTransient(UndoGroup.Change(place: place, before: before, after: current))
    }
  }

  /// Restores removed objects with their attributes.
  ///
  /// - Returns: The same objects, in the order of the group.
  private func reinsert(
    _ objects: [(reference: ObjectReference, object: EditedObject)]
  ) -> [(reference: ObjectReference, object: EditedObject)] {
    for (reference, object) in objects { reinsert(reference, object) }
    // Transient values can be other objects, which must exist first.
    for (reference, object) in objects {
      if pending.isNew(reference) {
        restoreTransients(reference, object)
      } else {
        restoreChangedTransients(reference, object)
      }
    }
    // Rows of other objects may refer to objects that are inserted again (CX3).
    let insertedAgain = objects.map(\.reference).filter { pending[$0]?.isInsertedAgain == true }
    let haveVanished = insertedAgain.contains(where: viewState.hasVanished)
    viewState.vanished.subtract(objects.map(\.reference))
    // Unsaved links can refer to an object that another context has removed. No unsaved change
    // refers to an object whose deletion this context has saved. In that case, only the stored
    // references matter.
    if haveVanished {
      editing.rebase.rebaseDeltas()
    } else {
      editing.rebase.rebaseReferences(to: insertedAgain)
    }
    return objects
  }

  private func reinsert(_ reference: ObjectReference, _ object: EditedObject) {
    if let overlay = pending[reference] {
      if isDeletionPending(overlay) { return takeBackDeletion(overlay, object) }
      // Another context has removed the object. Completes the deletion, or removes the unsaved
      // links, so that the object is inserted again.
      editing.recording.excludingFromUndo { editing.rebase.rebase(overlay) }
      // The rebase reads the store too. If its read fails, the deletion is still pending.
      if pending.isDeleted(reference) { return takeBackDeletion(overlay, object) }
    }
    let overlay = editing.insertion.insertAgain(
      reference, wasStored: object.wasStored, hasPermanentID: object.hasPermanentID)
    revive(overlay)
    for slot in object.columns.indices where overlay.shape.isColumn(slot) {
      overlay.setValue(overlay.shape.isRelationship(slot) ? .null : object.columns[slot], slot)
    }
  }

  /// Restores the transient values of an object that was inserted again, unless it still has them.
  private func restoreTransients(_ reference: ObjectReference, _ object: EditedObject) {
    if object.transients.isEmpty { return }
    let instance = registry.instance(of: reference)
    for (slot, value) in object.transients.sorted(by: { $0.key < $1.key })
    where !reading.contents.holdsTransient(reference, slot) {
      editing.objectEditor.setTransient(of: instance, slot, held(value))
    }
  }

  /// Whether the deletion of an object can be cancelled: no other context has removed the object.
  private func isDeletionPending(_ overlay: ObjectOverlay) -> Bool {
    // If the store cannot be read, the object probably exists; the next fetch or save throws.
    overlay.isDeleted
      && (overlay.isNew || reading.rows.viewVersion(of: overlay.reference) != nil
        || viewState.readFailure != nil)
  }

  /// Cancels a pending deletion. Restores the attributes that this context has changed after the
  /// deletion. The others keep the values of the row, because another context may have saved them
  /// in the meantime.
  private func takeBackDeletion(_ overlay: ObjectOverlay, _ object: EditedObject) {
    editing.objectEditor.unmarkDeleted(overlay)
    if !overlay.isNew, !overlay.changesRow { overlay.baseVersion = nil }
    pending.dropIfUnchanged(overlay)
    // Observers have received the deletion, so the event must report the object.
    if pending[overlay.reference] == nil, overlay.reportedState != nil {
      pending.eventStarts[overlay.reference] = EventStart()
    }
    // A child or a hook may have changed the attributes since the deletion.
    for (slot, value) in object.columns.enumerated()
    where overlay.shape.isColumn(slot) && !overlay.shape.isRelationship(slot) {
      if let current = overlay.value(slot), current != value {
        editing.objectEditor.setColumn(overlay.reference, slot, value)
      }
    }
  }

  /// Uses the object's previous instance again, if the program still has it.
  private func revive(_ overlay: ObjectOverlay) {
    let reference = overlay.reference
    if registry.identityMap.object(reference) == nil, let object = registry.takeRemoved(reference) {
      object.header.pointee.wakefulness.subtract([.gone, .vanished, .hookIsDue])
      object.header.pointee.dropRow()
      registry.identityMap.insert(object, reference)
      registry.retain(object)
    }
    guard let object = registry.identityMap.object(reference) else { return }
    registry.attach(overlay, to: object)
    if object.shape.followsRow { object.header.pointee.wakefulness = .awake }
    viewState.linksChanged()
  }

  /// Restores the to-one relationships of an object that was inserted again.
  ///
  /// - Parameters:
  ///   - kept: The places that the undo does not change.
  ///   - restoredLater: The places of the group. If it contains a column of the object, the group
  ///     has changed the column before the deletion, and `object` has the content in between.
  private func connect(
    _ reference: ObjectReference, _ object: EditedObject, _ kept: Set<EditedPlace>,
    restoredLater: Set<EditedPlace>
  ) {
    guard let overlay = pending[reference], overlay.isNew else { return }
    let shape = overlay.shape
    for relationship in shape.columns {
      let place = EditedPlace.column(reference, slot: relationship.slot)
      guard case .reference(let target) = object.columns[relationship.slot],
        conflictFinder.canLink(place, target), !kept.contains(place), !restoredLater.contains(place),
        !conflictFinder.isPairKept(reference, relationship.slot, target, kept)
      else { continue }
      editing.linkEditor.setColumn(reference, relationship, target)
    }
  }

  /// The restored objects with changed columns, and their rows in the view. Includes the members of
  /// changed positions. If a group has removed a member and added it again, the group contains only
  /// the position. But the member's column was changed to its stored value.
  func storedRows(of changes: [UndoGroup.Change]) -> [(overlay: ObjectOverlay, row: KeptRow)] {
    Set(changes.flatMap(\.place.objects)).compactMap { reference in
      guard let overlay = pending[reference], overlay.changesRow, !overlay.isNew, !overlay.isDeleted,
        let row = editing.rebase.row(of: overlay, reading.rows.viewVersion(of: reference))
      else { return nil }
      return (overlay, row)
    }
  }

  /// Drops the changes of restored objects whose columns have their stored values again. Otherwise
  /// a save writes the same values again. Reads nothing.
  func dropStoredValues(_ stored: [(overlay: ObjectOverlay, row: KeptRow)]) {
    for (overlay, row) in stored where pending[overlay.reference] === overlay {
      row.withRow { editing.rebase.unmarkReverted(overlay, to: $0, row.version) }
      if !overlay.changesRow { pending.dropIfUnchanged(overlay) }
    }
  }

  /// Drops the unsaved changes of objects whose transient attributes all have their values from
  /// before the changes again.
  func dropRestoredTransients(_ changes: [UndoGroup.Change]) {
    for case .transient(let reference, _) in changes.map(\.place) {
      guard let overlay = pending[reference], overlay.changesTransients, let object = overlay.object,
        object.changedTransients(since: overlay.transientsBefore).isEmpty
      else { continue }
      reading.transientState.dropTransientsBefore(overlay)
      pending.dropIfUnchanged(overlay)
    }
  }
}
