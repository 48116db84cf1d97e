// Unsaved links on top of a newer state (C3 in ContextCore.swift).

internal import PerdurePredicates

extension ContextCore {
  /// Restores C3 after the view has moved: what the deltas say about columns follows from the changed
  /// columns and the new rows; link deltas are held against the new links.
  func rebaseDeltas() {
    guard !tracker.isEmpty else { return }
    let overlays = tracker.ordered.joined()
    for overlay in overlays {
      for relationship in overlay.shape.relationships {
        guard !relationship.isInColumn, overlay.delta(relationship.slot) != nil else { continue }
        overlay.changeDelta(relationship.slot) { delta in
          delta.rebase { isSettledLink(overlay.reference, relationship, $0) }
        }
      }
      overlay.removeDeltas { overlay.shape.relationship($0).isInColumn }
    }
    for overlay in overlays where overlay.changesRow || overlay.isDeleted { rebaseColumns(overlay) }
    for overlay in overlays where overlay.changesRow { rebasePairs(overlay) }
    for overlay in tracker.ordered.joined() { reconcileOrders(overlay) }
    for overlay in overlays { dropIfUnchanged(overlay) }
  }

  private func rebaseColumns(_ overlay: ObjectOverlay) {
    for relationship in overlay.shape.relationships where relationship.form == .column {
      guard relationship.inverseSlot != nil, let value = overlay.value(relationship.slot) else { continue }
      if hasVanished(overlay.reference) { continue }
      let stored = overlay.isUnknownToStore ? nil : storedColumn(overlay.reference, relationship.slot)
      var current: ObjectReference?
      if case .reference(let target) = value { current = target }
      guard stored != current else { continue }
      if let stored, let inverse = inverse(of: relationship, at: stored), inverse.form != .column {
        forgetDangling(stored, inverse)
        if !hasVanished(stored) { changeDelta(stored, inverse.slot) { $0.remove(overlay.reference) } }
      }
      if let current, !hasVanished(current), let slot = deltaSlot(relationship, at: current) {
        changeDelta(current, slot) { $0.add(overlay.reference) }
      }
    }
  }

  /// Others may have paired the objects of a one-to-one relationship that is changed here. Unsaved changes
  /// are on top, so who they take a partner from lets go of it.
  private func rebasePairs(_ overlay: ObjectOverlay) {
    if hasVanished(overlay.reference) { return }
    for relationship in overlay.shape.columns where relationship.inverseIsToOne {
      guard let value = overlay.value(relationship.slot) else { continue }
      var current: ObjectReference?
      if case .reference(let target) = value { current = target }
      if let current, inverse(of: relationship, at: current)?.form == .inverseToOne {
        leaveAll(current, relationship, but: overlay.reference)
      } else if let inverseSlot = relationship.inverseSlot,
        graph.shape(numbered: relationship.destination).isColumn(inverseSlot)
      {
        for other in storedSources(of: overlay.reference, relationship)
        where other != current && column(other, inverseSlot) == overlay.reference {
          setColumn(other, inverseSlot, .null)
        }
      }
    }
  }

  /// The slot of the delta that a column has at its target; nil when the target has a column of its own.
  private func deltaSlot(_ relationship: RelationshipShape, at target: ObjectReference) -> Int? {
    guard let inverse = inverse(of: relationship, at: target), inverse.form != .column else { return nil }
    return inverse.slot
  }
}
