// Finds an object by a unique key, or inserts it.

internal import PerdurePredicates

extension ManagedObjectContext {
  /// Returns the object of a class's entity with a unique key; nil if there is none.
  ///
  ///     if let ann = try context.first(Worker.self, where: \.email, equals: "ann@acme.com") {
  ///       ann.salary += 100
  ///     }
  ///
  /// Finds the same object as a fetch of `email == "ann@acme.com"`, even if the object is unsaved.
  /// Costs less than the fetch, because it creates no request. Pending delete rules are applied
  /// first.
  ///
  /// - Parameters:
  ///   - type: The class. Objects of subentities are found too.
  ///   - keyPath: The attribute. It must be the only one of a uniqueness constraint.
  ///   - value: The key.
  /// - Returns: The object. Its row is loaded, unless the object has unsaved changes.
  /// - Throws: `FetchError` with the code `notUnique` if no uniqueness constraint consists of this
  ///   attribute alone; the errors of `fetch(_:)`.
  /// - Complexity: O(log n) for n objects, and O(k log n) for k objects, columns and links that
  ///   were edited since the last fetch.
  public func first<T: ManagedObject, Key: AttributeValue>(
    _ type: T.Type, where keyPath: KeyPath<T, Key>, equals value: Key
  ) throws -> T? {
    try lookUp(type, keyPath, value.predicateValue)
  }

  /// The same as the other overload, for an optional attribute.
  public func first<T: ManagedObject, Key: AttributeValue>(
    _ type: T.Type, where keyPath: KeyPath<T, Key?>, equals value: Key
  ) throws -> T? {
    try lookUp(type, keyPath, value.predicateValue)
  }
}

extension ManagedObjectContext {
  /// Returns the object of a class's entity with a unique key. If there is none, inserts one with
  /// this key.
  ///
  ///     var newCount = 0
  ///     let worker = try context.findOrInsert(
  ///       Worker.self, where: \.email, equals: "ann@acme.com"
  ///     ) { new in
  ///       new.name = "Ann"
  ///       newCount += 1
  ///     }
  ///
  /// Also finds unsaved objects of this context. The inserted object is pending: other contexts see
  /// it after a save. If another context saves an object with the same key first, the save
  /// conflicts or merges both, according to `mergePolicy`. Pending delete rules are applied first.
  ///
  /// - Parameters:
  ///   - type: The class. Objects of subentities are found too; the class's own entity is inserted.
  ///   - keyPath: The attribute. It must be the only one of a uniqueness constraint.
  ///   - value: The key. It becomes the value of the attribute of an inserted object.
  ///   - initialize: Called for an inserted object, which already has its key. It is not called if
  ///     an object was found. If it throws, the inserted object is removed with its links. Delete
  ///     rules and `prepareForDeletion` do not apply, so objects that the closure has linked to the
  ///     new object stay.
  /// - Returns: The object that was found or inserted.
  /// - Throws: `FetchError` with the code `notUnique` if no uniqueness constraint consists of this
  ///   attribute alone; the errors of `fetch(_:)`; the error of `initialize`. In each case, no
  ///   inserted object remains.
  /// - Complexity: O(log n) for n objects, and O(k log n) for k objects, columns and links that
  ///   were edited since the last fetch.
  public func findOrInsert<T: ManagedObject, Key: AttributeValue>(
    _ type: T.Type, where keyPath: ReferenceWritableKeyPath<T, Key>, equals value: Key,
    initialize: (T) throws -> Void = { _ in }
  ) throws -> T {
    if let object = try first(type, where: keyPath, equals: value) { return object }
    return try insert(type) {
      $0[keyPath: keyPath] = value
      try initialize($0)
    }
  }

  /// The same as the other overload, for an optional attribute.
  public func findOrInsert<T: ManagedObject, Key: AttributeValue>(
    _ type: T.Type, where keyPath: ReferenceWritableKeyPath<T, Key?>, equals value: Key,
    initialize: (T) throws -> Void = { _ in }
  ) throws -> T {
    if let object = try first(type, where: keyPath, equals: value) { return object }
    return try insert(type) {
      $0[keyPath: keyPath] = value
      try initialize($0)
    }
  }
}

extension ManagedObjectContext {
  private func lookUp<T: ManagedObject>(
    _ type: T.Type, _ keyPath: PartialKeyPath<T>, _ key: Value
  ) throws -> T? {
    core.checkOwner()
    guard let object = try core.queries.fetching.object(type, keyPath, key) else { return nil }
    // The class of each object of the entity was checked when the key path was resolved.
    return unsafeDowncast(object, to: T.self)
  }

  /// Inserts an object. If `initialize` throws, removes it.
  private func insert<T: ManagedObject>(
    _ type: T.Type, initialize: (T) throws -> Void
  ) throws -> T {
    let object = insert(type)
    do {
      try initialize(object)
    } catch {
      core.transientState.keepDropped()
      defer { core.transientState.releaseDropped() }
      core.editing.removal.remove([object.reference], keepsDenied: false)
      throw error
    }
    return object
  }
}
