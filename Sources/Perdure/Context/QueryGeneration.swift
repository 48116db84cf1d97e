// Contexts that stay at one state of the store until they are told to move on.

internal import PerdurePredicates

/// A state of a store that contexts can be set to. It may be sent to any isolation; while it is
/// retained, the store keeps the data of the state.
public struct QueryGenerationToken: Sendable {
  enum State: Sendable {
    case current
    case view(any StoreView, of: any PersistentStore)
  }

  let state: State

  /// The newest state there is when a context is set to it.
  public static let current = QueryGenerationToken(state: .current)
}

extension QueryGenerationToken: Hashable {
  /// Whether both mean the same state of the same store.
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
  /// The state that the context is pinned to; nil when it is not. Another context that is set to it
  /// sees the same state.
  public var queryGenerationToken: QueryGenerationToken? {
    core.isPinned ? QueryGenerationToken(state: .view(core.view, of: core.store)) : nil
  }

  /// Pins the context to a state of the store: neither a refresh nor a rollback nor the beginning
  /// of a `perform` advances it, and the saves of others are not merged automatically. A save, a
  /// reset, `mergeChanges(fromContextDidSave:)` and this method do, and it stays at that state
  /// then.
  ///
  ///     try context.setQueryGeneration(from: .current)
  ///     // … reads that belong together, however long they take
  ///     try context.setQueryGeneration(from: .current)  // by hand, to what others have saved since
  ///     try context.setQueryGeneration(from: nil)
  ///
  /// - Parameter token: A state; `.current` for the newest; nil to unpin the context without
  ///   advancing. The context can return to an older state than its own while it has no changes.
  ///   Objects that were absent in that state and are touched meanwhile stay invalid, and must be
  ///   fetched again.
  /// - Throws: `PerdureError` 134070, and nothing has changed: the state belongs to another store,
  ///   or is older while there are unsaved changes.
  public func setQueryGeneration(from token: QueryGenerationToken?) throws(PerdureError) {
    try core.setQueryGeneration(token)
  }
}

extension ContextCore {
  func setQueryGeneration(_ token: QueryGenerationToken?) throws(PerdureError) {
    keepDropped()
    defer { releaseDropped() }
    checkOwner()
    switch token?.state {
    case nil:
      isPinned = false
      inbox?.wakeForWaiting()
    case .current:
      refreshStore()
      move(to: store.view())
      isPinned = true
    case .view(let other, of: let origin):
      guard origin === store else {
        throw PerdureError(
          .storeOperation, "The state belongs to another store. Use a state of this context's store.")
      }
      guard other.sequence >= view.sequence || tracker.isEmpty else {
        throw PerdureError(
          .storeOperation,
          "The context has unsaved changes, and an older state may lack their objects. Save them or roll back."
        )
      }
      move(to: other)
      isPinned = true
    }
  }

  /// What the context moves on to when it is not told where to.
  func nextView() -> any StoreView {
    if isPinned { return view }
    refreshStore()
    return store.view()
  }
}
