// Objects that another context has removed or inserted again, while this context has unsaved
// changes of them.
//
// Invariant:
//   CX7. A new object has no row in the view. An object that this context inserts again has had a
//        row, so another context can also insert it again and save it. Then it is a changed object.

internal import PerdurePredicates

extension PendingRebase {
  /// Inserts an object again under its id, after its row was removed. References of other rows to
  /// it are not restored. Its own references are restored if their targets still exist.
  ///
  /// - Parameter base: The columns before the unsaved changes, by slot.
  func insertAgain(_ old: ObjectOverlay, base: [Int: Value]) {
    guard pending[old.reference] === old else { return }
    let overlay = ObjectOverlay(old.reference, old.shape, isNew: true, in: registry.memory)
    overlay.isInsertedAgain = true
    // The store had the object under this id.
    overlay.hasPermanentID = true
    for (slot, value) in base.merging(old.changedColumns, uniquingKeysWith: { $1 }) {
      if old.shape.isRelationship(slot), case .reference(let target) = value, !reading.rows.hasRow(target) {
        overlay.setValue(.null, slot)
      } else {
        overlay.setValue(value, slot)
      }
    }
    // The store no longer has the positions in these orders (OrderEditor.reconcileOrders).
    replace(old, by: overlay)
    viewState.vanished.remove(old.reference)
  }

  /// Restores CX7 after the view has advanced. The changes of these objects conflict with those of
  /// the other context: the values before both insertions are not known.
  func rebaseInsertions() {
    for old in pending.ordered.joined() where old.isInsertedAgain {
      let stored = viewState.reading(old.reference, or: nil) { try columns(of: old, in: viewState.view) }
      guard let stored else { continue }
      let overlay = ObjectOverlay(old.reference, old.shape, isNew: false, in: registry.memory)
      for (slot, value) in old.columns(differingFrom: stored) { overlay.setValue(value, slot) }
      overlay.isDeleted = old.isDeleted
      overlay.deletedWith = old.deletedWith
      if overlay.changesRow || overlay.isDeleted { overlay.baseVersion = .unknown }
      registry.identityMap.object(old.reference)?.header.pointee.dropRow()
      replace(old, by: overlay)
    }
  }

  /// Replaces the overlay of an object by another one, which gets its links, orders, transient
  /// values and instance.
  private func replace(_ old: ObjectOverlay, by overlay: ObjectOverlay) {
    for (slot, delta) in old.deltas { overlay.changeDelta(slot) { $0 = delta } }
    for (slot, delta) in old.orders { overlay.setOrder(delta, slot) }
    overlay.takeOver(from: old)
    (overlay.transientsBefore, overlay.transientsAtEvent) = (old.transientsBefore, old.transientsAtEvent)
    (old.transientsBefore, old.transientsAtEvent) = (nil, nil)
    pending.remove(old.reference)
    pending.insert(overlay)
    if let object = registry.identityMap.object(old.reference) { registry.attach(overlay, to: object) }
  }
}

extension ObjectOverlay {
  /// The changed columns that differ from those of a row. Omits the times of saves, because each
  /// save sets them.
  func columns(differingFrom stored: [Int: Value]) -> [Int: Value] {
    changedColumns.filter { slot, value in
      shape.isColumn(slot) && !shape.saveTimeSlots.contains(slot) && stored[slot] != value
    }
  }
}
