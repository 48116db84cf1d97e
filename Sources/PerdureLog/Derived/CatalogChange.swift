import PerdureFormat

// A change of the catalog in one commit. It defines keyspaces and indexes, removes indexes, and
// puts the values that describe them. After a power cut the store contains the whole change or no
// part of it.
//
// Indexes are built from the records of earlier commits. Their extractors see the values that the
// commit puts (`StoredValues.pending`).

/// The definitions and removals of one change of the catalog; see `Store.changeCatalog`.
package struct CatalogChange {
  fileprivate private(set) var catalog: Catalog
  fileprivate private(set) var records: [(key: [UInt8], value: [UInt8])] = []
  /// The indexes to build from all records.
  fileprivate private(set) var rebuilt: Set<UInt32> = []
  fileprivate private(set) var removed: Set<UInt32> = []
  /// Whether an index that was not maintained can be built now.
  private let canBuild: (Catalog.IndexEntry, Catalog) -> Bool

  fileprivate init(_ catalog: Catalog, canBuild: @escaping (Catalog.IndexEntry, Catalog) -> Bool) {
    self.catalog = catalog
    self.canBuild = canBuild
  }

  fileprivate var isEmpty: Bool { records.isEmpty }

  /// Finds or creates a keyspace; see `Store.keyspace(_:_:)`.
  package mutating func keyspace(_ name: String, _ kind: KeyspaceKind) throws -> Keyspace {
    if let known = catalog.keyspace(named: name) {
      try known.check(kind)
      return known
    }
    try StoreLimits.check(name: name)
    try StoreLimits.check(keyspaces: catalog.keyspaces.count)
    let keyspace = catalog.addKeyspace(name, kind)
    records.append(CatalogRecord.keyspace(keyspace))
    return keyspace
  }

  /// Finds or creates an index with this definition; see `Store.defineIndex(_:)`.
  package mutating func defineIndex(_ definition: IndexDefinition) throws -> DerivedIndex {
    try StoreLimits.check(name: definition.name)
    let wanted = catalog.present(definition)
    if let known = catalog.index(named: wanted.name), known.definition == wanted, !canBuild(known, catalog) {
      return known.index
    }
    try Engine.check(wanted, catalog)
    var changed = catalog
    let index = changed.setIndex(wanted)
    try StoreLimits.check(indexes: changed.indexes.count)
    catalog = changed
    records.append(CatalogRecord.index(index, wanted))
    removed.remove(index.id)
    rebuilt.formUnion([index.id] + (catalog.dependents[index.id] ?? []).map(\.id))
    return index
  }

  /// Removes an index; see `Store.removeIndex(_:)`.
  package mutating func removeIndex(_ index: DerivedIndex) throws {
    try catalog.checkRemoval(of: index)
    let definition = IndexDefinition.removed(index.name)
    records.append(CatalogRecord.index(catalog.setIndex(definition), definition))
    rebuilt.remove(index.id)
    removed.insert(index.id)
  }

  /// All indexes that were not removed, with their definitions, in order of their ids.
  package var indexes: [(index: DerivedIndex, definition: IndexDefinition)] {
    catalog.presentIndexes.map { ($0.index, $0.definition) }
  }
}

extension Store {
  /// Changes the catalog and puts values, in one commit. Commits nothing if there is no change and
  /// no value.
  ///
  /// The commit has the store's default durability. New and redefined indexes are built while other
  /// commits wait.
  ///
  /// - Parameters:
  ///   - values: Values to put into existing byte-string keyspaces.
  ///   - body: Makes the change. It is called once, while other commits wait, and must not commit.
  /// - Throws: Errors of `body`, `keyspace`, `defineIndex`, `removeIndex` and `write`. After an
  ///   error, nothing is changed, except after those errors of `write` that say otherwise.
  /// - Complexity: O(n) for n records in the keyspaces of the indexes that are built.
  package func changeCatalog<R>(
    putting values: [(value: [UInt8], key: [UInt8], keyspace: Keyspace)],
    _ body: (inout CatalogChange) throws -> R
  ) throws -> R {
    let engine = engine
    try engine.checkWritable()
    var transaction = WriteTransaction(engine)
    let result: R
    let receipt: CommitReceipt?
    do {
      for (value, key, keyspace) in values { try transaction.put(value, key: key, in: keyspace) }
      let pending = values.map { StoredValues.Pending(keyspace: $2.id, key: $1, value: $0) }
      (result, receipt) = try engine.inTurn { state in
        try engine.change(&transaction.batch, pending, &state, body)
      }
    } catch {
      engine.didFail(transaction.batch, error)
      throw error
    }
    if let receipt { try engine.sync(receipt, engine.options.durability) }
    return result
  }
}

