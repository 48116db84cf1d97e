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
//       may be one of such an object's: it is shown to nobody (`TransientState.transientTargets`), and goes when the object
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
