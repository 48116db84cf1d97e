public import PerdureModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

// Programs retain the handle of a context. ContextCore has the implementation. The handle and the
// objects retain the ContextCore. Therefore the deinitializer of the handle runs before that of the
// last object, and can release unsaved changes that retain each other.

/// Returns objects, tracks their changes, and saves all changes at once.
///
/// A context sees one consistent state of the store, overlaid with its own changes. These
/// operations advance the state: a save, a rollback, a reset, a refresh, a merge, setting a query
/// generation, and the start of each `perform`. Between these operations, saves of other contexts
/// are not visible.
///
/// A context is not `Sendable` and stays in one isolation with its objects. It can be local to a
/// function, a property of an actor, inside `BackgroundContext.perform`, or the main actor's
/// `PersistentContainer.viewContext`.
///
///     let context = container.newContext()
///     let person = Person(context: context)
///     person.name = "Ada"
///     try context.save()
///
/// A retained object can be read after its context is released, and its relationships can be
/// followed. The unsaved changes of a released context are lost.
public final class ManagedObjectContext {
  let core: ContextCore
  /// The context into which this one saves; nil if it saves into the container's store.
  public let parent: ManagedObjectContext?

  init(_ source: ContextSource, ownership: ContextOwnership, parent: ManagedObjectContext? = nil) {
    core = ContextCore(source, ownership: ownership)
    self.parent = parent
    core.eventHub.handle = self
  }

  deinit {
    core.abandon()
  }
}

@available(*, unavailable)
extension ManagedObjectContext: Sendable {}

// MARK: - Changed objects

extension ManagedObjectContext {
  /// Whether the context has unsaved changes, or a refused change that the next save reports. The
  /// latter includes the deletion of a new object that the delete rule deny refuses.
  public var hasChanges: Bool { core.pending.hasChanges }

  /// The objects for which the next save creates rows.
  public var insertedObjects: Set<ManagedObject> { changedObjects(.inserted) }

  /// The saved objects with unsaved changes to properties, including relationships. They include
  /// objects that a delete rule changed and that the program never requested. This property creates
  /// their instances, as faults.
  public var updatedObjects: Set<ManagedObject> { changedObjects(.updated) }

  /// The objects that the next save removes. After `processPendingChanges()`, they include the
  /// objects that delete rules delete.
  public var deletedObjects: Set<ManagedObject> { changedObjects(.deleted) }

  private func changedObjects(_ state: ObjectState) -> Set<ManagedObject> {
    core.checkOwner()
    return core.pending.objects(in: state)
  }

  /// The instances in use: retained ones, and those with unsaved changes.
  public var registeredObjects: Set<ManagedObject> { Set(core.registry.identityMap.objects) }

  /// The context's requests to the store so far.
  public var statistics: ContextStatistics { core.viewState.statistics }
}

// MARK: - Objects

extension ManagedObjectContext {
  /// Inserts a new object of a class's entity, like `T(context:)`. Stops the program if the entity
  /// is abstract, or if the model has no entity for the class.
  @discardableResult
  public func insert<T: ManagedObject>(_ type: T.Type) -> T {
    core.checkOwner()
    return core.editing.insertion.insert(type)
  }

  /// Inserts a new object of the entity called `entityName`. Its class is the container's class for
  /// the entity.
  ///
  /// The entity must be in the model and not abstract. Any other name stops the program.
  @discardableResult
  public func insertNewObject(
    forEntityName entityName: String, file: StaticString = #fileID, line: UInt = #line
  ) -> ManagedObject {
    core.checkOwner()
    return core.editing.insertion.insertNewObject(forEntityName: entityName, file, line)
  }

  /// Marks an object for deletion. The next save removes its row.
  ///
  /// The object can be read until that save. Deleting an object that is already deleted or absent
  /// changes nothing. The next `processPendingChanges()`, fetch or save applies the delete rules.
  /// Until then, the other ends still refer to the object.
  public func delete(_ object: ManagedObject) {
    core.checkOwner()
    guard let context = object.contextForChange() else { return }
    if context !== core { stopAsForeign(object) }
    core.editing.removal.delete(object)
  }

