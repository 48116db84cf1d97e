internal import PerdureFileIO
internal import PerdureLog
package import PerdureModel

/// Opens the store that a description names. Containers take one, so that tests can put a store of their own
/// underneath; everybody else gets `standard`.
package struct StoreFactory: Sendable {
  package let open: @Sendable (PersistentStoreDescription, ManagedObjectModel) throws -> any PersistentStore

  package init(
    _ open: @escaping @Sendable (PersistentStoreDescription, ManagedObjectModel) throws -> any PersistentStore
  ) {
    self.open = open
  }

  /// The store on the log-structured engine. This is the one place where the graph chooses its engine.
  package static let standard = StoreFactory { description, model in
    let path: String
    var options = StoreOptions()
    switch description.location {
    case .directory(let directory): path = directory
    case .memory:
      path = "memory.perdure"
      options.fileSystem = InMemoryFileSystem()
      options.segmentCapacityBytes = 1 << 20
    }
    description.configuresEngine?(&options)
    options.isReadOnly = description.isReadOnly
    options.durability = description.durability
    return try LogPersistentStore(at: path, model: model, options: options)
  }
}
