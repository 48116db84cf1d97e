// Restores stored links that unsaved links had replaced, after the unsaved links were discarded.

internal import PerdurePredicates

/// Restores the stored links of objects at the other ends of discarded links.
final class LinkRestorer {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  @Shared private var reading: ContextReading
  private let linkEditor: LinkEditor

  init(_ reading: Shared<ContextReading>, _ linkEditor: LinkEditor) {
    graph = reading.graph
    registry = reading.registry
    viewState = reading.viewState
    pending = reading.pending
    _reading = reading
    self.linkEditor = linkEditor
  }

  /// Restores the stored links to an object in relationships without an inverse, after its deletion
  /// was discarded. The delete rules have removed these links. Restores also those that the program
  /// itself had removed before: the unsaved changes do not show the difference.
  func restoreOneWayLinks(to target: ObjectReference) {
    if viewState.hasVanished(target) { return }
    for relationship in graph.shape(of: target).incoming {
      for source in reading.savedLinks.storedSources(of: target, relationship) {
        guard pending[source]?.isDeleted == false else { continue }
        if relationship.form == .column {
          restoreStored(source, relationship)
        } else {
          linkEditor.connect(source, relationship, target)
        }
      }
    }
  }

  /// The other end of a one-to-one relationship with a column at both ends, if its column refers to
  /// this object.
  func pairedPartner(
    _ reference: ObjectReference, _ relationship: RelationshipShape
  ) -> (owner: ObjectReference, relationship: RelationshipShape)? {
    guard let target = reading.rows.column(reference, relationship.slot), target != reference,
      let inverse = graph.inverse(of: relationship, at: target), inverse.form == .column,
      reading.rows.column(target, inverse.slot) == reference
    else { return nil }
    return (target, inverse)
  }

  /// The object that a target of a one-to-one relationship is linked to now, with its column.
  func currentPartner(
    of target: ObjectReference, _ relationship: RelationshipShape
  ) -> (owner: ObjectReference, relationship: RelationshipShape)? {
    guard relationship.inverseIsToOne, let inverse = graph.inverse(of: relationship, at: target) else {
      return nil
    }
    if inverse.form == .column { return pairedPartner(target, inverse) }
    guard inverse.form == .inverseToOne, let owner = reading.links.target(of: target, inverse) else {
      return nil
    }
    return graph.inverse(of: inverse, at: owner).map { (owner, $0) }
  }

  /// Restores the stored link of an object in a column, after the unsaved link that replaced it was
  /// removed. The program did not request that the object loses its target. Another context may
  /// have saved the link in the meantime. Does nothing if the stored target has another partner in
  /// this context.
  func restoreStored(_ owner: ObjectReference, _ column: RelationshipShape) {
    guard let overlay = pending[owner], !overlay.isNew, !overlay.isDeleted,
      overlay.value(column.slot)?.isNull == true
    else { return }
    if let stored = viewState.storedColumn(owner, column.slot) {
      let inverse = graph.inverse(of: column, at: stored)
      guard !viewState.hasVanished(stored), !pending.isDeleted(stored),
        isFree(stored, inverse, for: owner)
      else { return }
      linkEditor.setColumn(owner, column, stored)
      if let inverse, inverse.form == .column { unmarkStored(stored, inverse.slot) }
    }
    unmarkStored(owner, column.slot)
  }

  /// Whether an object can get a partner without losing another one.
  private func isFree(
    _ target: ObjectReference, _ relationship: RelationshipShape?, for partner: ObjectReference
  ) -> Bool {
    guard let relationship, !relationship.isToMany else { return true }
    if relationship.form != .column { return reading.links.target(of: target, relationship) == nil }
    let current = reading.rows.column(target, relationship.slot)
    return current == nil || current == partner
  }

  /// Restores the stored link to the target of a one-to-one relationship, after the unsaved link
  /// that replaced it was discarded. Another context may have saved the stored link in the
  /// meantime. Restores it even if the program itself had removed it before: the unsaved changes do
  /// not show the difference.
  func restoreStoredPartner(of target: ObjectReference, _ relationship: RelationshipShape) {
    guard relationship.inverseIsToOne, let inverse = graph.inverse(of: relationship, at: target),
      inverse.form == .inverseToOne, self.reading.links.target(of: target, inverse) == nil
    else { return }
    for source in reading.savedLinks.storedSources(of: target, relationship) {
      if let column = graph.inverse(of: inverse, at: source) { restoreStored(source, column) }
    }
  }

  /// Drops the change of a reference that equals the stored one.
  func unmarkStored(_ reference: ObjectReference, _ slot: Int) {
    guard let overlay = pending[reference], overlay.changesRow, !overlay.isNew else { return }
    let stored = viewState.storedColumn(reference, slot).map(Value.reference) ?? .null
    overlay.unmark { $0 == slot && $1 == stored }
    if overlay.changesRow || overlay.isDeleted { return }
    overlay.baseVersion = nil
    pending.dropIfUnchanged(overlay)
    if pending[reference] == nil { registry.identityMap.object(reference)?.header.pointee.dropRow() }
  }
}
