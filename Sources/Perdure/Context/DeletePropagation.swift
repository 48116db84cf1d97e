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

extension ContextCore {
  /// Applies the delete rules of what has been marked since the last time.
  func propagateDeletes() {
    // Not again from a `prepareForDeletion` that it calls: what that marks is visited as well.
    guard !tracker.unpropagated.isEmpty, !isPropagating else { return }
    isPropagating = true
    defer { isPropagating = false }
    var visited: [ObjectOverlay] = []
    // Those that a cascade adds are read together when the first of them is visited.
    var readAhead: Set<ObjectReference> = []
    while let reference = tracker.unpropagated.popLast() {
      guard let overlay = tracker[reference], overlay.isDeleted, !overlay.isPropagated else { continue }
      if !view.answersAtOnce, !readAhead.contains(reference) {
        let all = tracker.unpropagated + [reference]
        readLinksAhead(ofDeleted: all)
        readAhead.formUnion(all)
      }
      overlay.isPropagated = true
      let stored = storedReferences(overlay)
      for relationship in overlay.shape.relationships
      where overlay.isDeleted && tracker[reference] === overlay {
        propagate(overlay, relationship, stored)
      }
      visited.append(overlay)
    }
    // A preparation may have taken deletions back.
    for overlay in visited where !overlay.isNew && overlay.isDeleted && tracker[overlay.reference] === overlay
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
      return StoredReferences(epoch)
    }
    return storedReferences(of: overlay.reference)
  }

  /// What the columns of an object lead to in its row.
  func storedReferences(of reference: ObjectReference) -> StoredReferences {
    var found = StoredReferences(epoch)
    _ = withRow(reference) { row, _ in
      for slot in graph.shape(of: reference).columnSlots where row.isPresent(row.fields[slot]) {
        found.bySlot.append((slot, row.reference(row.fields[slot])))
      }
    }
    return found
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
    let targets = targets(of: owner, relationship, stored)
    // Preparations may have done anything.
    guard overlay.isDeleted, tracker[owner] === overlay else { return }
    if rule == .cascade {
      for target in targets where !tracker.isDeleted(target) {
        markDeleted(target)
        tracker[target]?.deletedWith = owner
      }
    }
    withExtendedLifetime(prepared) {}
    for target in targets { letGo(owner, relationship, target, rule) }
  }

  /// As `targets(of:_:)`, without reading the row again: a column that is not changed leads where the row does.
  func targets(
    of owner: ObjectReference, _ relationship: RelationshipShape,
    _ stored: StoredReferences
  ) -> [ObjectReference] {
    guard relationship.form == .column, stored.epoch == epoch, tracker[owner]?.value(relationship.slot) == nil
    else { return targets(of: owner, relationship) }
    return shown(stored[relationship.slot], of: owner).map { [$0] } ?? []
  }

  /// Calls `prepareForDeletion` of what a cascade takes along, where a class has it: also of those that are
  /// connected meanwhile.
  private func prepareTargets(
    of owner: ObjectReference, _ relationship: RelationshipShape, _ prepared: inout [ManagedObject]
  ) {
    var seen: Set<ObjectReference> = []
    while true {
      let targets = targets(of: owner, relationship)
      let fresh = targets.filter {
        graph.shape(of: $0).lifeCycle.contains(.prepareForDeletion) && !tracker.isDeleted($0)
          && !preparing.contains($0) && seen.insert($0).inserted
      }
      if fresh.isEmpty { return }
      for target in fresh where !tracker.isDeleted(target) {
        let object = instance(of: target)
        prepared.append(object)
        preparing.insert(target)
        object.prepareForDeletion()
        preparing.remove(target)
        // Also if it is connected no more.
        if deletedInPreparation.remove(target) != nil, object.context === self { markDeleted(target) }
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
      let isColumnAtBothEnds = inverse(of: relationship, at: target)?.form == .column
      if rule == .noAction, isColumnAtBothEnds { return }
      setColumn(owner, relationship, from: target, to: nil)
    case .inverseToOne, .inverseToMany:
      guard rule != .noAction, !tracker.isDeleted(target) else { return }
      if let column = inverse(of: relationship, at: target) { forget(owner, in: column, of: target) }
    case .links, .transient: disconnect(owner, relationship, target)
    }
  }

  /// Takes a deleted object out of a column that an index says to lead to it, and which so does unless it was changed.
  private func forget(_ deleted: ObjectReference, in column: RelationshipShape, of source: ObjectReference) {
    if let value = tracker[source]?.value(column.slot), value != .reference(deleted) { return }
    setColumn(source, column, from: deleted, to: nil)
  }

  /// Takes a deleted object out of the one-way relationships that the store has.
  private func forgetStored(_ target: ObjectReference, _ relationship: RelationshipShape) {
    for source in storedSources(of: target, relationship) where !tracker.isDeleted(source) {
      if relationship.form == .column {
        forget(target, in: relationship, of: source)
      } else {
        disconnect(source, relationship, target)
      }
    }
  }

  /// Takes a deleted object out of the one-way relationships that are transient.
  private func forgetTransient(_ target: ObjectReference) {
    for (source, relationship) in oneWayTransientSources(of: target) where !tracker.isDeleted(source) {
      disconnect(source, relationship, target)
    }
  }

  /// Takes deleted objects out of one-way relationships that are not saved yet; out of those of deleted objects what
  /// was never saved, of which nothing will be left that could be told to be deleted.
  private func forgetPending() {
    let isOneWay = { (shape: EntityShape) in shape.relationships.contains { $0.inverseSlot == nil } }
    for overlay in tracker.ordered(where: isOneWay) {
      let isForgotten = { (target: ObjectReference) in
        self.tracker.isDeleted(target) && (!overlay.isDeleted || self.tracker.isNew(target))
      }
      for relationship in overlay.shape.relationships where relationship.inverseSlot == nil {
        if case .reference(let target) = overlay.value(relationship.slot), isForgotten(target) {
          setColumn(overlay.reference, relationship.slot, .null)
        }
        for target in overlay.delta(relationship.slot)?.added.ordered ?? [] where isForgotten(target) {
          disconnect(overlay.reference, relationship, target)
        }
      }
    }
  }

  /// Objects that were inserted and deleted since the last save leave no trace, unless a rule denies the
  /// deletion. All are asked before the first goes: nobody denies for the sake of what is deleted too.
  private func retireSettled(_ overlays: [ObjectOverlay]) {
    let settled = overlays.filter {
      tracker[$0.reference] === $0 && DeniedDelete.find($0, in: self).isEmpty
    }
    let rows = settled.map { identityMap.object($0.reference) == nil ? nil : row(of: $0, base: nil) }
    for overlay in settled { letGoOfDeleted(overlay) }
    for (overlay, row) in zip(settled, rows) { retireNew(overlay, row) }
  }

  /// Ends the connections that delete rules leave between what is deleted: one end is about to be forgotten, and
  /// the deletion of the other may be taken back.
  func letGoOfDeleted(_ overlay: ObjectOverlay) {
    for relationship in overlay.shape.relationships {
      for target in targets(of: overlay.reference, relationship) {
        disconnect(overlay.reference, relationship, target)
      }
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
