// The delete rules, applied to sets of references.
//
// Delete rules need no instances: targets are read from indexes and deltas, and changes are written
// to overlays. A visit of an object marks the targets of its cascades as deleted. A target that is
// already marked is skipped, so cycles of cascades end. If a class overrides `prepareForDeletion`,
// a cascade creates an instance of each target and calls the hook before it marks the target.
//
//   cascade   the targets are deleted too, and visited in turn
//   nullify   the links of the targets to the object are removed
//   deny      no effect here: a save refuses the deletion while the relationship has a target that
//             is not deleted
//   no action rows of targets keep their references. Link entries belong to the deleted object and
//             are removed
//
// A merge may connect other objects with an object whose deletion is pending. Then the delete rules
// of the deleted object are applied again. Their changes belong to the undo group of the deletion
// (ReopenedGroups.swift).
//
// One-way relationships to a deleted object lose their link to it. An index leads from a target to
// the sources of these links. So every reference to the deleted object can be removed.

internal import PerdureModel
internal import PerdurePredicates

/// Applies the delete rules to unsaved deletions.
final class DeleteRules {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  private let transientState: TransientState
  @Shared private var reading: ContextReading
  private let recording: EditRecording
  private let objectEditor: ObjectEditor
  private let linkEditor: LinkEditor
  private let activity: ContextActivity

  init(
    reading: Shared<ContextReading>, recording: EditRecording, objectEditor: ObjectEditor,
    linkEditor: LinkEditor, activity: ContextActivity
  ) {
    graph = reading.graph
    registry = reading.registry
    viewState = reading.viewState
    pending = reading.pending
    transientState = reading.transientState
    _reading = reading
    self.recording = recording
    self.objectEditor = objectEditor
    self.linkEditor = linkEditor
    self.activity = activity
  }

  /// Applies the delete rules of the objects that were marked as deleted since the last call.
  func propagateDeletes() {
    // Skips nested calls from `prepareForDeletion`: the running call visits those objects too.
    guard !pending.unpropagated.isEmpty, !activity.isPropagating else { return }
    activity.isPropagating = true
    defer { activity.isPropagating = false }
    var visited: [ObjectOverlay] = []
    // The links of all objects that a cascade adds are read when the first of them is visited.
    var readAhead: Set<ObjectReference> = []
    while let reference = pending.unpropagated.popLast() {
      guard let overlay = pending[reference], overlay.isDeleted, !overlay.isPropagated else { continue }
      if !viewState.view.answersAtOnce, !readAhead.contains(reference) {
        let all = pending.unpropagated + [reference]
        reading.savedLinks.readLinksAhead(ofDeleted: all)
        readAhead.formUnion(all)
      }
      overlay.isPropagated = true
      inGroup(of: overlay.reference) { propagate(overlay) }
      visited.append(overlay)
    }
    // A `prepareForDeletion` may have cancelled deletions.
    for overlay in visited where !overlay.isNew && overlay.isDeleted && pending[overlay.reference] === overlay
    {
      inGroup(of: overlay.reference) { forgetSavedLinks(overlay) }
    }
    // Unsaved one-way links were not removed above.
    forgetPending(visited.map(\.reference))
    retireDiscarded(visited.filter(\.isNew))
    for overlay in visited { overlay.isPropagatedAgain = false }
    recording.closeReopenedGroups()
  }

  /// Runs a closure that applies rules of a deletion. If a merge has scheduled the rules again, the
  /// changes belong to the undo group of the deletion. The same applies if rules that ran again
  /// have deleted the object. Otherwise the changes belong to the current group.
  private func inGroup(of deleted: ObjectReference, _ body: () -> Void) {
    guard pending[deleted]?.isPropagatedAgain == true else { return body() }
    recording.applyingRulesAgain(of: deleted, body)
  }

  private func propagate(_ overlay: ObjectOverlay) {
    let stored = storedReferences(overlay)
    for relationship in overlay.shape.relationships
    where overlay.isDeleted && pending[overlay.reference] === overlay {
      propagate(overlay, relationship, stored)
    }
  }

