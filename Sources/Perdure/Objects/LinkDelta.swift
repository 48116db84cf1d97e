internal import PerdurePredicates

/// The difference between the objects at the other end of a relationship and those in the store.
///
/// Invariants, at the context's view: no element of `added` is in the store's set, and every
/// element of `removed` is. So the size of the changed set is known without reading the set.
struct LinkDelta {
  private(set) var added = ReferenceSet()
  private(set) var removed = ReferenceSet()

  var isEmpty: Bool { added.isEmpty && removed.isEmpty }

  /// The number of objects minus their number in the store.
  var countDifference: Int { added.count - removed.count }

  /// Adds an object that is not in the changed set.
  mutating func add(_ reference: ObjectReference) {
    if !removed.remove(reference) { added.insert(reference) }
  }

  /// Removes an object that is in the changed set.
  mutating func remove(_ reference: ObjectReference) {
    if !added.remove(reference) { removed.insert(reference) }
  }

  /// Whether the changed set has an object; nil if this depends on the store.
  func contains(_ reference: ObjectReference) -> Bool? {
    if added.contains(reference) { return true }
    return removed.contains(reference) ? false : nil
  }

  /// The changed set, computed from the set in the store.
  func applied(to stored: [ObjectReference]) -> Set<ObjectReference> {
    Set(stored).subtracting(removed.ordered).union(added.ordered)
  }

  /// Restores the invariants against another state of the store.
  mutating func rebase(_ isStored: (ObjectReference) -> Bool) {
    added.removeAll(where: isStored)
    removed.removeAll { !isStored($0) }
  }
}
