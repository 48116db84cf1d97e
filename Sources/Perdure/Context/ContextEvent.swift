// The events of contexts. Observers in the isolation of the context get objects. Other subscribers
// get ids and values.

public import PerdurePredicates

/// The kinds of events in a context.
public enum ContextEventKind: Hashable, Sendable {
  /// A save has begun. Delete rules have been applied, and no `willSave` method has been called
  /// yet.
  case willSave
  /// A save has succeeded. The store, or the parent of a child context, has the reported changes.
  case didSave
  /// An event with changes has ended. These operations end an event: `processPendingChanges()`, a
  /// save, a save of a child context, a `perform`, the end of an `undoGroup`, an undo and a redo.
  /// In hooks and observers, the end of an `undoGroup` and a save of a child do not end the event.
  ///
  /// The context also posts this event after a refresh, a rollback and a reset, and after it has
  /// reverted the edits of a failed save, undo or redo. A merge posts this event before `didMerge`.
  /// The event then reports the instances that other contexts have changed as refreshed, and the
  /// removed ones as deleted.
  case objectsDidChange
  /// The context has merged saves of other contexts.
  case didMerge
}

/// An event in a context, as a value. It contains ids and values, but no objects.
public struct ContextEvent: Sendable {
  /// The kind of event.
  public let kind: ContextEventKind
  /// The new objects: objects to save, saved objects, or objects inserted in the event.
  public internal(set) var insertedObjectIDs: Set<ManagedObjectID> = []
  /// The changed objects, including those that a delete rule changed.
  public internal(set) var updatedObjectIDs: Set<ManagedObjectID> = []
  /// The deleted objects, including those that a delete rule deleted.
  public internal(set) var deletedObjectIDs: Set<ManagedObjectID> = []
  /// The objects whose values were replaced as a whole.
  public internal(set) var refreshedObjectIDs: Set<ManagedObjectID> = []
  /// Whether the context was reset. Its objects then no longer belong to it.
  public internal(set) var invalidatesAllObjects = false
  /// The values of the columns that were set, for inserted and updated objects: attributes by their
  /// names, and to-one relationships as ids. Null means no value.
  public internal(set) var values: [ManagedObjectID: [String: Value]] = [:]

  /// The sequence number of the commit that a `didSave` reports; nil if it is not known exactly.
  var commitSequence: UInt64?

  init(_ kind: ContextEventKind) { self.kind = kind }

  /// Whether the event concerns no object.
  var isEmpty: Bool {
    insertedObjectIDs.isEmpty && updatedObjectIDs.isEmpty && deletedObjectIDs.isEmpty
      && refreshedObjectIDs.isEmpty && !invalidatesAllObjects
  }
}

/// An event in a context, with its objects, for observers in the context's isolation.
public struct ContextNotification {
  /// The kind of event.
  public let kind: ContextEventKind
  /// The context.
  public let context: ManagedObjectContext
  /// As in `ContextEvent`.
  public internal(set) var insertedObjects: Set<ManagedObject> = []
  /// As in `ContextEvent`.
  public internal(set) var updatedObjects: Set<ManagedObject> = []
  /// As in `ContextEvent`. Objects that a save has deleted can still be read, and belong to no
  /// context.
  public internal(set) var deletedObjects: Set<ManagedObject> = []
  /// As in `ContextEvent`.
  public internal(set) var refreshedObjects: Set<ManagedObject> = []
  /// Whether the context was reset. Its objects then no longer belong to it.
  public internal(set) var invalidatesAllObjects = false

  init(_ kind: ContextEventKind, _ context: ManagedObjectContext) {
    self.kind = kind
    self.context = context
  }
}

@available(*, unavailable)
extension ContextNotification: Sendable {}

extension ManagedObjectContext {
  /// Calls a closure for each event of the context, immediately and in the context's isolation.
  ///
  ///     let observation = context.observe { notification in
  ///       if notification.kind == .didSave { print(notification.insertedObjects.count) }
  ///     }
  ///
  /// A save also saves the changes that the closure makes before the commit. Changes that the
  /// closure makes during `didSave` are pending. The closure must not save. A context without
  /// observers has no additional cost.
  ///
  /// - Returns: The observation. It ends when this value is freed.
  public func observe(_ observer: @escaping (ContextNotification) -> Void) -> ContextObservation {
    core.checkOwner()
    return core.eventHub.observe(observer)
  }

  /// The later events of the context, as values for any isolation. The sequence ends with the
  /// context, or with the task that iterates.
  ///
  /// - Parameter bufferCount: The maximum number of events that wait for a slow subscriber. Above
  ///   it, the oldest are dropped.
  public func events(bufferingNewest bufferCount: Int = 256) -> AsyncStream<ContextEvent> {
    core.eventHub.streams.make(bufferCount)
  }
}

extension BackgroundContext {
  /// As `ManagedObjectContext.events(bufferingNewest:)`. May be called from anywhere.
  public func events(bufferingNewest bufferCount: Int = 256) -> AsyncStream<ContextEvent> {
    streams.make(bufferCount)
  }
}

extension PersistentContainer {
  /// The later saves of the container's contexts into its stores. The save of a child context into
  /// its parent is not reported. The saves of one context arrive in order. Each save arrives after
  /// its commit and its hooks. The store must have been loaded. Adding or removing a store
  /// separates contexts and sequences into earlier and later ones. Earlier sequences report only
  /// the saves of earlier contexts, and later sequences only those of later contexts.
  ///
  /// - Parameters:
  ///   - bufferCount: The maximum number of saves that wait for a slow subscriber. Above it, the
  ///     oldest are dropped.
  ///   - file: The caller's file, for the message of a stop.
  ///   - line: The caller's line.
  public func saves(
    bufferingNewest bufferCount: Int = 256, file: StaticString = #fileID, line: UInt = #line
  ) -> AsyncStream<ContextEvent> {
    loadedSource(file: file, line: line).saves.streams.make(bufferCount)
  }
}
