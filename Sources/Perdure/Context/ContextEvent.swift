// What contexts tell: to who lives in their isolation, with objects, and to everybody else, with ids and values.

public import PerdurePredicates

/// The kinds of events in a context.
public enum ContextEventKind: Hashable, Sendable {
  /// A save has begun. Delete rules have been applied, and no hook has been called yet.
  case willSave
  /// A save has succeeded. The store, or the parent of a child context, has the reported changes.
  case didSave
  /// An event with changes has ended, by `processPendingChanges()`, a save or a `perform`.
  ///
  /// The context also posts it after a refresh, a rollback, a reset, or a save that merged and then
  /// failed. A merge posts it before `didMerge`: it reports the instances that other contexts have
  /// changed as refreshed, and the removed ones as deleted.
  case objectsDidChange
  /// The context has merged saves of other contexts.
  case didMerge
}

/// An event in a context, as a value: ids and values, no objects.
public struct ContextEvent: Sendable {
  /// The kind of event.
  public let kind: ContextEventKind
  /// The objects that are new: to be saved, saved, or made in the event.
  public internal(set) var insertedObjectIDs: Set<ManagedObjectID> = []
  /// The objects that were changed, those included that a delete rule has changed.
  public internal(set) var updatedObjectIDs: Set<ManagedObjectID> = []
  /// The objects that were deleted, those included that a delete rule has taken along.
  public internal(set) var deletedObjectIDs: Set<ManagedObjectID> = []
  /// The objects that were given other values as a whole.
  public internal(set) var refreshedObjectIDs: Set<ManagedObjectID> = []
  /// Whether the context was reset: none of its objects belongs to it any more.
  public internal(set) var invalidatesAllObjects = false
  /// What inserted and updated objects have in the columns that were set: attributes by their
  /// names, and to-one relationships as ids. Null where they have no value.
  public internal(set) var values: [ManagedObjectID: [String: Value]] = [:]

  /// The sequence number of the commit that a `didSave` reports; nil if it is not known exactly.
  var commitSequence: UInt64?

  init(_ kind: ContextEventKind) { self.kind = kind }

  /// Whether no object is concerned.
  var isEmpty: Bool {
    insertedObjectIDs.isEmpty && updatedObjectIDs.isEmpty && deletedObjectIDs.isEmpty
      && refreshedObjectIDs.isEmpty && !invalidatesAllObjects
  }
}

/// An event in a context, with the objects: for observers in the context's isolation.
public struct ContextNotification {
  /// The kind of event.
  public let kind: ContextEventKind
  /// The context.
  public let context: ManagedObjectContext
  /// As in `ContextEvent`.
  public internal(set) var insertedObjects: Set<ManagedObject> = []
  /// As in `ContextEvent`.
  public internal(set) var updatedObjects: Set<ManagedObject> = []
  /// As in `ContextEvent`. Those that a save has deleted can be read still, and belong to no
  /// context.
  public internal(set) var deletedObjects: Set<ManagedObject> = []
  /// As in `ContextEvent`.
  public internal(set) var refreshedObjects: Set<ManagedObject> = []
  /// Whether the context was reset: none of its objects belongs to it any more.
  public internal(set) var invalidatesAllObjects = false

  init(_ kind: ContextEventKind, _ context: ManagedObjectContext) {
    self.kind = kind
    self.context = context
  }
}

@available(*, unavailable)
extension ContextNotification: Sendable {}

/// Keeps an observer of a context, until it is cancelled or freed.
public final class ContextObservation {
  private weak var observers: ContextObservers?
  private let number: Int

  init(_ observers: ContextObservers, _ number: Int) {
    self.observers = observers
    self.number = number
  }

  deinit { cancel() }

  /// Ends the observation.
  public func cancel() { observers?.remove(number) }
}

@available(*, unavailable)
extension ContextObservation: Sendable {}

/// The observers of a context. A new view context shares them with the previous one.
final class ContextObservers {
  private var closures: [Int: (ContextNotification) -> Void] = [:]
  private var lastNumber = 0

  var isEmpty: Bool { closures.isEmpty }

  func add(_ observer: @escaping (ContextNotification) -> Void) -> Int {
    lastNumber += 1
    closures[lastNumber] = observer
    return lastNumber
  }

  func remove(_ number: Int) {
    // Frees the closure after the access ends: it may own the observation of another closure.
    let removed = closures.removeValue(forKey: number)
    withExtendedLifetime(removed) {}
  }

  /// Calls the observers in the order of their registration, except those that another observer
  /// removes meanwhile.
  func tell(_ notification: ContextNotification) {
    for number in closures.keys.sorted() { closures[number]?(notification) }
  }
}

extension ManagedObjectContext {
  /// Calls a closure when something happens in the context, at once and in the context's isolation.
  ///
  ///     let observation = context.observe { notification in
  ///       if notification.kind == .didSave { print(notification.insertedObjects.count) }
  ///     }
  ///
  /// Its changes belong to the save that has begun, or are pending after the finished one. It must
  /// not save. A context without observers has no extra cost.
  ///
  /// - Returns: What keeps the observer. It ends with that.
  public func observe(_ observer: @escaping (ContextNotification) -> Void) -> ContextObservation {
    core.observe(observer)
  }

  /// The later events of the context, as values for any isolation. The sequence ends with the
  /// context, or with the task that iterates.
  ///
  /// - Parameter bufferCount: How many events are kept for a slow subscriber; beyond that the
  ///   oldest are lost.
  public func events(bufferingNewest bufferCount: Int = 256) -> AsyncStream<ContextEvent> {
    core.streams.make(bufferCount)
  }
}

extension BackgroundContext {
  /// As `ManagedObjectContext.events(bufferingNewest:)`. May be called from anywhere.
  public func events(bufferingNewest bufferCount: Int = 256) -> AsyncStream<ContextEvent> {
    streams.make(bufferCount)
  }
}

extension PersistentContainer {
  /// The later saves of all contexts of the container. The saves of one context are in order; those
  /// of several contexts arrive after their commits and hooks. The store must have been loaded.
  /// Contexts made before stores were added or removed are reported to sequences of that time.
  ///
  /// - Parameters:
  ///   - bufferCount: How many saves are kept for a slow subscriber; beyond that the oldest are lost.
  ///   - file: The caller's file, for the message of a stop.
  ///   - line: The caller's line.
  public func saves(
    bufferingNewest bufferCount: Int = 256, file: StaticString = #fileID, line: UInt = #line
  ) -> AsyncStream<ContextEvent> {
    loadedSource(file: file, line: line).saves.streams.make(bufferCount)
  }
}
