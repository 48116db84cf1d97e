public import PerdureLog
internal import PerdureModel
internal import PerdurePredicates

/// Read-only access to the store of a graph from outside its program, as in the `perdure` command.
///
/// Opens the store only for reading, with the model that is stored in it.
public struct StoreInspection: Sendable {
  let store: LogPersistentStore

  /// Opens the store in the directory `path`.
  /// - Throws: `StoreError`; also if the store does not contain a graph (code `.notAStore`).
  ///   `ModelError` if the stored model cannot be decoded.
  public init(at path: String, options: StoreOptions = StoreOptions()) throws {
    var options = options
    options.isReadOnly = true
    options.checksIndexAtOpening = true
    try self.init(of: path, options: options)
  }

  /// Opens the store according to the options, possibly for writing.
  package init(of path: String, options: StoreOptions) throws {
    store = try LogPersistentStore(at: path, model: nil, options: options)
  }

  var schema: StoreSchema { store.schema }

  /// The engine's store, which contains the graph.
  public var engine: Store { store.store }

  /// The number of objects of each entity, in the order of the entities' numbers in the store,
  /// without abstract entities.
  public var objectCounts: [(entity: String, count: Int)] {
    let view = store.view()
    return store.schema.entities.compactMap { entity in
      guard let entity, entity.layouts != nil else { return nil }
      // Counting rows fails only in a closed store, and the inspection keeps its store open.
      return (entity.name, (try? view.rowCount(entity: entity.number)) ?? 0)
    }
  }

  /// The indexes, described in words, with their number of entries.
  ///
  /// The number is nil for an index that cannot be read, or could not be built when the store was
  /// opened.
  public var indexCounts: [(name: String, count: Int?)] {
    let view = store.view()
    return store.schema.indexes.indices.map { position in
      let index = StoreIndex(rawValue: position)
      return (store.schema.title(of: index), try? view.entryCount(index, .all))
    }
  }

  /// The entities with similar names, the most similar one first.
  package func entities(like name: String) -> [String] {
    NearMisses.of(name, in: schema.entities.compactMap { $0?.name })
  }

  /// Verifies that rows and links form a consistent graph. An unreadable row is a finding, and the
  /// verification continues.
  ///
  /// - Parameter progress: Called at intervals with the number of checked rows and index entries,
  ///   and their total. An error that it throws cancels the verification.
  /// - Throws: The error of `progress`, and no other.
  /// - Complexity: Reads every row once, every link, and every unique value.
  public func verifyGraph(
    progress: ((_ done: UInt64, _ total: UInt64) throws -> Void)? = nil
  ) throws -> GraphVerificationReport {
    let (view, model) = (store.view(), store.model.model)
    guard let progress else { return GraphVerification(view, model).run() }
    return try withoutActuallyEscaping(progress) { progress in
      var failure: (any Error)?
      let shouldContinue = { (done: UInt64, total: UInt64) -> Bool in
        do { try progress(done, total) } catch { failure = error }
        return failure == nil
      }
      let report = GraphVerification(view, model, shouldContinue: shouldContinue).run()
      if let failure { throw failure }
      return report
    }
  }
}