  /// Removes the saved one-way links to a deleted object.
  private func forgetSavedLinks(_ overlay: ObjectOverlay) {
    for relationship in overlay.shape.incoming { forgetStored(overlay.reference, relationship) }
    forgetTransient(overlay.reference)
  }

  /// The references in the columns of an object's row, read once for all rules. Reads nothing if
  /// the object is new, or if each column is changed or has the rule deny.
  private func storedReferences(_ overlay: ObjectOverlay) -> StoredReferences {
    let isAsked = { (column: RelationshipShape) in
      column.deleteRule != .deny && overlay.value(column.slot) == nil
    }
    guard !overlay.isNew, overlay.shape.columns.contains(where: isAsked) else {
      return StoredReferences(viewState.epoch)
    }
    return reading.links.storedReferences(of: overlay.reference)
  }

  /// - Parameter stored: The references in the columns of the object's row.
  private func propagate(
    _ overlay: ObjectOverlay, _ relationship: RelationshipShape,
    _ stored: StoredReferences
  ) {
    let owner = overlay.reference
    var rule = relationship.deleteRule
    if rule == .deny { return }
    if rule == .noAction, overlay.isNew { rule = .nullify }
    // Retains the prepared objects until they are marked. Then their overlays retain them until
    // `didSave`.
    var prepared: [ManagedObject] = []
    let preparing = rule == .cascade && graph.prepares(relationship)
    if preparing { prepareTargets(of: owner, relationship, &prepared) }
    let targets = reading.links.targets(of: owner, relationship, stored)
    // A `prepareForDeletion` may have cancelled the deletion.
    guard overlay.isDeleted, pending[owner] === overlay else { return }
    if rule == .cascade {
      for target in targets where !pending.isDeleted(target) {
        objectEditor.markDeleted(target)
        pending[target]?.deletedWith = owner
      }
    }
    withExtendedLifetime(prepared) {}
    for target in targets { removeLink(owner, relationship, target, rule) }
  }

  /// Calls `prepareForDeletion` of the targets of a cascade if their class overrides it. Includes
  /// the targets that these hooks connect.
  private func prepareTargets(
    of owner: ObjectReference, _ relationship: RelationshipShape, _ prepared: inout [ManagedObject]
  ) {
    var seen: Set<ObjectReference> = []
    while true {
      let targets = reading.links.targets(of: owner, relationship)
      let fresh = targets.filter {
        graph.shape(of: $0).lifeCycle.contains(.prepareForDeletion) && !pending.isDeleted($0)
          && !activity.preparing.contains($0) && seen.insert($0).inserted
      }
      if fresh.isEmpty { return }
      for target in fresh where !pending.isDeleted(target) {
        let object = registry.instance(of: target)
        prepared.append(object)
        activity.preparing.insert(target)
        activity.callProgram { object.prepareForDeletion() }
        activity.preparing.remove(target)
        // The hook has called `delete` for the target, so the target is deleted even if it is no
        // longer connected.
        if activity.deletedInPreparation.remove(target) != nil, !object.header.pointee.isGone {
          objectEditor.markDeleted(target)
        }
      }
    }
  }

  /// Removes one link of a deleted object, unless the rule no action keeps it or a deletion at the
  /// other end removes it.
  private func removeLink(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference,
    _ rule: DeleteRule
  ) {
    switch relationship.form {
    case .column:
      let isColumnAtBothEnds = graph.inverse(of: relationship, at: target)?.form == .column
      if rule == .noAction, isColumnAtBothEnds { return }
      linkEditor.setColumn(owner, relationship, from: target, to: nil)
    case .inverseToOne, .inverseToMany:
      guard rule != .noAction, !pending.isDeleted(target) else { return }
      if let column = graph.inverse(of: relationship, at: target) { forget(owner, in: column, of: target) }
    case .links, .transient: linkEditor.disconnect(owner, relationship, target)
    }
  }

  /// Removes a reference to a deleted object from a column, unless an unsaved change has replaced
  /// the reference. Does not read the row: the caller has found the reference in an index.
  private func forget(_ deleted: ObjectReference, in column: RelationshipShape, of source: ObjectReference) {
    if let value = pending[source]?.value(column.slot), value != .reference(deleted) { return }
    linkEditor.setColumn(source, column, from: deleted, to: nil)
  }

