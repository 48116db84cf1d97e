/// What a deletion would do, found out before anything is done: what delete rules take along, what lets go, what
/// stands against it.
///
///     let plan = try context.plan(delete: company)
///     if plan.isDenied { print(plan.denied) } else { print("\(plan.deletedObjectIDs.count) objects would go") }
///
/// It is about the moment in which it was made, unsaved changes included. A save may still find that another context was
/// faster, and asks what a plan does not: rules of other properties, a required relationship that lost its object
/// (`Link.isRequired`), and what classes do in `prepareForDeletion()`.
public struct DeletionPlan: Hashable, Sendable {
  /// One object that another one has at an end of a relationship.
  public struct Link: Hashable, Sendable {
    /// Whose relationship it is.
    public let owner: ManagedObjectID
    /// The relationship of the owner.
    public let property: String
    /// What is at its other end.
    public let objectID: ManagedObjectID
    /// Whether the owner must have an object there.
    public let isRequired: Bool
  }

  /// The objects that were asked for, each once, without those that are deleted or gone already.
  public internal(set) var requested: [ManagedObjectID] = []
  /// What cascades would take along, each object once: the owner goes, and with it what its relationship has.
  public internal(set) var cascaded: [Link] = []
  /// What would be let go of: the owner stays, and its relationship loses an object that goes. Of relationships
  /// without an inverse too.
  public internal(set) var nullified: [Link] = []
  /// What stands against it: a relationship of an owner that would go has the rule deny, and an object that stays.
  public internal(set) var denied: [Link] = []
  /// References that the rule no action would leave: the owner stays, and goes on leading to an object that is not
  /// there any more.
  public internal(set) var leftBehind: [Link] = []

  /// Whether a save would refuse the deletion because of a rule.
  public var isDenied: Bool { !denied.isEmpty }

  /// The objects that would be deleted: those asked for, and those that cascades take along.
  public var deletedObjectIDs: [ManagedObjectID] { requested + cascaded.map(\.objectID) }
}

extension DeletionPlan: CustomStringConvertible {
  /// How many objects each part has, in one line.
  public var description: String {
    "deletes \(requested.count) and \(cascaded.count) by cascades, nullifies \(nullified.count), "
      + "leaves \(leftBehind.count) behind, denied by \(denied.count)"
  }
}

extension DeletionPlan.Link: CustomStringConvertible {
  /// The owner, its relationship, and what it has.
  public var description: String { "\(owner.uri).\(property): \(objectID.uri)" }
}

extension ManagedObjectContext {
  /// What deleting objects would do, without doing it: nothing is changed and no instance is made. Deletions that are
  /// pending have their delete rules applied first, as by `processPendingChanges()`.
  ///
  /// - Parameter objects: Objects of this context.
  /// - Throws: `PerdureError` 134060 when the store could not be read.
  /// - Complexity: O(k log n) for k objects that would go or are linked with them. Reads at most one row for each object
  ///   that would go (`ContextStatistics.uninstantiatedRowCount`).
  public func plan<T: ManagedObject>(
    delete objects: some Sequence<T>
  ) throws(PerdureError) -> DeletionPlan { try core.plan(delete: Array(objects)) }

  /// What deleting one object would do; see `plan(delete:)` of several.
  public func plan(delete object: ManagedObject) throws(PerdureError) -> DeletionPlan {
    try core.plan(delete: [object])
  }
}
