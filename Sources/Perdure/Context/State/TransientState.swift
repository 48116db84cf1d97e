// The saved links of transient relationships, and former values of transient attributes whose
// release is deferred.

internal import PerdurePredicates

/// The state of transient properties.
final class TransientState {
  private let graph: GraphSchema
  private let viewState: ViewState
  private let pending: PendingChanges
  // The exclusivity of accesses is not checked at run time: no access calls code that accesses the
  // same property.
  /// The links of transient relationships as of the last save, without those that a refresh
  /// removed.
  @exclusivity(unchecked) private var links = TransientLinks()
  /// Former values of transient attributes whose release is deferred (TV3 in
  /// TransientValues.swift).
  @exclusivity(unchecked) private var dropped: [TransientValues] = []
  /// Nesting depth of operations that defer releasing `dropped`.
  @exclusivity(unchecked) private var keeperCount = 0
  /// Whether a transient attribute ever had a value.
  @exclusivity(unchecked) var isUsed = false

  init(_ viewState: ViewState, _ pending: PendingChanges) {
    graph = viewState.graph
    self.viewState = viewState
    self.pending = pending
  }

  // MARK: Links

  /// The saved targets of an object's transient relationship. Empty if the object is not in the
  /// view. Omits targets that are not in the view.
  func transientTargets(_ relationship: RelationshipShape, of owner: ObjectReference) -> [ObjectReference] {
    if links.isEmpty { return [] }
    let targets = links.targets(of: relationship.end(of: owner))
    return targets.isEmpty || !viewState.isInView(owner) ? [] : targets.filter(viewState.isInView)
  }

  /// Whether the table has a link, and both of its objects are in the view.
  func hasTransientLink(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) -> Bool {
    links.contains(relationship.end(of: owner), target) && viewState.isInView(owner)
      && viewState.isInView(target)
  }

  /// The objects with a saved link to another object in a transient relationship without inverse.
  func oneWayTransientSources(
    of target: ObjectReference
  ) -> [(owner: ObjectReference, relationship: RelationshipShape)] {
    let ends = links.ends(leadingTo: target)
    if ends.isEmpty || !viewState.isInView(target) { return [] }
    return ends.sorted {
      ($0.owner.rawValue, $0.slot) < ($1.owner.rawValue, $1.slot)
    }
    .compactMap { end in
      let relationship = graph.shape(of: end.owner).relationship(end.slot)
      guard relationship.inverseSlot == nil, viewState.isInView(end.owner) else { return nil }
      return (end.owner, relationship)
    }
  }

  /// Removes the links that objects had before they were removed and inserted again. Called after a
  /// save of these objects, before `commitTransientLinks`.
  func forgetLinksBeforeInsertion(of overlays: [[ObjectOverlay]]) {
    if links.isEmpty { return }
    for overlay in overlays.joined() where overlay.isInsertedAgain {
      forgetTransientLinks(of: overlay.reference)
    }
  }

  /// Applies an object's changes of transient links to the table after a save. Removes the links of
  /// a deleted object.
  func commitTransientLinks(_ overlay: ObjectOverlay) {
    guard graph.hasTransientRelationships else { return }
    if overlay.isDeleted { return forgetTransientLinks(of: overlay.reference) }
    for (slot, delta) in overlay.deltas {
      let relationship = overlay.shape.relationship(slot)
      if relationship.isTransient { links.apply(delta, to: relationship.end(of: overlay.reference)) }
    }
  }

  /// Removes all links of an object that no longer exists.
  func forgetTransientLinks(of reference: ObjectReference) {
    if links.isEmpty { return }
    let slots = graph.shape(of: reference).relationships.filter(\.isTransient).map(\.slot)
    links.remove(reference, slots: slots)
    viewState.linksChanged()
  }

  /// Removes the saved links of an object that is refreshed. Links of other objects to it in
  /// relationships without inverse stay.
  func dropTransientLinks(of owner: ObjectReference) {
    dropTransientLinks(of: owner) { _ in true }
  }

  /// Removes the saved links of objects without unsaved changes. A link of a relationship with an
  /// inverse stays if its target has unsaved changes.
  func dropSavedTransientLinks() {
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

  /// Removes all links and values when the handle of the context is freed. Otherwise values that
  /// are objects could retain each other.
  func abandon(_ registry: ObjectRegistry) {
    removeAllLinks()
    guard isUsed else { return }
    for object in registry.identityMap.objects { object.dropTransients() }
    for overlay in pending.all where overlay.changesTransients {
      dropTransientsBefore(overlay)
      overlay.transientsBefore = TransientValues()
    }
  }

  // MARK: Values

  /// Defers the release of former values during an operation of several steps (TV3).
  /// `releaseDropped` ends it.
  func keepDropped() { keeperCount += 1 }

  /// Releases the deferred values if no other operation defers the release.
  func releaseDropped() {
    keeperCount -= 1
    guard keeperCount == 0, !dropped.isEmpty else { return }
    var released: [TransientValues] = []
    swap(&released, &dropped)
    withExtendedLifetime(released) {}
  }

  /// Keeps former values of transient attributes while an operation defers their release. Otherwise
  /// does nothing.
  func drop(_ values: TransientValues) {
    guard keeperCount > 0 else { return }
    dropped.append(values)
  }

  /// Drops the copy of the values that was made when the event began. Called when the event ends.
  func dropTransientsAtEvent(_ overlay: ObjectOverlay) {
    guard let before = overlay.transientsAtEvent else { return }
    overlay.transientsAtEvent = nil
    drop(before)
  }

  /// Drops the copy of the values that was made before the first unsaved change. Called when the
  /// changes can no longer be rolled back.
  func dropTransientsBefore(_ overlay: ObjectOverlay) {
    dropTransientsAtEvent(overlay)
    guard let before = overlay.transientsBefore else { return }
    overlay.transientsBefore = nil
    drop(before)
  }
}