  /// Stops a program that passes an object of another context.
  @inline(never)
  func stopAsForeign(_ object: ManagedObject) -> Never {
    stop(
      "\(object.objectID) belongs to another context. Use the instance of this context: "
        + "context.object(with: objectID).")
  }

  /// Applies the delete rules of all objects that are marked for deletion, so that the other ends
  /// and `deletedObjects` show the result. Fetches and saves do this too. A context that merges
  /// automatically first merges waiting saves. The current event also ends: observers are called,
  /// and the undo group of the event is complete.
  public func processPendingChanges() {
    core.checkOwner()
    core.queries.merging.mergeWaiting()
    core.editing.deleteRules.propagateDeletes()
    core.operations.eventEnd.endEvent()
  }

  /// Returns the object with an id, as a fault unless it is registered. Reads nothing, unless a
  /// context that merges automatically first merges waiting saves. The object's existence is
  /// checked at its first access. An absent object then reads as having no values, and counts as
  /// deleted.
  ///
  /// The id must belong to a store of this context: any other id stops the program. For ids from
  /// outside the program, use `existingObject(with:)`, which throws, or `managedObjectID(forURI:)`,
  /// which returns nil.
  public func object(with id: ManagedObjectID) -> ManagedObject {
    core.checkOwner()
    return core.queries.lookup.object(with: id)
  }

  /// Returns the object with an id, after a check that it exists. If a context that merges
  /// automatically does not see the object, it first merges waiting saves.
  ///
  /// An object that is marked for deletion exists until the save.
  ///
  /// - Returns: The object, with its row loaded.
  /// - Throws: `PerdureError`: 133000 (`objectNotFound`) if there is no such object, 133010 for an
  ///   id of another store or of an entity that the store does not have, 134060 if the store could
  ///   not be read.
  public func existingObject(with id: ManagedObjectID) throws(PerdureError) -> ManagedObject {
    core.checkOwner()
    return try core.queries.lookup.existingObject(with: id)
  }

  /// Returns the object of a class with an id; nil if it does not exist.
  ///
  /// - Returns: As `existingObject(with:)`; nil also for an object of another class.
  /// - Throws: `PerdureError`: 133010 for an id of another store or of an entity that the store
  ///   does not have, 134060 if the store could not be read.
  public func existingObject<T: ManagedObject>(
    _ type: T.Type, with id: ManagedObjectID
  ) throws(PerdureError) -> T? {
    core.checkOwner()
    return try core.queries.lookup.objectIfExists(with: id) as? T
  }

  /// Returns the instance with an id; nil if this context has none. Reads nothing.
  public func registeredObject(for id: ManagedObjectID) -> ManagedObject? {
    core.checkOwner()
    return core.queries.lookup.registeredObject(for: id)
  }
}

extension ManagedObjectContext {
  /// Returns the id with a URI; nil if it belongs to another store, or to an entity that the model
  /// does not have. `existingObject(with:)` also checks whether the object exists.
  public func managedObjectID(forURI uri: String) -> ManagedObjectID? {
    core.graph.managedObjectID(ManagedObjectID(uri: uri))
  }

  /// The id with a URI; as `managedObjectID(forURI:)`.
  public func managedObjectID(forURIRepresentation url: URL) -> ManagedObjectID? {
    core.graph.managedObjectID(ManagedObjectID(uriRepresentation: url))
  }
}

extension EntityDescription {
  /// Inserts a new object of the entity called `entityName` into a context.
  ///
  /// The entity must be in the model and not abstract. Any other name stops the program.
  public static func insertNewObject(
    forEntityName entityName: String, into context: ManagedObjectContext
  ) -> ManagedObject {
    context.insertNewObject(forEntityName: entityName)
  }
}

// MARK: - Saving and advancing

