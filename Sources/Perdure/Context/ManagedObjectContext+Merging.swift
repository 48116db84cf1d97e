// The API for merging the saves of other contexts. ForeignMerging.swift has the implementation.

internal import Dispatch

extension ManagedObjectContext {
  /// Whether the context automatically merges the saves of other contexts of the container. A child
  /// context merges all changes of its parent instead. Initially false.
  ///
  /// A context on a queue or of the main actor merges soon after the save. Every context merges at
  /// its next fetch or `processPendingChanges()`. A context that is pinned to a state merges after
  /// it is no longer pinned. Setting the property to true also merges earlier saves. If many saves
  /// wait, the context merges all of them, and `didMerge` reports only the newest.
  public var automaticallyMergesChangesFromParent: Bool {
    get { core.eventHub.inbox != nil }
    set {
      core.checkOwner()
      core.mergeAutomatically(newValue)
    }
  }

  /// Advances to the newest state, which contains the saves of other contexts of the container. If
  /// the save of the event changed an object that has unsaved changes here, the unsaved changes are
  /// applied to the new values. So a later save does not conflict with the save of the event. A
  /// context that is pinned to a state advances too, and is then pinned to the newest state.
  ///
  /// - Parameter event: An event from another context's sequence; it must be a `didSave`.
  public func mergeChanges(fromContextDidSave event: ContextEvent) {
    precondition(event.kind == .didSave, "Merge events of the kind didSave only.")
    core.checkOwner()
    core.queries.merging.merge([event])
  }

  /// Makes the next save check an object that this context has not changed. If another context has
  /// changed the object, the save throws under the policy `MergePolicy.error`. Every other policy
  /// permits the change. The request ends when a save that writes has checked it, or when the
  /// context is rolled back or reset.
  ///
  /// The check compares with the version in the context's state. Objects without a row are not
  /// checked.
  public func detectConflicts(for object: ManagedObject) {
    core.checkOwner()
    core.queries.foreignSaves.watch(object)
  }
}

/// A weak reference to the handle of a context, for blocks on the context's queue.
// Unchecked: only blocks on the context's queue read the reference. Each block retains the handle
// while it uses the context.
private final class QueuedContext: @unchecked Sendable {
  weak var handle: ManagedObjectContext?

  init(_ handle: ManagedObjectContext?) { self.handle = handle }
}

extension ContextOwnership {
  /// Returns a closure that merges waiting saves on the context's queue; nil if the context has no
  /// queue.
  func wake(_ handle: ManagedObjectContext?) -> (@Sendable () -> Void)? {
    let queue: DispatchQueue? =
      switch self {
      case .local: nil
      case .main: .main
      case .queue(let mark): mark.queue
      }
    guard let queue else { return nil }
    let place = QueuedContext(handle)
    return {
      queue.async {
        guard let handle = place.handle else { return }
        // The merge creates instances, which need the context.
        withExtendedLifetime(handle) { handle.core.queries.merging.mergeWaiting() }
      }
    }
  }
}
