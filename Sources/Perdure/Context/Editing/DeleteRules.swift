// The delete rules, applied to sets of references.
//
// Nobody needs an instance for this: what is at the other end comes from indexes and deltas, and what
// changes there goes into overlays. An object is visited once for each time it is marked, so cycles of
// cascades end. Only a class with a `prepareForDeletion` of its own has one made of each object that a cascade takes
// along: it is called before that object is marked.
//
//   cascade   the other ends are deleted too, and visited in their turn
//   nullify   the other ends let go of the object
//   deny      nothing here: the save refuses while an end is left that is not deleted itself
//   no action rows at the other end keep pointing at the object. Link entries are its own and are removed
//
// One-way relationships that lead to a deleted object let go of it: there is an index from target to
// source, so there is no reason to leave a reference to nothing behind.

internal import PerdureModel
internal import PerdurePredicates

/// Applies the delete rules to unsaved deletions.
final class DeleteRules {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  private let transientState: TransientState
  private let reading: ContextReading
  private let objectEditor: ObjectEditor
  private let linkEditor: LinkEditor
  private let activity: ContextActivity

  init(
    _ reading: ContextReading, _ objectEditor: ObjectEditor, _ linkEditor: LinkEditor,
    _ activity: ContextActivity
  ) {
    graph = reading.graph
    registry = reading.registry
    viewState = reading.viewState
    pending = reading.pending
    transientState = reading.transientState
    self.reading = reading
    self.objectEditor = objectEditor
    self.linkEditor = linkEditor
    self.activity = activity
  }

  /// Applies the delete rules of what has been marked since the last time.
  func propagateDeletes() {
    // Not again from a `prepareForDeletion` that it calls: what that marks is visited as well.
    guard !pending.unpropagated.isEmpty, !activity.isPropagating else { return }
    activity.isPropagating = true
    defer { activity.isPropagating = false }
    var visited: [ObjectOverlay] = []
    // Those that a cascade adds are read together when the first of them is visited.
    var readAhead: Set<ObjectReference> = []
    while let reference = pending.unpropagated.popLast() {
      guard let overlay = pending[reference], overlay.isDeleted, !overlay.isPropagated else { continue }
      if !viewState.view.answersAtOnce, !readAhead.contains(reference) {
        let all = pending.unpropagated + [reference]
        reading.settledLinks.readLinksAhead(ofDeleted: all)
        readAhead.formUnion(all)
      }
      overlay.isPropagated = true
      let stored = storedReferences(overlay)
      for relationship in overlay.shape.relationships
      where overlay.isDeleted && pending[reference] === overlay {
        propagate(overlay, relationship, stored)
      }
      visited.append(overlay)
    }
    // A preparation may have taken deletions back.
    for overlay in visited where !overlay.isNew && overlay.isDeleted && pending[overlay.reference] === overlay
    {
      for relationship in overlay.shape.incoming { forgetStored(overlay.reference, relationship) }
      forgetTransient(overlay.reference)
    }
    forgetPending()
    retireSettled(visited.filter(\.isNew))
  }

  /// What the columns of an object lead to in its row: read once for all rules, and not at all where each column
  /// has been changed or its rule asks for nothing here.
  private func storedReferences(_ overlay: ObjectOverlay) -> StoredReferences {
    let isAsked = { (column: RelationshipShape) in
      column.deleteRule != .deny && overlay.value(column.slot) == nil
    }
    guard !overlay.isNew, overlay.shape.columns.contains(where: isAsked) else {
      return StoredReferences(viewState.epoch)
    }
    return reading.links.storedReferences(of: overlay.reference)
  }

  /// - Parameter stored: What the object's columns lead to in its row.
  private func propagate(
    _ overlay: ObjectOverlay, _ relationship: RelationshipShape,
    _ stored: StoredReferences
  ) {
    let owner = overlay.reference
    var rule = relationship.deleteRule
    if rule == .deny { return }
    if rule == .noAction, overlay.isNew { rule = .nullify }
    // Who was prepared is held until it is marked: from then on its changes hold it, up to its `didSave`.
    var prepared: [ManagedObject] = []
    let preparing = rule == .cascade && graph.prepares(relationship)
    if preparing { prepareTargets(of: owner, relationship, &prepared) }
    let targets = reading.links.targets(of: owner, relationship, stored)
    // Preparations may have done anything.
    guard overlay.isDeleted, pending[owner] === overlay else { return }
    if rule == .cascade {
      for target in targets where !pending.isDeleted(target) {
        objectEditor.markDeleted(target)
        pending[target]?.deletedWith = owner
      }
    }
    withExtendedLifetime(prepared) {}
    for target in targets { letGo(owner, relationship, target, rule) }
  }

