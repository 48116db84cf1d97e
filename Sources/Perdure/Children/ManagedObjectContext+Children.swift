// The API of child contexts. Their implementation: ParentStore.swift.

extension ManagedObjectContext {
  /// Returns a new context that saves into this one: a draft that can be discarded.
  ///
  ///     let draft = context.newChildContext()
  ///     try draft.existingObject(with: person.objectID).setValue("Ada", forKey: "name")
  ///     try draft.save()  // pending in `context` now, and in no store
  ///     try context.save()
  ///
  /// The child sees the current state of this context, including its unsaved changes. Like every
  /// context it stays at that state, and advances when it saves, rolls back or refreshes. A save is
  /// validated and checked like a save into a store. If the changes of both contexts conflict, the
  /// child's own `mergePolicy` decides. With its default, `MergePolicy.error`, the save throws
  /// 133020 or 133021. The save is one undo group of this context, and the observers of this
  /// context receive `objectsDidChange`. If the store cannot be read during the save, the save
  /// throws, this context does not change, and the child keeps its changes. New objects keep their
  /// ids at every level.
  ///
  /// The child belongs to the isolation of this context, and retains this context. It may have
  /// children too.
  ///
  /// - Complexity: O(unsaved changes of this context).
  public func newChildContext() -> ManagedObjectContext {
    core.checkOwner()
    let source = ContextSource(
      store: ParentStore(self), graph: core.graph, durability: core.durability,
      log: core.eventHub.logSwitch)
    return ManagedObjectContext(source, ownership: core.ownership, parent: self)
  }
}
