/// The effects of a deletion, determined before anything changes: objects that delete rules delete
/// too, references that are removed, and rules that deny the deletion.
///
///     let plan = try context.plan(delete: company)
///     if plan.isDenied {
///       print(plan.denied)
///     } else {
///       print("\(plan.deletedObjectIDs.count) objects")
///     }
///
/// The plan describes the state at the time of the call, including unsaved changes. A save may
/// still conflict with another context. A plan does not include the effects of the classes'
/// `prepareForDeletion()`. It does not check rules that a save checks: those of other properties,
/// and that a required relationship still has an object (`Link.isRequired`).
public struct DeletionPlan: Hashable, Sendable {
  /// A link from an owner to an object by a relationship.
  public struct Link: Hashable, Sendable {
    /// The owner of the relationship.
    public let owner: ManagedObjectID
    /// The relationship of the owner.
    public let property: String
    /// The target of the relationship.
    public let objectID: ManagedObjectID
    /// Whether the relationship requires an object.
    public let isRequired: Bool
  }

  /// The requested objects, each once, without those that are already deleted or absent.
  public internal(set) var requested: [ManagedObjectID] = []
  /// The links by which cascades delete further objects. Each object is listed once; its link's
  /// owner is deleted too.
  public internal(set) var cascaded: [Link] = []
  /// The links to remove: the owner stays, and its relationship loses a deleted object.
  /// Relationships without an inverse are included.
  public internal(set) var nullified: [Link] = []
  /// The links that deny the deletion: the owner is one of the objects to delete, its relationship
  /// has the rule deny, and the object stays.
  public internal(set) var denied: [Link] = []
  /// The links that the rule no action leaves: the owner stays, and still refers to a deleted
  /// object.
  public internal(set) var leftBehind: [Link] = []

  /// Whether a save refuses the deletion because of the delete rule deny.
  public var isDenied: Bool { !denied.isEmpty }

  /// The objects to delete: the requested objects and those that cascades delete.
  public var deletedObjectIDs: [ManagedObjectID] { requested + cascaded.map(\.objectID) }
}

extension DeletionPlan: CustomStringConvertible {
  /// The number of objects of each part, in one line.
  public var description: String {
    "deletes \(requested.count) and \(cascaded.count) by cascades, nullifies \(nullified.count), "
      + "leaves \(leftBehind.count) behind, denied by \(denied.count)"
  }
}

extension DeletionPlan.Link: CustomStringConvertible {
  /// The owner, its relationship and the object.
  public var description: String { "\(owner.uri).\(property): \(objectID.uri)" }
}

extension ManagedObjectContext {
  /// Determines the effects of deleting objects. Deletes nothing, and creates no instance. The
  /// delete rules of pending deletions are applied first, as by `processPendingChanges()`.
  ///
  /// - Parameter objects: Objects of this context. An object of another context stops the program.
  /// - Throws: `PerdureError` 134060 if the store could not be read.
  /// - Complexity: O(k log n) for k objects to delete or linked with these. Reads at most one row
  ///   for each deleted object (`ContextStatistics.uninstantiatedRowCount`).
  public func plan<T: ManagedObject>(
    delete objects: some Sequence<T>
  ) throws(PerdureError) -> DeletionPlan { try planned(objects) }

  /// The effects of deleting one object; see `plan(delete:)` for several.
  public func plan(delete object: ManagedObject) throws(PerdureError) -> DeletionPlan {
    try planned(CollectionOfOne(object))
  }

  private func planned(_ objects: some Sequence<some ManagedObject>) throws(PerdureError) -> DeletionPlan {
    core.checkOwner()
    core.editing.deleteRules.propagateDeletes()
    try core.viewState.throwReadFailure()
    var planner = DeletionPlanner(core.reading)
    for object in objects {
      if object.core !== core { stopAsForeign(object) }
      if object.context === core, core.reading.rows.hasRow(object) == true {
        planner.request(object.reference)
      }
    }
    let plan = planner.run()
    try core.viewState.throwReadFailure()
    return plan
  }
}
