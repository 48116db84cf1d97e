// A fetch first merges the saves of other contexts, if the context merges automatically.

internal import PerdurePredicates

extension ContextCore {
  func fetch(_ wanted: ClassedRequest) throws -> [ManagedObject] {
    mergeBeforeFetch()
    return try fetching.fetch(wanted)
  }

  func fetchIDs(_ wanted: ClassedRequest) throws -> [ManagedObjectID] {
    mergeBeforeFetch()
    return try fetching.fetchIDs(wanted)
  }

  func count(_ wanted: ClassedRequest) throws -> Int {
    mergeBeforeFetch()
    return try fetching.count(wanted)
  }

  func explain(_ wanted: ClassedRequest) throws -> String {
    mergeBeforeFetch()
    return try fetching.explain(wanted)
  }

  func first<T: ManagedObject>(
    _ type: T.Type, _ keyPath: PartialKeyPath<T>, _ key: Value
  ) throws -> T? {
    mergeBeforeFetch()
    guard let object = try fetching.object(type, keyPath, key) else { return nil }
    // The class of each object of the entity was checked when the key path was resolved.
    return unsafeDowncast(object, to: T.self)
  }

  private func mergeBeforeFetch() {
    checkOwner()
    mergeWaiting()
  }
}
