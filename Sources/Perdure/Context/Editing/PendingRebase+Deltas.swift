// The deltas of relationships, after the rows of the store have changed.

internal import PerdurePredicates

extension PendingRebase {
  /// Restores CX3 after the view has advanced. Deltas of columns are computed again from the
  /// changed columns and the new rows. Deltas of links are compared with the new links.
  func rebaseDeltas() {
    guard !pending.isEmpty else { return }
    let overlays = pending.ordered.joined()
    for overlay in overlays {
      for relationship in overlay.shape.relationships {
        guard !relationship.isInColumn, overlay.delta(relationship.slot) != nil else { continue }
        overlay.changeDelta(relationship.slot) { delta in
          delta.rebase { reading.savedLinks.isSavedLink(overlay.reference, relationship, $0) }
        }
      }
      overlay.removeDeltas { overlay.shape.relationship($0).isInColumn }
    }
    rebaseColumns(of: overlays)
    // Visits all overlays again: the new deltas may belong to objects that had no overlay before.
    for overlay in pending.ordered.joined() { orderEditor.reconcileOrders(overlay) }
    for overlay in overlays { pending.dropIfUnchanged(overlay) }
  }

  /// Restores CX3 after removed objects were inserted again. This context must have saved their
  /// deletion. Under the delete rule no action, rows of other objects still refer to them.
  ///
  /// - Complexity: O(k log n) for k objects and stored references to them. Visits no other unsaved
  ///   changes.
  func rebaseReferences(to inserted: [ObjectReference]) {
    var overlays: [ObjectOverlay] = []
    for reference in inserted {
      if let overlay = pending[reference] { overlays.append(overlay) }
      overlays += reading.savedLinks.leftReferences(to: reference).compactMap { pending[$0] }
    }
    rebaseColumns(of: overlays)
    for overlay in inserted.compactMap({ pending[$0] }) { orderEditor.reconcileOrders(overlay) }
  }

  private func rebaseColumns(of overlays: some Sequence<ObjectOverlay>) {
    for overlay in overlays where overlay.changesRow || overlay.isDeleted { rebaseColumns(overlay) }
    for overlay in overlays where overlay.changesRow { rebasePairs(overlay) }
  }

  private func rebaseColumns(_ overlay: ObjectOverlay) {
    for relationship in overlay.shape.relationships where relationship.form == .column {
      guard relationship.inverseSlot != nil, let value = overlay.value(relationship.slot) else { continue }
      if viewState.hasVanished(overlay.reference) { continue }
      let stored =
        overlay.isUnknownToStore ? nil : viewState.storedColumn(overlay.reference, relationship.slot)
      var current: ObjectReference?
      if case .reference(let target) = value { current = target }
      guard stored != current else { continue }
      if let stored, let inverse = graph.inverse(of: relationship, at: stored), inverse.form != .column {
        linkEditor.addIfDangling(stored, inverse)
        if !viewState.hasVanished(stored) {
          linkEditor.changeDelta(stored, inverse.slot, of: overlay.reference) { $0.remove($1) }
        }
      }
      if let current, !viewState.hasVanished(current), let slot = deltaSlot(relationship, at: current) {
        linkEditor.changeDelta(current, slot, of: overlay.reference) { $0.add($1) }
      }
    }
  }

  /// Restores one-to-one relationships that another context has changed too. Unsaved changes
  /// override the saved pairs, so the previous partner of the target is disconnected.
  private func rebasePairs(_ overlay: ObjectOverlay) {
    if viewState.hasVanished(overlay.reference) { return }
    for relationship in overlay.shape.columns where relationship.inverseIsToOne {
      guard let value = overlay.value(relationship.slot) else { continue }
      var current: ObjectReference?
      if case .reference(let target) = value { current = target }
      if let current, graph.inverse(of: relationship, at: current)?.form == .inverseToOne {
        linkEditor.disconnectSources(of: current, relationship, except: overlay.reference)
      } else if let inverseSlot = relationship.inverseSlot,
        graph.shape(numbered: relationship.destination).isColumn(inverseSlot)
      {
        for other in reading.savedLinks.storedSources(of: overlay.reference, relationship)
        where other != current && reading.rows.column(other, inverseSlot) == overlay.reference {
          objectEditor.setColumn(other, inverseSlot, .null)
        }
      }
    }
  }

  /// The slot of the delta that a column has at its target; nil if the relationship has no inverse,
  /// or if the other end is a column too.
  private func deltaSlot(_ relationship: RelationshipShape, at target: ObjectReference) -> Int? {
    guard let inverse = graph.inverse(of: relationship, at: target), inverse.form != .column else {
      return nil
    }
    return inverse.slot
  }
}
