internal import PerdurePredicates

/// The difference between the unsaved and the stored order of a relationship. It is a class, so
/// that changes are made in place.
///
/// Invariants, at the context's view:
///   OD1. `tree` has the order key of each member in `placed`. Its hidden entries are the stored
///        keys of the members in `placed` or `hidden`. No key is both added and hidden: a member
///        that is moved back to its stored position is in neither dictionary.
///   OD2. A member in `placed` is in the relationship. A member in `hidden` is not in the
///        relationship, or its stored order key belongs to no link.
final class OrderDelta {
  /// An order key that differs from the stored one.
  struct Placement {
    let key: OrderKey
    /// The stored order key; nil for none.
    let stored: OrderKey?
    /// Whether the program did not request the move: the member was moved to make space, or had no
    /// order key.
    let isSpread: Bool
  }

  // Unchecked exclusivity: no function here calls code outside this class.
  @exclusivity(unchecked) private(set) var placed: [ObjectReference: Placement] = [:]
  @exclusivity(unchecked) private(set) var hidden: [ObjectReference: OrderKey] = [:]
  @exclusivity(unchecked) private(set) var tree = OrderTree()
  /// The members that were placed, hidden or forgotten since the last `takeEdited`. A member may
  /// occur several times.
  @exclusivity(unchecked) private var edited: [ObjectReference] = []

  var isEmpty: Bool { placed.isEmpty && hidden.isEmpty }

  /// The number of members with an unsaved state.
  var count: Int { placed.count + hidden.count }

  /// Passes the members that were edited since the last call.
  func takeEdited(_ body: (ObjectReference) -> Void) {
    for member in edited { body(member) }
    edited.removeAll(keepingCapacity: true)
  }

  /// An independent copy.
  func copy() -> OrderDelta {
    let copy = OrderDelta()
    (copy.placed, copy.hidden, copy.tree) = (placed, hidden, tree)
    return copy
  }

  /// Sets the order key of a member.
  ///
  /// - Parameter isSpread: Whether the program did not request the move. A member that the program
  ///   moved before still counts as moved.
  func place(_ member: ObjectReference, at key: OrderKey, stored: OrderKey?, isSpread: Bool = false) {
    let isSpread = isSpread && placed[member]?.isSpread ?? true
    forget(member)
    if key == stored { return }
    if let stored { tree.insert(OrderEntry(key: stored, reference: member), weight: -1) }
    tree.insert(OrderEntry(key: key, reference: member), weight: 1)
    placed[member] = Placement(key: key, stored: stored, isSpread: isSpread)
  }

  /// Removes a member from the order.
  func hide(_ member: ObjectReference, stored: OrderKey?) {
    forget(member)
    guard let stored else { return }
    tree.insert(OrderEntry(key: stored, reference: member), weight: -1)
    hidden[member] = stored
  }

  /// Discards the unsaved state of a member, so that it is at its stored position.
  func forget(_ member: ObjectReference) {
    edited.append(member)
    if let placement = placed.removeValue(forKey: member) {
      tree.remove(OrderEntry(key: placement.key, reference: member))
      if let stored = placement.stored { tree.remove(OrderEntry(key: stored, reference: member)) }
    } else if let stored = hidden.removeValue(forKey: member) {
      tree.remove(OrderEntry(key: stored, reference: member))
    }
  }
}
