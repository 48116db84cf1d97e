extension ManagedObject {
  /// The objects of a fetched property, in the order of its request.
  ///
  /// A property that is not cached is fetched for each read, so it contains unsaved changes. A
  /// cached property keeps its result until the object is refreshed, its instance is freed, or its
  /// context is rolled back or reset. Objects that were deleted after the fetch are omitted. A new
  /// object has results too; an object that is no longer in its context has none.
  ///
  /// If the fetch fails, the result is empty. The next fetch or save of the context throws
  /// `PerdureError.Code.readFailed` with the error as its cause. So do later fetches and saves,
  /// until the context is rolled back or reset.
  ///
  /// - Parameters:
  ///   - key: The name of a fetched property. Any other name stops the program.
  ///   - type: The class of the objects.
  /// - Complexity: The same as for a fetch. O(n) for a cached result of n objects.
  public func fetchedObjects<T: ManagedObject>(
    forKey key: String, as type: T.Type = ManagedObject.self
  ) -> [T] {
    core.checkOwner()
    let objects = core.queries.fetchedProperties.objects(key, of: self) { ClassedRequest($0, of: T.self) }
    // `ClassedRequest.check` ensures that each object is of the class. In generic code, a checked
    // conversion copies the array.
    return unsafeBitCast(objects, to: [T].self)
  }

  /// The objects of a fetched property. For generated code.
  public func _fetched<T: ManagedObject>(_ key: String) -> [T] { fetchedObjects(forKey: key, as: T.self) }

  /// The objects of a fetched property; nil if the entity has no fetched property with the name.
  func fetchedValue(_ key: String) -> [ManagedObject]? {
    shape.hasFetchedProperty(key) ? fetchedObjects(forKey: key) : nil
  }
}
