internal import PerdurePredicates

/// How the order of a relationship differs from what the store has. A class, so that a change is made in place.
///
/// Invariants, at the context's view:
///   D1. `tree` has the place of each member in `placed`, and, hidden, the stored place of each in `placed` or `hidden`
///       that has one. No place stands for two: a member that is put back where the store has it is in neither.
///   D2. Who is in `placed` is in the relationship, who is in `hidden` is not, or the store's entry has no link.
final class OrderDelta {
  /// A place that differs from the store's.
  struct Placement {
    let key: OrderKey
    /// The place that the store has; nil for none.
    let stored: OrderKey?
    /// Whether nobody asked for it: the member made room, or had none.
    let isSpread: Bool
  }

  // Not checked for exclusivity at run time: no function here calls out.
  @exclusivity(unchecked) private(set) var placed: [ObjectReference: Placement] = [:]
  @exclusivity(unchecked) private(set) var hidden: [ObjectReference: OrderKey] = [:]
  @exclusivity(unchecked) private(set) var tree = OrderTree()

  var isEmpty: Bool { placed.isEmpty && hidden.isEmpty }

  /// The same, apart from this one.
  func copy() -> OrderDelta {
    let copy = OrderDelta()
    (copy.placed, copy.hidden, copy.tree) = (placed, hidden, tree)
    return copy
  }

  /// Gives a member a place.
  ///
  /// - Parameter isSpread: Whether nobody asks for it; who was moved before stays somebody who was.
  func place(_ member: ObjectReference, at key: OrderKey, stored: OrderKey?, isSpread: Bool = false) {
    let isSpread = isSpread && placed[member]?.isSpread ?? true
    forget(member)
    if key == stored { return }
    if let stored { tree.insert(OrderPlace(key: stored, reference: member), weight: -1) }
    tree.insert(OrderPlace(key: key, reference: member), weight: 1)
    placed[member] = Placement(key: key, stored: stored, isSpread: isSpread)
  }

  /// Takes a member out.
  func hide(_ member: ObjectReference, stored: OrderKey?) {
    forget(member)
    guard let stored else { return }
    tree.insert(OrderPlace(key: stored, reference: member), weight: -1)
    hidden[member] = stored
  }

  /// Leaves a member where the store has it.
  func forget(_ member: ObjectReference) {
    if let placement = placed.removeValue(forKey: member) {
      tree.remove(OrderPlace(key: placement.key, reference: member))
      if let stored = placement.stored { tree.remove(OrderPlace(key: stored, reference: member)) }
    } else if let stored = hidden.removeValue(forKey: member) {
      tree.remove(OrderPlace(key: stored, reference: member))
    }
  }
}
