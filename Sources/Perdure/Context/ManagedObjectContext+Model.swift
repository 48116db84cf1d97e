public import PerdureModel

extension ManagedObjectContext {
  /// The model of the context's objects: the model of its container, or the configuration that the
  /// store was opened with (``PersistentStoreDescription/configuration``).
  ///
  /// The entities of the model have their inherited properties and their relatives:
  /// `EntityDescription.propertiesByName`, `superentity`, `subentities`.
  ///
  /// - Complexity: O(1).
  public var managedObjectModel: ManagedObjectModel { core.graph.model }
}
