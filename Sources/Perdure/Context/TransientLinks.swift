// The links of transient relationships, as a save has left them: a table of the context, where stored relationships have
// indexes of the store.
//
// What is connected since the last save is in the deltas of overlays, as with every other relationship, and a save moves
// it into the table. So a rollback, delete rules, changed values, validation and events need to know nothing of it.
//
// Invariants:
//   N1. A link of a relationship with an inverse stands under both of its ends; of one without, under its owner.
//   N2. `leading` has, for each object, the ends that it stands under, and nothing else.
//   N3. No end has a new object: only a save moves links here. An end may have one whose row others have removed, and
//       may be one of such an object's: it is shown to nobody (`ContextCore.transientTargets`), and goes when the object
//       is removed or refreshed here, or with the context.

internal import PerdurePredicates

/// Links by reference. They keep no instance alive.
struct TransientLinks {
  /// One end of a relationship: an object's property.
  struct End: Hashable {
    let owner: ObjectReference
    let slot: Int
  }

  private var targets: [End: ReferenceSet] = [:]
  private var leading: [ObjectReference: Set<End>] = [:]

  var isEmpty: Bool { targets.isEmpty }

  /// Every object that has links of its own.
  var owners: Set<ObjectReference> { Set(targets.keys.map(\.owner)) }

  /// What an end leads to, ascending.
  func targets(of end: End) -> [ObjectReference] { targets[end]?.ordered ?? [] }

  func contains(_ end: End, _ target: ObjectReference) -> Bool { targets[end]?.contains(target) ?? false }

  /// The ends that lead to an object.
  func ends(leadingTo target: ObjectReference) -> Set<End> { leading[target] ?? [] }

  /// Changes what an end leads to as a delta says.
  mutating func apply(_ delta: LinkDelta, to end: End) {
    for target in delta.removed.ordered { remove(target, from: end) }
    for target in delta.added.ordered { insert(target, at: end) }
  }

  mutating func removeAll() {
    targets = [:]
    leading = [:]
  }

  /// Forgets an object, at every end that it has or stands under.
  mutating func remove(_ reference: ObjectReference, slots: [Int]) {
    for end in ends(leadingTo: reference) { remove(reference, from: end) }
    for slot in slots {
      let end = End(owner: reference, slot: slot)
      for target in targets(of: end) { remove(target, from: end) }
    }
  }

  mutating func remove(_ target: ObjectReference, from end: End) {
    guard targets[end]?.remove(target) == true else { return }
    if targets[end]?.isEmpty == true { targets[end] = nil }
    leading[target]?.remove(end)
    if leading[target]?.isEmpty == true { leading[target] = nil }
  }

  private mutating func insert(_ target: ObjectReference, at end: End) {
    targets[end, default: ReferenceSet()].insert(target)
    leading[target, default: []].insert(end)
  }
}

extension RelationshipShape {
  /// An object's end of the relationship, which is transient.
  func end(of owner: ObjectReference) -> TransientLinks.End { TransientLinks.End(owner: owner, slot: slot) }
}

// MARK: - Reading

extension ContextCore {
  /// What the table has at an object's end of a transient relationship: objects that are in the view.
  func transientTargets(_ relationship: RelationshipShape, of owner: ObjectReference) -> [ObjectReference] {
    transientLinks.isEmpty
      ? [] : transientLinks.targets(of: relationship.end(of: owner)).filter(isInView)
  }

  /// Whether the table has a link between objects that are in the view.
  func hasTransientLink(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) -> Bool {
    transientLinks.contains(relationship.end(of: owner), target) && isInView(target)
  }

  /// Which objects lead to another by a transient relationship without inverse, as the table has it.
  func oneWayTransientSources(
    of target: ObjectReference
  ) -> [(owner: ObjectReference, relationship: RelationshipShape)] {
    if transientLinks.isEmpty { return [] }
    return transientLinks.ends(leadingTo: target).sorted {
      ($0.owner.rawValue, $0.slot) < ($1.owner.rawValue, $1.slot)
    }
    .compactMap { end in
      let relationship = graph.shape(of: end.owner).relationship(end.slot)
      guard relationship.inverseSlot == nil, isInView(end.owner) else { return nil }
      return (end.owner, relationship)
    }
  }

  private func isInView(_ reference: ObjectReference) -> Bool {
    do { return try view.version(of: reference) != nil } catch {
      noteReadFailure(error, reference)
      return false
    }
  }
}

// MARK: - Changing

extension ContextCore {
  /// What was pending of an object is in the table now; what was deleted is in it no more.
  func settleTransientLinks(_ overlay: ObjectOverlay) {
    guard graph.hasTransientRelationships else { return }
    if overlay.isDeleted { return forgetTransientLinks(of: overlay.reference) }
    for (slot, delta) in overlay.deltas {
      let relationship = overlay.shape.relationship(slot)
      if relationship.isTransient { transientLinks.apply(delta, to: relationship.end(of: overlay.reference)) }
    }
  }

  /// The object is gone.
  func forgetTransientLinks(of reference: ObjectReference) {
    if transientLinks.isEmpty { return }
    let slots = graph.shape(of: reference).relationships.filter(\.isTransient).map(\.slot)
    transientLinks.remove(reference, slots: slots)
    linksChanged()
  }

  /// An object begins anew with what the store has: its own ends lead to nothing. What leads to it one-way is others'.
  func dropTransientLinks(of owner: ObjectReference) {
    dropTransientLinks(of: owner) { _ in true }
  }

  /// As above, but for links with what has unsaved changes.
  func dropSettledTransientLinks() {
    for owner in transientLinks.owners where tracker[owner] == nil {
      dropTransientLinks(of: owner) { tracker[$0] == nil }
    }
  }

  private func dropTransientLinks(
    of owner: ObjectReference, where isDropped: (_ target: ObjectReference) -> Bool
  ) {
    if transientLinks.isEmpty { return }
    for relationship in graph.shape(of: owner).relationships where relationship.isTransient {
      let end = relationship.end(of: owner)
      for target in transientLinks.targets(of: end)
      where relationship.inverseSlot == nil || isDropped(target) {
        transientLinks.remove(target, from: end)
        if let inverse = inverse(of: relationship, at: target) {
          transientLinks.remove(owner, from: inverse.end(of: target))
        }
      }
    }
    linksChanged()
  }
}
