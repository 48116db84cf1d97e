// Sums of what is at the other end of a relationship: what the store keeps, and how much the unsaved
// changes of members differ from it. The layer of unsaved changes has the difference of each owner.

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
    _ rows: RowLoader, _ links: LinkReader, _ layerFollower: LayerFollower, _ viewState: ViewState,
    _ pending: PendingChanges
  ) {
    graph = viewState.graph
    self.viewState = viewState
    self.pending = pending
    self.rows = rows
    self.links = links
    self.layerFollower = layerFollower
  }

  /// What a derived attribute of an object is, by the index of sums where there is one.
  func value(of derived: DerivedStorage, source: PendingSource) throws(PredicateEvaluationError) -> Value {
    // Without changes the rows tell.
    if derived.sums == nil, pending.isEmpty, viewState.vanished.isEmpty {
      return storedValue(of: derived, source.identity)
    }
    // Which links are let go of is known for each object, and not for a sum.
    guard let sums = derived.sums, viewState.vanished.isEmpty, pending[source.identity]?.isDeleted != true
    else {
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

  /// What a derived attribute of an object is, with unsaved changes; null where it cannot be evaluated, which the
  /// context takes note of where it lies with the store.
  func value(of derived: DerivedStorage, _ reference: ObjectReference) -> Value {
    do throws(PredicateEvaluationError) {
      return try value(of: derived, source: PendingSource(self, reference))
    } catch {
      noteFailure(error, reference)
      return .null
    }
  }

  /// What it is in the store.
  func storedValue(of derived: DerivedStorage, _ reference: ObjectReference) -> Value {
    do {
      return try RowSource(reference, RowGraph(schema: graph.store, view: viewState.view)).value(of: derived)
    } catch {
      noteFailure(error, reference)
      return .null
    }
  }

  /// A context that could not read its store does not save. That an expression has no value is no such thing.
  private func noteFailure(_ error: any Error, _ reference: ObjectReference) {
    let evaluation = error as? PredicateEvaluationError
    if let evaluation, evaluation.code != .sourceFailed { return }
    viewState.noteReadFailure(evaluation?.cause ?? error, reference)
  }
}
