internal import PerdureFileIO
internal import PerdureLog
package import PerdureModel

/// Opens the store that a description names. Each container has a factory, so that tests can supply
/// their own store; all other code uses `standard`.
package struct StoreFactory: Sendable {
  package let open: @Sendable (PersistentStoreDescription, ManagedObjectModel) throws -> any PersistentStore

  package init(
    _ open: @escaping @Sendable (PersistentStoreDescription, ManagedObjectModel) throws -> any PersistentStore
  ) {
    self.open = open
  }

  /// Closing writes a checkpoint if the log after the last checkpoint has at least this length: the
  /// default of the engine.
  static let closeTailBytes = CheckpointOptions().closeTailBytes

  /// Opens stores of the log-structured engine. This is the only code in which the graph chooses
  /// its engine.
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
    if description.createsFolders, !description.isReadOnly {
      try DefaultDirectory.createFolders(above: path, in: options.fileSystem)
    }
    return try LogPersistentStore(at: path, model: model, options: options)
  }
}
