extension ManagedObjectContext {
  /// How `save()` treats conflicts with saves of other contexts. The default is
  /// `MergePolicy.error`. The policy may name only entities and properties of the model. Any other
  /// name stops the program, and so does a rule that its property cannot have.
  public var mergePolicy: MergePolicy {
    get { core.saving.mergeRules.mergePolicy }
    set {
      core.checkOwner()
      newValue.check(core.graph)
      core.saving.mergeRules.mergePolicy = newValue
    }
  }

  /// New objects that the last save merged into others, because a uniqueness constraint does not
  /// allow both. Maps the id of the merged object to the id of the one that has its values and
  /// links now.
  public var mergedObjectIDs: [ManagedObjectID: ManagedObjectID] {
    core.checkOwner()
    return Dictionary(
      uniqueKeysWithValues: core.pending.mergedObjects.keys.map {
        (core.graph.id(of: $0), core.graph.id(of: core.pending.survivor(of: $0)))
      })
  }
}
