// A fetch first merges the saves of other contexts, if the context merges automatically.

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

  private func mergeBeforeFetch() {
    checkOwner()
    mergeWaiting()
  }
}
