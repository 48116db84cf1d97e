// Discards the unsaved changes of one object, and restores the stored links that they had replaced.

internal import PerdurePredicates

extension PendingRebase {
  /// Discards the unsaved changes of one object, also at the other ends.
  func discard(_ overlay: ObjectOverlay) {
    let wasDeleted = overlay.isDeleted
    overlay.isDeleted = false
    let restoredOrder = orderEditor.restoresOrder
    orderEditor.restoresOrder = true
    defer { orderEditor.restoresOrder = restoredOrder }
    for relationship in overlay.shape.relationships {
      switch relationship.form {
      case .column: discardColumn(overlay, relationship)
      case .links, .transient:
        guard let delta = overlay.delta(relationship.slot) else { continue }
        for target in delta.added.ordered { linkEditor.disconnect(overlay.reference, relationship, target) }
        for target in delta.removed.ordered { linkEditor.connect(overlay.reference, relationship, target) }
      case .inverseToOne, .inverseToMany:
        guard let delta = overlay.delta(relationship.slot) else { continue }
        for target in delta.added.ordered {
          linkEditor.disconnect(overlay.reference, relationship, target)
          if let column = graph.inverse(of: relationship, at: target) {
            linkRestorer.restoreStored(target, column)
          }
        }
        for target in delta.removed.ordered where !pending.isDeleted(target) {
          linkEditor.connect(overlay.reference, relationship, target)
        }
      }
    }
    for slot in overlay.orders.map(\.slot) { overlay.setOrder(nil, slot) }
    orderEditor.reconcileOrders(overlay)
    if overlay.changesRow { overlay.discardValues() }
    transientState.dropTransientsBefore(overlay)
    overlay.baseVersion = nil
    pending.dropIfUnchanged(overlay)
    if wasDeleted {
      linkRestorer.restoreOneWayLinks(to: overlay.reference)
      // CX5 has excluded the object while it was deleted here.
      linkEditor.addIfVanished(overlay.reference)
    }
  }

  private func discardColumn(_ overlay: ObjectOverlay, _ relationship: RelationshipShape) {
    guard overlay.value(relationship.slot) != nil else { return }
    let unsaved = overlay.reference(relationship.slot)
    let stored = viewState.storedColumn(overlay.reference, relationship.slot)
    let partner = linkRestorer.pairedPartner(overlay.reference, relationship)
    let displaced = stored.flatMap { linkRestorer.currentPartner(of: $0, relationship) }
    linkEditor.setColumn(overlay.reference, relationship, stored)
    if let partner, partner.owner != stored {
      linkRestorer.restoreStored(partner.owner, partner.relationship)
    }
    if let unsaved, unsaved != stored { linkRestorer.restoreStoredPartner(of: unsaved, relationship) }
    if let displaced, displaced.owner != overlay.reference {
      linkRestorer.restoreStored(displaced.owner, displaced.relationship)
    }
    // If the stored target is deleted, its delete rules have removed its link to this object and
    // must be applied again.
    if let stored { linkEditor.propagateAgain(stored) }
  }
}
