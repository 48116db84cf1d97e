// The store of an object graph on the log engine. Code that reads, plans, fetches or saves depends
// only on `PersistentStore`. Only this store, the code that opens stores, and verification depend
// on the engine.
//
//   content                  keyspace or index of the engine
//   stored model             keyspace "meta", key "model"
//   program's metadata       keyspace "meta", key "metadata"
//   last reserved id         keyspace "meta", key "ids" and the entity's number, 2 bytes big-endian
//   rows of an entity        dense keyspace "rows/<entity number>"
//   links                    byte-string keyspace "link/<property>", key: source, target
//   order keys               byte-string keyspace "order/<property>", key: owner, member
//   every other StoreIndex   a derived index of the same name
//
// Each reference in a key has 8 bytes, big-endian.
//
// Invariants
//  LS1  The model is written before any row that needs it, so replay finds it. One commit writes
//       the model with its keyspaces and indexes. So after a power cut, a store has a complete
//       model or no part of it.
//  LS2  Ids are reserved in blocks by separate commits, before any of them is assigned. A crash
//       keeps the order of commits, so no row exists without its reservation.
//  LS3  No row is written if its uniqueness cannot be checked. This happens if the index of the
//       constraint could not be built at the opening, because a row in a separate file is damaged
//       or missing. The engine refuses to read such an index. It also refuses to write rows after a
//       commit has found that their unique index lacks entries.
//  LS4  A read-only store shows only states with the model with which it was opened: it cannot read
//       rows and indexes of another model. `shown` is the newest of these states; nil if the store
//       is writable.
//  LS5  A writer that was opened with a model drops the indexes of earlier models. Earlier versions
//       of Perdure needed several commits for that. An opening completes what a crash between these
//       commits left incomplete.

internal import PerdureFileIO
package import PerdureLog
package import PerdureModel
internal import PerdurePredicates

package final class LogPersistentStore: PersistentStore {
  package let schema: StoreSchema
  /// The model, with the numbers that this store has assigned.
  package let model: StoredModel
  package let store: Store
  let keyspaces: LogKeyspaces
  private let ids: IDReservations
  /// Ends all reads when the container closes its stores.
  private let permission: ReadPermission
  /// Decodes the stored model, and makes its schema.
  let factory: RowIndexExtractor.Factory
  /// The names of constraints that cannot be checked (LS3), by the number of each entity that they
  /// apply to.
  let uncheckableConstraints: [UInt16: String]
  private let shown: Guarded<Snapshot>?

  package var identifier: String { store.identifier }

  /// Opens the store of a graph, or creates it.
  ///
  /// - Parameters:
  ///   - model: The program's model; nil uses the stored model. If the program's model only has
  ///     additions, the stored model is updated.
  ///   - extractors: Wraps the factory of index extractors. Tests use it to build wrong indexes.
  /// - Throws: `StoreError`. `ModelError` with all differences if the stored model differs by more
  ///   than additions. Also `ModelError` if the stored model cannot be decoded, or if the store has
  ///   no numbers left for additions.
  package convenience init(
    at path: String, model: ManagedObjectModel?, options: StoreOptions = StoreOptions(),
    extractors: (any IndexExtractorFactory) -> any IndexExtractorFactory = { $0 }
  ) throws {
    var options = options
    let factory = RowIndexExtractor.Factory(model)
    options.indexExtractors[RowIndexExtractor.name] = extractors(factory)
    try self.init(opening: Store(at: path, options: options), model, isReadOnly: options.isReadOnly, factory)
  }

  private init(
    opening store: Store, _ model: ManagedObjectModel?, isReadOnly: Bool, _ factory: RowIndexExtractor.Factory
  ) throws {
    self.store = store
    self.factory = factory
    permission = ReadPermission(path: store.path)
    do {
      if isReadOnly || model == nil { try GraphRecognition.check(store) }
      let meta = try store.keyspace(LogKeyspaces.metaName, .bytes)
      let record = StoredModelRecord(meta, in: store, decode: factory.model)
      let adoption = try record.adoption(of: model, isReadOnly: isReadOnly)
      self.model = adoption.model
      let schema = factory.schema(for: self.model)
      self.schema = schema
      if isReadOnly {
        var catalog = FoundCatalog(store)
        keyspaces = try LogKeyspaces(schema, meta, in: &catalog)
      } else {
        keyspaces = try store.changeCatalog(putting: adoption.bytes.map { [record.value($0)] } ?? []) {
          catalog in
          let keyspaces = try LogKeyspaces(schema, meta, in: &catalog)
          if model != nil { try keyspaces.dropIndexesOfOthers(in: &catalog) }
          return keyspaces
        }
      }
      ids = IDReservations(store, keyspaces)
      uncheckableConstraints = schema.constraints(among: store.recoveryReport.unavailableIndexes)
      shown = isReadOnly ? Guarded(store.snapshot()) : nil
    } catch {
      try? store.close()
      throw error
    }
  }

  package func view() -> any StoreView {
    // A forked child may lack the thread that holds the lock, so it does not wait for the lock.
    let shown = store.isOwn ? shown?.withLock { $0 } : nil
    return LogStoreView(shown ?? store.snapshot(), schema, keyspaces, permission)
  }

  package func refresh() throws {
    guard let shown else { return }
    do { try store.refresh() } catch let error as StoreError where error.code == .closed { return }
    let newest = store.snapshot()
    let stored = try StoredModelRecord.stored(in: newest, keyspaces.meta, decode: factory.model)
    guard stored?.hasSameRows(as: model) == true else {
      throw PerdureError(
        .incompatibleModel,
        "Another process has given the store a new model. Contexts still read the state before that. To read the "
          + "newest state, open the store with a container that has the new model.")
    }
    // Another thread may have stored a newer state in the meantime.
    shown.withLock { shown in
      if shown.sequence < newest.sequence { shown = newest }
    }
  }

  package func allocateIDs(entity: UInt16, count: Int) throws -> Range<UInt64> {
    try ids.take(count, of: entity)
  }

  package func endReading() { permission.end() }

  package func close() throws { try store.close() }
}
