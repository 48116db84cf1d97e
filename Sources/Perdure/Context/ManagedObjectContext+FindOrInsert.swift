// Finding an object by a unique key, or inserting it.

internal import PerdurePredicates

extension ManagedObjectContext {
  /// Returns the object of a class's entity with a unique key. If there is none, inserts one with
  /// this key.
  ///
  ///     var newCount = 0
  ///     let worker = try context.findOrInsert(Worker.self, where: \.email, equals: "ann@acme.com") { new in
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
  ///   - initialize: Called with an inserted object, which has its key, and not with an object that
  ///     was found. If it throws, the inserted object is removed with its links. No delete rule and no
  ///     `prepareForDeletion` applies, so objects that the closure has linked to it stay.
  /// - Returns: The object that was found or inserted.
  /// - Throws: `FetchError` with the code `notUnique` for another attribute; as `fetch(_:)`; the
  ///   error of `initialize`. Then no object was inserted.
  /// - Complexity: O(log n) for n objects, and O(k log n) for k objects, columns and links that
  ///   were edited since the last fetch.
  public func findOrInsert<T: ManagedObject, Key: AttributeValue>(
    _ type: T.Type, where keyPath: ReferenceWritableKeyPath<T, Key>, equals value: Key,
    initialize: (T) throws -> Void = { _ in }
  ) throws -> T {
    if let object = try core.find(type, keyPath, value.predicateValue) { return object }
    return try core.insert(type) {
      $0[keyPath: keyPath] = value
      try initialize($0)
    }
  }

  /// The same as the other overload, for an optional attribute.
  public func findOrInsert<T: ManagedObject, Key: AttributeValue>(
    _ type: T.Type, where keyPath: ReferenceWritableKeyPath<T, Key?>, equals value: Key,
    initialize: (T) throws -> Void = { _ in }
  ) throws -> T {
    if let object = try core.find(type, keyPath, value.predicateValue) { return object }
    return try core.insert(type) {
      $0[keyPath: keyPath] = value
      try initialize($0)
    }
  }
}

extension ContextCore {
  /// Inserts an object. If `initialize` throws, removes it.
  fileprivate func insert<T: ManagedObject>(
    _ type: T.Type, initialize: (T) throws -> Void
  ) throws -> T {
    let object = insert(type)
    do {
      try initialize(object)
    } catch {
      transientState.keepDropped()
      defer { transientState.releaseDropped() }
      editing.removal.takeAway([object.reference])
      throw error
    }
    return object
  }

  /// The object with a unique key; nil if there is none.
  fileprivate func find<T: ManagedObject>(
    _ type: T.Type, _ keyPath: PartialKeyPath<T>, _ key: Value
  ) throws -> T? {
    let name = T.propertyName(of: keyPath)
    try checkUnique(type, name)
    let isEqual = FetchComparison(.keyPath(PropertyPath(name)), .equal, .constant(key))
    let request = FetchRequest<T>(predicate: .comparison(isEqual))
    guard let object = try fetch(ClassedRequest(request)).first else { return nil }
    // The fetch has checked the class (`ClassedRequest.check`).
    return unsafeDowncast(object, to: T.self)
  }

  private func checkUnique(_ type: ManagedObject.Type, _ name: String) throws(FetchError) {
    // A fetch reports a class without an entity.
    guard let shape = graph.shape(of: type) else { return }
    guard let slot = shape.storage.slot(named: name) else { throw .unknownProperty(name, of: shape.storage) }
    if shape.schema.uniquenessConstraints.contains(where: { $0.slots == [slot] }) { return }
    throw FetchError(
      .notUnique,
      "\(shape.name).\(name.shortened) is not unique, so it identifies no object. Declare the attribute unique, "
        + "or fetch and insert by yourself.", entity: shape.name, key: name)
  }
}
