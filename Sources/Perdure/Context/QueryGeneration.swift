// Contexts that are pinned to one state of the store.

internal import PerdurePredicates

/// A state of a store to which contexts can be set. It may be sent to any isolation. While it is
/// retained, the store keeps the data of the state.
public struct QueryGenerationToken: Sendable {
  enum State: Sendable {
    case current
    case view(any StoreView, of: any PersistentStore)
  }

  let state: State

  /// The state that is newest when a context is set to it.
  public static let current = QueryGenerationToken(state: .current)
}

extension QueryGenerationToken: Hashable {
  /// Whether both are the same state of the same store.
  public static func == (left: QueryGenerationToken, right: QueryGenerationToken) -> Bool {
    switch (left.state, right.state) {
    case (.current, .current): true
    case (.view(let left, of: let store), .view(let right, of: let other)):
      store === other && left.sequence == right.sequence
    default: false
    }
  }

  /// Hashes the number of the state.
  public func hash(into hasher: inout Hasher) {
    if case .view(let view, _) = state { hasher.combine(view.sequence) }
  }
}

extension ManagedObjectContext {
  /// The state to which the context is pinned; nil if it is not pinned. Another context that is set
  /// to this state sees the same data.
  public var queryGenerationToken: QueryGenerationToken? {
    core.viewState.isPinned ? QueryGenerationToken(state: .view(core.viewState.view, of: core.store)) : nil
  }

  /// Pins the context to a state of the store. A refresh, a rollback and the beginning of a
  /// `perform` then do not advance the context, and saves of other contexts are not merged
  /// automatically. A save, a reset, `mergeChanges(fromContextDidSave:)` and this method change the
  /// state, and the context is then pinned to the new state.
  ///
  ///     try context.setQueryGeneration(from: .current)
  ///     // … reads that belong together, however long they take
  ///     try context.setQueryGeneration(from: .current)  // advances to the newest state
  ///     try context.setQueryGeneration(from: nil)
  ///
  /// - Parameter token: A state; `.current` for the newest; nil to unpin the context without
  ///   advancing. Without unsaved changes, the context can return to an older state. Objects that
  ///   are absent in that state become invalid at their next access, and must then be fetched
  ///   again.
  /// - Throws: `PerdureError` 134070 if the state belongs to another store, or if it is older and
  ///   the context has unsaved changes. The context is then unchanged.
  public func setQueryGeneration(from token: QueryGenerationToken?) throws(PerdureError) {
    core.checkOwner()
    try core.editing.advancing.pin(to: token)
    if token == nil { core.eventHub.inbox?.wakeForWaiting() }
  }
}
