// Taking over what a merge has decided, when the context has moved on (M2).

internal import PerdurePredicates

extension ContextCore {
  /// - Throws: what only shows when it is done; the save puts the context back then.
  func take(_ steps: [MergeStep]) throws(PerdureError) {
    let taken = takenAlong()
    restoresOrder = true
    defer { restoresOrder = false }
    // C3 for what is inserted again, once for as many as follow one another.
    var isToBeRebased = false
    for step in steps {
      if case .insertAgain = step {
        isToBeRebased = true
      } else if isToBeRebased {
        rebaseDeltas()
        isToBeRebased = false
      }
      try take(step, taken)
    }
  }

  /// - Parameter taken: What each deletion has taken along.
  private func take(_ step: MergeStep, _ taken: [ObjectReference: [ObjectOverlay]]) throws(PerdureError) {
    switch step {
    case .merge(let overlay, let values): takeMerged(overlay.reference, values)
    case .asStored(let reference): takeStored(reference, taken)
    case .gone(let reference): takeGone(reference)
    case .insertAgain(let overlay, let base): insertAgain(overlay, base)
    case .dropLink(let owner, let target): dropLink(owner, to: target)
    case .setBack(let owner, let relationship): setBack(owner, relationship)
    case .setTargets(let owner, let relationship, let targets): setTargets(owner, relationship, targets)
    case .dropPlaces(let owner, let relationship, let members):
      leaveInStoredOrder(members, of: owner, relationship)
    case .upsert(let new, let other, let duplicate): try upsert(new, into: other, duplicate)
    case .withdraw(let reference): withdraw(reference)
    case .unwatch(let reference): watched[reference] = nil
    }
  }

  /// Unsaved changes are on top of the newest row, with merged values.
  private func takeMerged(_ reference: ObjectReference, _ values: [Int: Value?]) {
    let shape = graph.shape(of: reference)
    for (slot, value) in values.sorted(by: { $0.key < $1.key }) {
      if shape.isRelationship(slot) {
        let relationship = shape.relationship(slot)
        guard let value else {
          setBack(reference, relationship)
          continue
        }
        var target: ObjectReference?
        if case .reference(let found) = value, isThere(found) { target = found }
        setColumn(reference, relationship, target)
      } else if let value {
        setColumn(reference, slot, value)
      } else {
        tracker[reference]?.unmark { changed, _ in changed == slot }
      }
    }
    settleOnNewestRow(reference)
  }

  private func settleOnNewestRow(_ reference: ObjectReference) {
    if let overlay = tracker[reference] {
      if overlay.changesRow || overlay.isDeleted { return rebase(overlay) }
      overlay.baseVersion = nil
      dropIfUnchanged(overlay)
    }
    identityMap.object(reference)?.header.pointee.dropRow()
  }

  /// Whether an object has a row that the context sees, or will have one.
  private func isThere(_ reference: ObjectReference) -> Bool {
    if tracker.isNew(reference) { return true }
    do { return try view.version(of: reference) != nil } catch {
      noteReadFailure(error, reference)
      return false
    }
  }

  /// What each deletion has taken along, in order.
  private func takenAlong() -> [ObjectReference: [ObjectOverlay]] {
    var taken: [ObjectReference: [ObjectOverlay]] = [:]
    for overlay in tracker.ordered.joined() where overlay.isDeleted {
      if let parent = overlay.deletedWith { taken[parent, default: []].append(overlay) }
    }
    return taken
  }

  /// Drops unsaved changes. With a deletion goes what it has taken along, as far as no other deletion takes it.
  private func takeStored(_ reference: ObjectReference, _ taken: [ObjectReference: [ObjectOverlay]]) {
    // A chain of delete rules may be longer than the stack is deep.
    var waiting = [reference]
    while let reference = waiting.popLast() {
      guard let overlay = tracker[reference] else { continue }
      if overlay.isDeleted {
        let along = (taken[reference] ?? []).filter { $0.isDeleted && $0.deletedWith == reference }
        waiting += along.map(\.reference).reversed()
      }
      overlay.deletedWith = nil
      if overlay.isNew { overlay.isDeleted = false } else { discard(overlay) }
      identityMap.object(reference)?.header.pointee.dropRow()
    }
  }

  private func takeGone(_ reference: ObjectReference) {
    guard let overlay = tracker[reference] else { return }
    if overlay.isDeleted { return rebase(overlay) }
    let lastRow = overlay.keptBase
    discard(overlay)
    guard tracker[reference] == nil, let object = identityMap.object(reference) else { return }
    vanish(object, lastRow)
  }

  // MARK: Links

  private func dropLink(_ owner: ObjectReference, to target: ObjectReference) {
    guard let overlay = tracker[owner] else { return }
    for relationship in overlay.shape.relationships {
      if relationship.form == .column {
        if overlay.reference(relationship.slot) == target { setBack(owner, relationship) }
      } else if !relationship.isInColumn,
        overlay.delta(relationship.slot)?.added.contains(target) == true
      {
        disconnect(owner, relationship, target)
      }
    }
  }

  /// Lets a to-one relationship lead where the store has it lead; to nothing if that is gone.
  private func setBack(_ owner: ObjectReference, _ relationship: RelationshipShape) {
    let stored = tracker.isNew(owner) ? nil : storedColumn(owner, relationship.slot)
    setColumn(owner, relationship, stored.flatMap { isThere($0) ? $0 : nil })
    unmarkStored(owner, relationship.slot)
  }

  private func setTargets(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ targets: Set<ObjectReference>
  ) {
    let current = Set(self.targets(of: owner, relationship))
    for target in current.subtracting(targets) { disconnect(owner, relationship, target) }
    for target in targets.subtracting(current) where isThere(target) { connect(owner, relationship, target) }
  }

  // MARK: Inserted again

  /// The row is gone; the object gets it again, under its id. What others' rows led to it by is not brought back, and what its
  /// own references led to only where it is there still.
  private func insertAgain(_ old: ObjectOverlay, _ base: [Int: Value]) {
    guard tracker[old.reference] === old else { return }
    let overlay = ObjectOverlay(old.reference, old.shape, isNew: true, in: memory)
    overlay.isInsertedAgain = true
    // It was in the store under its id.
    overlay.hasPermanentID = true
    for (slot, value) in base.merging(old.changedColumns, uniquingKeysWith: { $1 }) {
      if old.shape.isRelationship(slot), case .reference(let target) = value, !isThere(target) {
        overlay.setValue(.null, slot)
      } else {
        overlay.setValue(value, slot)
      }
    }
    for (slot, delta) in old.deltas { overlay.changeDelta(slot) { $0 = delta } }
    // The places in it are the store's no more (ContextCore.reconcileOrders).
    for (slot, delta) in old.orders { overlay.setOrder(delta, slot) }
    overlay.takeOver(from: old)
    (overlay.transientsBefore, overlay.transientsAtEvent) = (old.transientsBefore, old.transientsAtEvent)
    (old.transientsBefore, old.transientsAtEvent) = (nil, nil)
    tracker.remove(old.reference)
    tracker.insert(overlay)
    if let object = identityMap.object(old.reference) { attach(overlay, to: object) }
    vanished.remove(old.reference)
  }
}
