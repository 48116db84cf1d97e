public import PerdureModel

extension ManagedObjectContext {
  /// The model of the context's objects: that of its container, or the part of it that the store
  /// was opened with (``PersistentStoreDescription/configuration``).
  ///
  /// Known while the context lives. Its entities know their inherited properties, and each other:
  /// `EntityDescription.propertiesByName`, `superentity`, `subentities`.
  public var managedObjectModel: ManagedObjectModel { core.graph.model }
}