  /// Calls `prepareForDeletion` of what a cascade takes along, where a class has it: also of those that are
  /// connected meanwhile.
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
        object.prepareForDeletion()
        activity.preparing.remove(target)
        // Also if it is connected no more.
        if activity.deletedInPreparation.remove(target) != nil, !object.header.pointee.isGone {
          objectEditor.markDeleted(target)
        }
      }
    }
  }

  /// Ends one connection of a deleted object, as far as that is not done by a deletion at the other end.
  private func letGo(
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

  /// Takes a deleted object out of a column that an index says to lead to it, and which so does unless it was changed.
  private func forget(_ deleted: ObjectReference, in column: RelationshipShape, of source: ObjectReference) {
    if let value = pending[source]?.value(column.slot), value != .reference(deleted) { return }
    linkEditor.setColumn(source, column, from: deleted, to: nil)
  }

  /// Takes a deleted object out of the one-way relationships that the store has.
  private func forgetStored(_ target: ObjectReference, _ relationship: RelationshipShape) {
    for source in reading.settledLinks.storedSources(of: target, relationship)
    where !pending.isDeleted(source) {
      if relationship.form == .column {
        forget(target, in: relationship, of: source)
      } else {
        linkEditor.disconnect(source, relationship, target)
      }
    }
  }

  /// Takes a deleted object out of the one-way relationships that are transient.
  private func forgetTransient(_ target: ObjectReference) {
    for (source, relationship) in transientState.oneWayTransientSources(of: target)
    where !pending.isDeleted(source) {
      linkEditor.disconnect(source, relationship, target)
    }
  }

  /// Takes deleted objects out of one-way relationships that are not saved yet; out of those of deleted objects what
  /// was never saved, of which nothing will be left that could be told to be deleted.
  private func forgetPending() {
    let isOneWay = { (shape: EntityShape) in shape.relationships.contains { $0.inverseSlot == nil } }
    for overlay in pending.ordered(where: isOneWay) {
      let isForgotten = { (target: ObjectReference) in
        self.pending.isDeleted(target) && (!overlay.isDeleted || self.pending.isNew(target))
      }
      for relationship in overlay.shape.relationships where relationship.inverseSlot == nil {
        if case .reference(let target) = overlay.value(relationship.slot), isForgotten(target) {
          objectEditor.setColumn(overlay.reference, relationship.slot, .null)
        }
        for target in overlay.delta(relationship.slot)?.added.ordered ?? [] where isForgotten(target) {
          linkEditor.disconnect(overlay.reference, relationship, target)
        }
      }
    }
  }

  /// Objects that were inserted and deleted since the last save leave no trace, unless a rule denies the
  /// deletion. All are asked before the first goes: nobody denies for the sake of what is deleted too.
  private func retireSettled(_ overlays: [ObjectOverlay]) {
    let settled = overlays.filter {
      pending[$0.reference] === $0 && deniedDeletes(of: $0).isEmpty
    }
    let rows = settled.map {
      registry.identityMap.object($0.reference) == nil ? nil : reading.layerFollower.row(of: $0, base: nil)
    }
    for overlay in settled { letGoOfDeleted(overlay) }
    for (overlay, row) in zip(settled, rows) { reading.retirement.retireNew(overlay, row) }
  }

  /// Ends the connections that delete rules leave between what is deleted: one end is about to be forgotten, and
  /// the deletion of the other may be taken back.
  func letGoOfDeleted(_ overlay: ObjectOverlay) {
    for relationship in overlay.shape.relationships {
      for target in reading.links.targets(of: overlay.reference, relationship) {
        linkEditor.disconnect(overlay.reference, relationship, target)
      }
    }
  }

  /// The relationships that deny the deletion of an object: those that lead to anything that stays.
  func deniedDeletes(of overlay: ObjectOverlay) -> [DeniedDelete] {
    overlay.shape.relationships.compactMap { relationship in
      guard relationship.deleteRule == .deny else { return nil }
      let remaining = reading.links.targets(of: overlay.reference, relationship)
        .count { !pending.isDeleted($0) && !linkEditor.isLeftBehind($0, at: relationship) }
      return remaining == 0 ? nil : DeniedDelete(relationship: relationship, remaining: remaining)
    }
  }
}

/// What the columns of a row lead to, for who asks several of them.
struct StoredReferences {
  /// The context's when the row was read: a preparation may have moved the context on since.
  let epoch: UInt64
  var bySlot: [(slot: Int, target: ObjectReference)] = []

  init(_ epoch: UInt64) {
    self.epoch = epoch
  }

  subscript(slot: Int) -> ObjectReference? { bySlot.first { $0.slot == slot }?.target }
}
