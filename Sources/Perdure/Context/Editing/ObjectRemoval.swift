// Deletions by the program, and the removal of objects with their links, without delete rules and
// hooks.

internal import PerdurePredicates

/// Deletes objects, and removes objects as if they had never been inserted. The latter is needed
/// for an undo of an insertion, a merge of a new object into another one, and a failed
/// initialization.
final class ObjectRemoval {
  private let registry: ObjectRegistry
  private let pending: PendingChanges
  @Shared private var reading: ContextReading
  private let recording: EditRecording
  private let objectEditor: ObjectEditor
  private let linkEditor: LinkEditor
  private let deleteRules: DeleteRules
  private let activity: ContextActivity

  init(
    reading: Shared<ContextReading>, recording: EditRecording, objectEditor: ObjectEditor,
    linkEditor: LinkEditor, deleteRules: DeleteRules, activity: ContextActivity
  ) {
    registry = reading.registry
    pending = reading.pending
    _reading = reading
    self.recording = recording
    self.objectEditor = objectEditor
    self.linkEditor = linkEditor
    self.deleteRules = deleteRules
    self.activity = activity
  }

  /// Marks an object for deletion by the program.
  func delete(_ object: ManagedObject) {
    if pending.isDeleted(object.reference) {
      // A delete rule may have deleted the object. Now the program requests the deletion too.
      pending[object.reference]?.deletedWith = nil
      return
    }
    guard activity.preparing.insert(object.reference).inserted else {
      activity.deletedInPreparation.insert(object.reference)
      return
    }
    if object.shape.lifeCycle.contains(.prepareForDeletion) {
      activity.callProgram { object.prepareForDeletion() }
    }
    activity.preparing.remove(object.reference)
    activity.deletedInPreparation.remove(object.reference)
    if registry.has(object) { objectEditor.markDeleted(object.reference) }
    // Changes by the delete rules belong to the undo group of this task.
    if recording.recorder?.hasTaskGroups == true { deleteRules.propagateDeletes() }
  }

  /// Removes objects with their current links, as an edit that an undo can revert. A saved object
  /// is marked as deleted. Its links are removed first, so no delete rule has an effect.
  ///
  /// - Parameter keepsDenied: Whether links with the rules deny and no action stay, as in a
  ///   deletion by the program. The next save then refuses the deletion (deny), or keeps the
  ///   references (no action).
  func remove(_ references: [ObjectReference], keepsDenied: Bool) {
    let existing = references.filter(reading.contents.exists)
    let removed = Set(existing)
    disconnectOneWayLinks(to: removed)
    for reference in existing {
      let overlay = pending.overlay(for: reference)
      if !overlay.isNew {
        deleteRules.disconnectTargets(of: overlay) { relationship, _ in
          !keepsDenied || relationship.deleteRule == .nullify || relationship.deleteRule == .cascade
        }
      }
      if !overlay.isNew || keepsDenied && isDenied(overlay, with: removed) {
        objectEditor.markDeleted(reference)
      } else {
        recording.recordDeletion(reference)
        retireNew(overlay)
      }
    }
  }

  /// Whether a rule denies the deletion of a new object together with others.
  private func isDenied(_ overlay: ObjectOverlay, with others: Set<ObjectReference>) -> Bool {
    overlay.shape.relationships.contains { relationship in
      relationship.deleteRule == .deny
        && reading.links.targets(of: overlay.reference, relationship).contains {
          !pending.isDeleted($0) && !others.contains($0)
        }
    }
  }

  /// Removes a new object with its links.
  func withdraw(_ overlay: ObjectOverlay) {
    disconnectOneWayLinks(to: [overlay.reference])
    retireNew(overlay)
  }

  private func retireNew(_ overlay: ObjectOverlay) {
    let row =
      registry.identityMap.object(overlay.reference) == nil
      ? nil : reading.layerFollower.lastRow(of: overlay)
    reportReferences(to: overlay.reference)
    deleteRules.disconnectTargets(of: overlay) { !isLeft($1, $0) }
    reading.retirement.retireNew(overlay, row)
  }

  /// Whether the row of an object refers to an object that was inserted again, and keeps this
  /// reference after the removal of that object (delete rule no action).
  private func isLeft(_ target: ObjectReference, _ relationship: RelationshipShape) -> Bool {
    guard relationship.deleteRule == .noAction,
      let inverse = reading.graph.inverse(of: relationship, at: target),
      inverse.form == .column
    else { return false }
    return pending[target]?.value(inverse.slot) == nil
  }

  /// Reports the objects whose references to an object that was inserted again appear or disappear
  /// with it. The delete rule no action has left these references. References without an inverse
  /// are not found, because no index contains them.
  func reportReferences(to reference: ObjectReference) {
    guard let overlay = pending[reference], overlay.isInsertedAgain else { return }
    for relationship in overlay.shape.relationships
    where relationship.deleteRule == .noAction && relationship.inverseSlot != nil {
      for source in reading.links.targets(of: reference, relationship)
      where reading.contents.exists(source) {
        pending.joinEvent(source)
      }
    }
  }

  // MARK: Links

  /// Removes all links of an object that is new.
  func disconnectAll(_ overlay: ObjectOverlay) {
    disconnectOneWayLinks(to: [overlay.reference])
    deleteRules.disconnectTargets(of: overlay)
  }

  private func disconnectOneWayLinks(to targets: Set<ObjectReference>) {
    for link in unsavedOneWayLinks(to: targets) {
      linkEditor.disconnect(link.owner, link.relationship, link.target)
    }
  }

  /// The unsaved links to objects in relationships without inverse. Only unsaved links can refer to
  /// a new object.
  ///
  /// - Complexity: O(k log k) for k targets and objects with such links to them. In addition
  ///   O(m log m) for each relationship of these objects, where m is the smaller of two numbers:
  ///   added targets and given targets.
  func unsavedOneWayLinks(to targets: Set<ObjectReference>) -> [OneWayLink] {
    pending.oneWaySources(of: targets).filter { !$0.isDeleted }.flatMap { overlay in
      overlay.shape.relationships.filter { $0.inverseSlot == nil }.flatMap { relationship in
        addedTargets(overlay, relationship, in: targets).map {
          OneWayLink(owner: overlay.reference, relationship: relationship, target: $0)
        }
      }
    }
  }

  private func addedTargets(
    _ overlay: ObjectOverlay, _ relationship: RelationshipShape, in targets: Set<ObjectReference>
  ) -> [ObjectReference] {
    if relationship.form == .column {
      return overlay.reference(relationship.slot).map { targets.contains($0) ? [$0] : [] } ?? []
    }
    guard let added = overlay.delta(relationship.slot)?.added else { return [] }
    if added.count <= targets.count { return added.ordered.filter(targets.contains) }
    return targets.filter { added.contains($0) }.sorted { $0.rawValue < $1.rawValue }
  }
}

/// A link in a relationship without inverse.
struct OneWayLink {
  let owner: ObjectReference
  let relationship: RelationshipShape
  let target: ObjectReference
}
