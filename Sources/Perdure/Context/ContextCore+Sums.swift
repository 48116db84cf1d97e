// Sums of what is at the other end of a relationship: what the store keeps, and how much the unsaved
// changes of members differ from it. The layer of unsaved changes has the difference of each owner.

internal import PerdurePredicates

extension ContextCore {
  /// What a derived attribute of an object is, by the index of sums where there is one.
  func value(of derived: DerivedStorage, source: PendingSource) throws(PredicateEvaluationError) -> Value {
    // Without changes the rows tell.
    if derived.sums == nil, tracker.isEmpty, vanished.isEmpty {
      return storedValue(of: derived, source.identity)
    }
    // Which links are let go of is known for each object, and not for a sum.
    guard let sums = derived.sums, vanished.isEmpty, tracker[source.identity]?.isDeleted != true else {
      return try derived.value(of: source)
    }
    if let value = sum(sums, of: source.identity, derived) { return value }
    return try derived.value(of: source)
  }

  /// - Returns: nil where the store keeps no sums.
  /// - Complexity: O(log n), and O(k log n) for k objects that were edited since the last fetch or
  ///   sum.
  private func sum(
    _ index: StoreIndex, of owner: ObjectReference, _ derived: DerivedStorage
  ) -> Value? {
    // After a failed read there is no layer.
    if readFailure != nil, !tracker.isEmpty { return nil }
    do {
      guard var sum = try view.sum(index, of: owner) else { return nil }
      if !tracker.isEmpty, let difference = try currentLayer().layer.sum(index, of: owner) {
        sum.add(difference)
      }
      return derived.exact(sum.value)
    } catch {
      noteReadFailure(error, owner)
      return .null
    }
  }
}
