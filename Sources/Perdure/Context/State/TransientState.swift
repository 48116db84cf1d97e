// The links of transient relationships as the context shows them, and the values that transient attributes have lost.

internal import PerdurePredicates

/// The state of transient properties.
final class TransientState {
  private let graph: GraphSchema
  private let viewState: ViewState
  private let pending: PendingChanges
  // Not checked for exclusivity at run time: no access lasts longer than an assignment, or than a
  // call that cannot come back to the context.
  /// The links of transient relationships, as the last save has left them.
  @exclusivity(unchecked) private var links = TransientLinks()
  /// What transient attributes have lost and nobody has released yet (T3 in TransientValues.swift).
  @exclusivity(unchecked) private var dropped: [TransientValues] = []
  /// How many things are under way that must be done before that.
  @exclusivity(unchecked) private var keeperCount = 0
  /// Whether a transient attribute ever held anything.
  @exclusivity(unchecked) var isUsed = false

  init(_ viewState: ViewState, _ pending: PendingChanges) {
    graph = viewState.graph
    self.viewState = viewState
    self.pending = pending
  }

  // MARK: Links

  /// What the table has at an object's end of a transient relationship: objects that are in the view.
  func transientTargets(_ relationship: RelationshipShape, of owner: ObjectReference) -> [ObjectReference] {
    links.isEmpty
      ? [] : links.targets(of: relationship.end(of: owner)).filter(viewState.isInView)
  }

  /// Whether the table has a link between objects that are in the view.
  func hasTransientLink(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) -> Bool {
    links.contains(relationship.end(of: owner), target) && viewState.isInView(target)
  }

  /// Which objects lead to another by a transient relationship without inverse, as the table has it.
  func oneWayTransientSources(
    of target: ObjectReference
  ) -> [(owner: ObjectReference, relationship: RelationshipShape)] {
    if links.isEmpty { return [] }
    return links.ends(leadingTo: target).sorted {
      ($0.owner.rawValue, $0.slot) < ($1.owner.rawValue, $1.slot)
    }
    .compactMap { end in
      let relationship = graph.shape(of: end.owner).relationship(end.slot)
      guard relationship.inverseSlot == nil, viewState.isInView(end.owner) else { return nil }
      return (end.owner, relationship)
    }
  }

  /// What was pending of an object is in the table now; what was deleted is in it no more.
  func settleTransientLinks(_ overlay: ObjectOverlay) {
    guard graph.hasTransientRelationships else { return }
    if overlay.isDeleted { return forgetTransientLinks(of: overlay.reference) }
    for (slot, delta) in overlay.deltas {
      let relationship = overlay.shape.relationship(slot)
      if relationship.isTransient { links.apply(delta, to: relationship.end(of: overlay.reference)) }
    }
  }

  /// The object is gone.
  func forgetTransientLinks(of reference: ObjectReference) {
    if links.isEmpty { return }
    let slots = graph.shape(of: reference).relationships.filter(\.isTransient).map(\.slot)
    links.remove(reference, slots: slots)
    viewState.linksChanged()
  }

  /// An object begins anew with what the store has: its own ends lead to nothing. What leads to it one-way is others'.
  func dropTransientLinks(of owner: ObjectReference) {
    dropTransientLinks(of: owner) { _ in true }
  }

  /// As above, but for links with what has unsaved changes.
  func dropSettledTransientLinks() {
    for owner in links.owners where pending[owner] == nil {
      dropTransientLinks(of: owner) { pending[$0] == nil }
    }
  }

  private func dropTransientLinks(
    of owner: ObjectReference, where isDropped: (_ target: ObjectReference) -> Bool
  ) {
    if links.isEmpty { return }
    for relationship in graph.shape(of: owner).relationships where relationship.isTransient {
      let end = relationship.end(of: owner)
      for target in links.targets(of: end)
      where relationship.inverseSlot == nil || isDropped(target) {
        links.remove(target, from: end)
        if let inverse = graph.inverse(of: relationship, at: target) {
          links.remove(owner, from: inverse.end(of: target))
        }
      }
    }
    viewState.linksChanged()
  }

  func removeAllLinks() {
    links.removeAll()
    viewState.linksChanged()
  }

  // MARK: Values

  /// Begins something that changes the context in several steps; `releaseDropped` ends it (T3).
  func keepDropped() { keeperCount += 1 }

  /// Lets go of what transient attributes have lost meanwhile.
  func releaseDropped() {
    keeperCount -= 1
    guard keeperCount == 0, !dropped.isEmpty else { return }
    var released: [TransientValues] = []
    swap(&released, &dropped)
    withExtendedLifetime(released) {}
  }

  /// Takes over what transient attributes do not hold any more.
  func drop(_ values: TransientValues) {
    guard keeperCount > 0 else { return }
    dropped.append(values)
  }

  /// Nobody asks any more what was held when the event began.
  func dropTransientsAtEvent(_ overlay: ObjectOverlay) {
    guard let before = overlay.transientsAtEvent else { return }
    overlay.transientsAtEvent = nil
    drop(before)
  }

  /// What was set cannot be taken back any more.
  func dropTransientsBefore(_ overlay: ObjectOverlay) {
    dropTransientsAtEvent(overlay)
    guard let before = overlay.transientsBefore else { return }
    overlay.transientsBefore = nil
    drop(before)
  }
}
