// The links of transient relationships after the last save. This table of the context corresponds
// to the store's indexes of stored relationships.
//
// As for stored relationships, unsaved links are in the deltas of overlays. A save moves them into
// the table. Therefore a rollback does not change the table.
//
// Invariants:
//   N1. A link of a relationship with an inverse is recorded at both of its ends; a link of a
//       relationship without one, at its owner.
//   N2. `leading` contains, for each object, exactly the ends with a link to it.
//   N3. Only a save moves links into the table, so it has no link of a new object. It may have links
//       of an object that another context has removed, even if the object was inserted again since.
//       These links are not shown (`TransientState.transientTargets`). They are removed when the
//       object is retired or refreshed in this context, or when it is saved after such an insertion.

internal import PerdurePredicates

/// Links by reference. They retain no instance.
struct TransientLinks {
  /// One end of a relationship: an object's property.
  struct End: Hashable {
    let owner: ObjectReference
    let slot: Int
  }

  private var targets: [End: ReferenceSet] = [:]
  private var leading: [ObjectReference: Set<End>] = [:]

  var isEmpty: Bool { targets.isEmpty }

  /// The objects that have links.
  var owners: Set<ObjectReference> { Set(targets.keys.map(\.owner)) }

  /// The targets of an end, ascending.
  func targets(of end: End) -> [ObjectReference] { targets[end]?.ordered ?? [] }

  func contains(_ end: End, _ target: ObjectReference) -> Bool { targets[end]?.contains(target) ?? false }

  /// The ends with a link to an object.
  func ends(leadingTo target: ObjectReference) -> Set<End> { leading[target] ?? [] }

  /// Applies a delta to an end.
  mutating func apply(_ delta: LinkDelta, to end: End) {
    for target in delta.removed.ordered { remove(target, from: end) }
    for target in delta.added.ordered { insert(target, at: end) }
  }

  mutating func removeAll() {
    targets = [:]
    leading = [:]
  }

  /// Removes all ends of an object, and all links to it.
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
  /// An object's end of the relationship, which must be transient.
  func end(of owner: ObjectReference) -> TransientLinks.End { TransientLinks.End(owner: owner, slot: slot) }
}
