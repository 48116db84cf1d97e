public import PerdureLog
internal import PerdureModel

/// A look into the store of a graph from outside: what the `perdure` command shows.
///
/// It opens the store for reading only, by the model that is stored in it.
public struct StoreInspection: Sendable {
  let store: LogPersistentStore

  /// Opens the store in the directory `path`.
  /// - Throws: `StoreError`; also when the store holds no graph (code `.notAStore`).
  public init(at path: String, options: StoreOptions = StoreOptions()) throws {
    var options = options
    options.isReadOnly = true
    options.checksIndexAtOpening = true
    try self.init(of: path, options: options)
  }

  /// As the options say, also for writing.
  package init(of path: String, options: StoreOptions) throws {
    store = try LogPersistentStore(at: path, model: nil, options: options)
  }

  var schema: StoreSchema { store.schema }

  /// The engine below.
  public var engine: Store { store.store }

  /// The entities with how many objects each has, in the order of the model; abstract ones are left out.
  public var objectCounts: [(entity: String, count: Int)] {
    let view = store.view()
    return store.schema.entities.compactMap { entity in
      guard let entity, entity.layouts != nil else { return nil }
      return (entity.name, view.rowCount(entity: entity.number))
    }
  }

  /// The indexes with how many entries each has; without those that nothing here maintains.
  public var indexCounts: [(name: String, count: Int)] {
    let view = store.view()
    return store.schema.indexes.enumerated().compactMap { position, definition in
      guard let count = try? view.entryCount(StoreIndex(rawValue: position), .all) else { return nil }
      return (definition.name, count)
    }
  }

  /// Checks that rows and links make a whole graph. A row that cannot be read is a finding, and the next one
  /// follows. Complexity: reads every row once.
  public func verifyGraph() -> GraphVerificationReport {
    GraphVerification(store.view(), store.schema, store.model.model).run()
  }
}