extension Engine {
  /// - Returns: The result of `body`, and the receipt; nil if there was nothing to commit.
  fileprivate func change<R>(
    _ batch: inout WriteBatch, _ pending: [StoredValues.Pending], _ state: inout CommitterState,
    _ body: (inout CatalogChange) throws -> R
  ) throws -> (R, CommitReceipt?) {
    try check(batch, [], state.catalog)
    let (incomplete, damaged, root) = (state.incompleteIndexes, Set(state.indexDamage.keys), state.root)
    var change = CatalogChange(state.catalog) { [self] entry, catalog in
      let id = entry.index.id
      guard incomplete.contains(id), !damaged.contains(id) else { return false }
      let rebuilt = Set([id] + (catalog.dependents[id] ?? []).map(\.id))
      return !indexSet(for: catalog, root, excluding: incomplete.subtracting(rebuilt), pending: pending)
        .unavailable.contains(id)
    }
    let result = try body(&change)
    if change.isEmpty, batch.isEmpty { return (result, nil) }
    batch.append(catalogRecords: change.records)
    let receipt = try commit(
      batch, change.catalog, rebuilding: change.rebuilt, removing: change.removed, pending: pending, &state)
    return (result, receipt)
  }

  /// Commits a catalog together with the entries of its indexes, so that readers see only complete
  /// indexes. An error leaves the state unchanged.
  ///
  /// - Parameters:
  ///   - rebuilt: The indexes to build from all records.
  ///   - removed: The indexes whose entries are removed.
  func commit(
    _ batch: borrowing WriteBatch, _ catalog: Catalog, rebuilding rebuilt: Set<UInt32>,
    removing removed: Set<UInt32>, pending: [StoredValues.Pending] = [], _ state: inout CommitterState
  ) throws -> CommitReceipt {
    let incomplete = state.incompleteIndexes
    let kept = incomplete.subtracting(rebuilt).subtracting(removed)
    let indexes = indexSet(for: catalog, state.root, excluding: kept, pending: pending)
    let unmade = indexes.unavailable.intersection(rebuilt).filter {
      !catalog.isStray(catalog.indexes[Int($0)])
    }
    if let id = unmade.min() {
      throw StoreError(
        .indexUnavailable,
        "No extractor in StoreOptions.indexExtractors can make index \(catalog.indexes[Int(id)].index.name); add one"
      )
    }
    let (arena, reader) = (state.arena, RecordReader(root: state.root, verifiesChecksum: true))
    state.incompleteIndexes = kept
    let receipt: CommitReceipt
    do {
      receipt = try append(batch, catalog, &state) { next in
        for id in rebuilt.union(removed) { next.pointee.indexes[Int(id)].removeAll(in: arena) }
        if rebuilt.isEmpty { return }
        var build = IndexBuild(of: catalog, indexes, next, reader, contents, arena)
        let duplicates = try build.fill(rebuilt)
        if let id = duplicates.indexes.min() {
          throw StoreError.duplicates(duplicates, in: catalog.indexes[Int(id)].index)
        }
      }
    } catch {
      state.incompleteIndexes = incomplete
      throw error
    }
    for id in rebuilt.union(removed) { state.indexDamage[id] = nil }
    state.duplicatedIndexes.subtract(rebuilt.union(removed))
    return receipt
  }
}

extension Catalog {
  /// Checks that an index can be removed.
  ///
  /// - Throws: `StoreError` with code `.invalidArgument` if the index does not belong to this
  ///   store, or if another index is made from it.
  func checkRemoval(of index: DerivedIndex) throws(StoreError) {
    try check(index)
    guard let counting = dependents[index.id]?.first else { return }
    throw StoreError(
      .invalidArgument,
      "Index \(counting.name) is made from index \(index.name); remove index \(counting.name) first. Nothing was changed"
    )
  }
}

extension WriteBatch {
  /// Appends catalog records, which belong to keyspace 0.
  mutating func append(catalogRecords records: [(key: [UInt8], value: [UInt8])]) {
    for record in records {
      record.key.withUnsafeBytes { key in
        record.value.withUnsafeBytes { append(.put, keyspace: 0, key: key, value: $0) }
      }
    }
  }
}
