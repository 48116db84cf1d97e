// Sums over the other end of a relationship: the sum in the store, plus the differences that the
// unsaved changes of members cause. The layer of unsaved changes has the difference of each owner.

internal import PerdurePredicates

/// Computes derived attributes and sums as the context shows them.
final class DerivedReader {
  let graph: GraphSchema
  private let viewState: ViewState
  private let pending: PendingChanges
  let rows: RowLoader
  let links: LinkReader
  private let layerFollower: LayerFollower

  init(
    rows: RowLoader, links: LinkReader, layerFollower: LayerFollower, viewState: ViewState,
    pending: PendingChanges
  ) {
    graph = viewState.graph
    self.viewState = viewState
    self.pending = pending
    self.rows = rows
    self.links = links
    self.layerFollower = layerFollower
  }

  /// The value of a derived attribute, computed from the index of sums if there is one.
  func value(of derived: DerivedStorage, source: PendingSource) throws(PredicateEvaluationError) -> Value {
    // Without unsaved changes the rows suffice.
    if derived.sums == nil, pending.isEmpty, viewState.vanished.isEmpty {
      return storedValue(of: derived, source.identity)
    }
    // A sum cannot exclude the links that the context hides.
    guard let sums = derived.sums, viewState.vanished.isEmpty, pending[source.identity]?.isDeleted != true
    else {
      return try derived.value(of: source)
    }
    if let value = sum(sums, of: source.identity, derived) { return value }
    return try derived.value(of: source)
  }

  /// The sum of an owner, with unsaved changes.
  ///
  /// - Returns: nil if the store keeps no sums, or if there is no layer of the unsaved changes.
  ///   Null if the store cannot be read.
  /// - Complexity: O(log n), and O(k log n) for k objects that were edited since the last fetch or
  ///   sum.
  private func sum(
    _ index: StoreIndex, of owner: ObjectReference, _ derived: DerivedStorage
  ) -> Value? {
    // After a failed read there is no layer.
    if viewState.readFailure != nil, !pending.isEmpty { return nil }
    do {
      guard var sum = try viewState.view.sum(index, of: owner) else { return nil }
      if !pending.isEmpty, let difference = try layerFollower.currentLayer().layer.sum(index, of: owner) {
        sum.add(difference)
      }
      return derived.exact(sum.value)
    } catch {
      viewState.noteReadFailure(error, owner)
      return .null
    }
  }

  /// The value of a derived attribute with unsaved changes. Null if it cannot be evaluated, or if
  /// the store cannot be read. Records the error of a failed read.
  func value(of derived: DerivedStorage, _ reference: ObjectReference) -> Value {
    do throws(PredicateEvaluationError) {
      return try value(of: derived, source: PendingSource(self, reference))
    } catch {
      noteFailure(error, reference)
      return .null
    }
  }

  /// The value of a derived attribute in the view, without unsaved changes.
  func storedValue(of derived: DerivedStorage, _ reference: ObjectReference) -> Value {
    do {
      let view = viewState.view
      return try RowSource(reference, RowGraph(schema: view.schema, view: view)).value(of: derived)
    } catch {
      noteFailure(error, reference)
      return .null
    }
  }

  /// Records the error of a failed read, which blocks saves. An expression that cannot be evaluated
  /// is not such an error.
  private func noteFailure(_ error: any Error, _ reference: ObjectReference) {
    let evaluation = error as? PredicateEvaluationError
    if let evaluation, evaluation.code != .sourceFailed { return }
    viewState.noteReadFailure(evaluation?.cause ?? error, reference)
  }
}
