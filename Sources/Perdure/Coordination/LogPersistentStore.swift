// The store of an object graph on the log engine. What reads, plans, fetches and saves knows
// `PersistentStore` alone; that there is an engine below is known here, where a container chooses it, and to
// verification.
//
//   what                     keyspace or index of the engine
//   stored model             keyspace "meta", key "model"
//   ids given out            keyspace "meta", key "ids" and the entity's number, 2 bytes big-endian
//   rows of an entity        dense keyspace "rows/<entity number>"
//   links                    byte-string keyspace "link/<property>": source, target, 8 bytes big-endian each
//   places in an order       byte-string keyspace "order/<property>": owner, member, 8 bytes big-endian each; its order key
//   every other StoreIndex   a derived index of the same name
//
// Invariants
//  L1  The model in "meta" is written before any row that needs it, so replay finds it. It is written in one commit with
//      the keyspaces and indexes that follow from it: after a power cut a store has all of a model or nothing.
//  L2  Ids are reserved in blocks by a commit of their own, before any of them is handed out. Commits keep
//      their order through a crash, so a row is never there without its reservation.
//  L3  No row is written whose uniqueness cannot be judged, because the index of the constraint could not be made
//      when the store was opened (a row in a file of its own is damaged or gone). The engine refuses to read such an
//      index, and to write rows after a commit has found that their unique index lacks entries.
//  L4  A store that only reads shows states of the model that it was opened with alone: rows and indexes of
//      another one could not be read. `shown` is the newest of them; where the store may be written it is nil.
//  L5  A writer with a model of its own keeps the indexes that follow from it and no others. Earlier versions took several
//      commits for that: an opening makes what a cut between them left out.

internal import PerdureFileIO
package import PerdureLog
package import PerdureModel
internal import PerdurePredicates

package final class LogPersistentStore: PersistentStore {
  package let schema: StoreSchema
  /// The model, with the numbers that this store gave it.
  package let model: StoredModel
  package let store: Store
  let keyspaces: LogKeyspaces
  private let ids: IDReservations
  /// Ends all reads when the container closes its stores.
  private let permission: ReadPermission
  /// Reads the stored model.
  let factory: RowIndexExtractor.Factory
  /// Constraints that cannot be judged (L3), by the number of an entity whose objects they are about.
  let unjudged: [UInt16: String]
  private let shown: Guarded<Snapshot>?

  package var identifier: String { store.identifier }

  /// Opens the store of a graph, or makes one.
  ///
  /// - Parameters:
  ///   - model: The program's model; nil takes the one that is stored. A stored model that differs by additions only
  ///     is brought up to date.
  ///   - extractors: What stands before the maker of index entries, for a store that is wrong on purpose.
  /// - Throws: `StoreError`; `ModelError` when the stored model differs by more, with every difference.
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
      unjudged = schema.constraints(among: store.recoveryReport.unavailableIndexes)
      shown = isReadOnly ? Guarded(store.snapshot()) : nil
    } catch {
      try? store.close()
      throw error
    }
  }

  package func view() -> any StoreView {
    // A forked child may lack the thread that holds the lock, so it does not wait for it.
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
    // Somebody else may have been faster, and have seen more.
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