  /// Removes a deleted object from the stored links of a one-way relationship.
  private func forgetStored(_ target: ObjectReference, _ relationship: RelationshipShape) {
    for source in reading.savedLinks.storedSources(of: target, relationship)
    where !pending.isDeleted(source) {
      if relationship.form == .column {
        forget(target, in: relationship, of: source)
      } else {
        linkEditor.disconnect(source, relationship, target)
      }
    }
  }

  /// Removes a deleted object from the links of transient one-way relationships.
  private func forgetTransient(_ target: ObjectReference) {
    for (source, relationship) in transientState.oneWayTransientSources(of: target)
    where !pending.isDeleted(source) {
      linkEditor.disconnect(source, relationship, target)
    }
  }

  /// Removes deleted objects from unsaved links of one-way relationships. If the owner is deleted
  /// too, removes only its links to new objects. Such objects are removed from the context, so a
  /// save cannot report their deletion.
  private func forgetPending(_ deleted: [ObjectReference]) {
    for overlay in pending.oneWaySources(of: deleted) {
      let isForgotten = { (target: ObjectReference) in
        self.pending.isDeleted(target) && (!overlay.isDeleted || self.pending.isNew(target))
      }
      for relationship in overlay.shape.relationships where relationship.inverseSlot == nil {
        if case .reference(let target) = overlay.value(relationship.slot), isForgotten(target) {
          inGroup(of: target) {
            objectEditor.setColumn(overlay.reference, relationship.slot, .null)
          }
        }
        for target in overlay.delta(relationship.slot)?.added.ordered ?? [] where isForgotten(target) {
          inGroup(of: target) { linkEditor.disconnect(overlay.reference, relationship, target) }
        }
      }
    }
  }

  /// Removes objects that were inserted and deleted since the last save, unless a rule denies the
  /// deletion. Checks the rules of all objects before it removes the first object. A target that is
  /// also deleted denies no deletion, but after its removal it is not known as deleted any more.
  private func retireDiscarded(_ overlays: [ObjectOverlay]) {
    let discarded = overlays.filter {
      pending[$0.reference] === $0 && deniedDeletes(of: $0).isEmpty
    }
    let rows = discarded.map {
      registry.identityMap.object($0.reference) == nil ? nil : reading.layerFollower.lastRow(of: $0)
    }
    for overlay in discarded { inGroup(of: overlay.reference) { disconnectTargets(of: overlay) } }
    for (overlay, row) in zip(discarded, rows) { reading.retirement.retireNew(overlay, row) }
  }

  /// Removes the links of an object that is about to be removed. Unlike the delete rules, also
  /// removes links to deleted objects, because the deletion of the other object may be cancelled.
  ///
  /// - Parameter isIncluded: Selects links by their relationship and target.
  func disconnectTargets(
    of overlay: ObjectOverlay,
    where isIncluded: (RelationshipShape, ObjectReference) -> Bool = { _, _ in true }
  ) {
    for relationship in overlay.shape.relationships {
      for target in reading.links.targets(of: overlay.reference, relationship)
      where isIncluded(relationship, target) {
        linkEditor.disconnect(overlay.reference, relationship, target)
      }
    }
  }

  /// The relationships that deny the deletion of an object: those with a target that stays.
  func deniedDeletes(of overlay: ObjectOverlay) -> [DeniedDelete] {
    overlay.shape.relationships.compactMap { relationship in
      guard relationship.deleteRule == .deny else { return nil }
      let remaining = reading.links.targets(of: overlay.reference, relationship)
        .count { !pending.isDeleted($0) && !linkEditor.isLeftBehind($0, at: relationship) }
      return remaining == 0 ? nil : DeniedDelete(relationship: relationship, remaining: remaining)
    }
  }
}

/// The references in the columns of a row.
struct StoredReferences {
  /// The epoch of the context when the row was read. A `prepareForDeletion` may have advanced the
  /// view after that.
  let epoch: UInt64
  var bySlot: [(slot: Int, target: ObjectReference)] = []

  init(_ epoch: UInt64) {
    self.epoch = epoch
  }

  subscript(slot: Int) -> ObjectReference? { bySlot.first { $0.slot == slot }?.target }
}