extension ManagedObjectContext {
  /// Saves all changes as one commit: all of them or none. A child context saves into its parent.
  /// With several stores there is one commit for each, after checks in all of them.
  ///
  /// The save reports refused changes: changes of objects that the context no longer has, links to
  /// such objects, and values set by name that a property cannot hold. It throws before it writes
  /// anything. The error is thrown once: the next save writes all other changes.
  ///
  /// A save is not cancelled with its task.
  ///
  /// After the save, the changes have the durability of the container's store description. Other
  /// contexts see them when they advance. The context also advances, and sees earlier saves of
  /// other contexts.
  ///
  /// If other contexts have saved changes to the same objects meanwhile, `mergePolicy` decides.
  /// Then hooks and validation run again, on the merged values.
  ///
  /// - Throws: `PerdureError`. Refused changes: 133000 for removed objects, 1550 for values, 1560
  ///   for both, with `details` of at most 100 changes. Validation: 1550 to 1690 with `details`, or
  ///   133010 for a link to an object of another store. Hooks that change objects again and again:
  ///   139000. Conflicts with other saves: 133020 or 133021 with `conflicts`. A store that cannot
  ///   write (its error is the `cause`), is read-only, or had no ids for new objects: 134030. A
  ///   failed read, or a closed container: 134060. In each case nothing is saved, and all changes
  ///   except refused ones are still pending; remove the cause and save again, or roll back. If
  ///   `isOutcomeUnknown` is true, only reopening the store shows whether the changes were saved.
  ///   If only some of several stores have saved, the error is 134040, and the changes for the
  ///   other stores are pending.
  /// - Complexity: O(k log n) for k changes in a store of n objects.
  public func save() throws(PerdureError) { try loggedSave() }

  /// Checks all unsaved changes as a save does, but saves nothing. It may be called any number of
  /// times. A call by a validation method stops the program.
  ///
  /// It applies the delete rules first, as `processPendingChanges()` does. Then it calls the
  /// validation methods of the classes, such as `validateForInsert()`, and checks the rules of the
  /// model. It does not call `willSave()`. The context does not advance. So a later save may still
  /// conflict with saves of other contexts, and objects that other contexts have removed are not
  /// detected.
  ///
  /// - Throws: `PerdureError` 1550 to 1690 or 133010 with all `details`, as `save()` does; 134060
  ///   if a row could not be read. All changes stay pending.
  /// - Complexity: O(k) for k changed objects, and a read for each that has rules on attributes
  ///   that did not change.
  public func validate() throws(PerdureError) {
    core.checkOwner()
    try core.saving.classValidation.validateChanges()
  }

  /// Discards all unsaved changes and advances to the newest state of the store, including the
  /// commits of another process.
  ///
  /// Inserted objects are removed; other objects get the store's values.
  public func rollback() {
    core.checkOwner()
    core.operations.discard.rollback()
  }

  /// Advances to the newest state of the store and updates one object.
  ///
  /// - Parameters:
  ///   - object: An object of this context.
  ///   - mergeChanges: Whether the object keeps its unsaved changes, applied to the newest row.
  ///     Then the save does not conflict with earlier saves of other contexts. If false, the
  ///     changes are lost, the stored links that they had replaced are restored, and the object
  ///     becomes a fault.
  public func refresh(_ object: ManagedObject, mergeChanges: Bool) {
    core.checkOwner()
    core.queries.refresh.refresh(object, mergeChanges: mergeChanges)
  }

  /// Advances to the newest state of the store. Unsaved changes stay, applied to the newest rows;
  /// all other objects become faults. The error of an earlier failed read is not cleared, because
  /// unsaved changes may depend on the missing data. Fetches and saves throw this error until a
  /// rollback or a reset.
  public func refreshAllObjects() {
    core.checkOwner()
    core.queries.refresh.refreshAllObjects()
  }

  /// Discards all unsaved changes, instances and undo groups, and advances to the newest state of
  /// the store. Instances that the program still retains belong to no context.
  public func reset() {
    core.checkOwner()
    core.operations.discard.reset()
  }
}
