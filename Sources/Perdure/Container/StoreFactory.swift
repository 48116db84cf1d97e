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
    var options = StoreOptions()
    options.isReadOnly = description.isReadOnly
    options.durability = description.durability
    switch description.location {
    case .directory(let path):
      return try LogPersistentStore(at: path, model: model, options: options)
    case .memory:
      options.fileSystem = InMemoryFileSystem()
      options.segmentCapacityBytes = 1 << 20
      return try LogPersistentStore(at: "memory.perdure", model: model, options: options)
    }
  }
}
