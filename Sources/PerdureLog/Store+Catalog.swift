import PerdureFormat

extension Store {
  /// The keyspace of this name. It is created if it does not exist.
  ///
  /// A new keyspace is not yet durable: the next durable commit or `sync()` makes it durable.
  ///
  /// - Complexity: O(1) if it exists; otherwise the cost of a commit of one record, on average.
  ///   Each state that a snapshot holds takes 72 bytes of memory for each keyspace.
  /// - Throws: `StoreError`: `.invalidArgument` if it exists with the other kind, if the name is
  ///   empty or longer than 255 bytes of UTF-8, or if the store has `StoreLimits.keyspacesMax`
  ///   keyspaces; `.readOnly` if it does not exist and the store was opened for reading; the errors
  ///   of `write`.
  public func keyspace(_ name: String, _ kind: KeyspaceKind) throws -> Keyspace {
    if let known = try engine.readingState({ try $0.catalog.keyspace(named: name, of: kind) }) {
      return known
    }
    try StoreLimits.check(name: name)
    try engine.checkWritable(toMake: "keyspace \(name)")
    return try engine.inTurn { state in
      // Another thread may have created it meanwhile.
      if let known = try state.catalog.keyspace(named: name, of: kind) { return known }
      try StoreLimits.check(keyspaces: state.catalog.keyspaces.count)
      let keyspace = state.catalog.addKeyspace(name, kind)
      do { try engine.appendCatalogRecord(CatalogRecord.keyspace(keyspace), nil, &state) } catch {
        state.catalog.removeLastKeyspace()
        throw error
      }
      return keyspace
    }
  }

  /// All keyspaces, oldest first.
  ///
  /// - Throws: `StoreError`: `.closed`.
  public var keyspaces: [Keyspace] {
    get throws { try engine.readingState { $0.catalog.userKeyspaces } }
  }

  /// All derived indexes with their definitions, oldest first.
  ///
  /// - Throws: `StoreError`: `.closed`.
  public var indexes: [(index: DerivedIndex, definition: IndexDefinition)] {
    get throws { try engine.readingState { $0.catalog.presentIndexes.map { ($0.index, $0.definition) } } }
  }

  /// Defines a derived index. If an index with this definition already exists, it is returned.
  ///
  /// A definition that differs from the stored one replaces it, and the index is built again.
  /// Building reads every record of the source keyspaces while other commits wait. An index lacks
  /// updates if it was not maintained at the opening or for some time afterwards. Such an index is
  /// rebuilt if an extractor is available now. There are two exceptions. An index that lacks the
  /// entries of a damaged value is only rebuilt by the next opening. In a store that was opened for
  /// reading, no index is rebuilt.
  ///
  /// - Throws: `StoreError`: `.invalidArgument`; `.indexUnavailable` if no extractor of that name
  ///   was given in `StoreOptions`; `.conflict` if a unique index finds duplicates (nothing is
  ///   changed; at most 20 of them are in `conflicts`); the errors of `write`.
  public func defineIndex(_ definition: IndexDefinition) throws -> DerivedIndex {
    try StoreLimits.check(name: definition.name)
    return try engine.inTurn { state in
      let wanted = state.catalog.present(definition)
      if let known = state.catalog.index(named: wanted.name), known.definition == wanted,
        !engine.canBuild(known, state)
      {
        return known.index
      }
      try engine.checkWritable(toMake: "index \(wanted.name) of this definition")
      try Engine.check(wanted, state.catalog)
      var catalog = state.catalog
      let index = catalog.setIndex(wanted)
      try StoreLimits.check(indexes: catalog.indexes.count)
      try engine.buildAndCommit(index, wanted, catalog, &state)
      return index
    }
  }

  /// Removes a derived index: its definition and its entries, whose memory is freed. Records are
  /// not changed.
  ///
  /// Earlier snapshots still have the index. Its name can be used for any new definition. The name
  /// stays in the catalog, so programs should not generate new names repeatedly
  /// (`StoreLimits.indexesMax`).
  ///
  /// The removal is not yet durable: the next durable commit, `sync()` or `checkpoint()` makes it
  /// durable. Before that, a power cut may restore the index.
  ///
  /// - Throws: `StoreError`: `.invalidArgument` if it belongs to another store, was removed
  ///   already, or is the source of another index, which must be removed first; `.readOnly`;
  ///   `.corruption` if its nodes in the index file are damaged; the errors of `write`.
  /// - Complexity: O(n) for n nodes of the index. Nodes in the index file are read from the file.
  ///   Other commits wait.
  public func removeIndex(_ index: DerivedIndex) throws {
    try engine.checkWritable()
    try engine.inTurn { state in
      try state.catalog.checkRemoval(of: index)
      try engine.commitRemoval(of: index, &state)
    }
  }

  /// Creates all extractors again, because the data that they look up in the store has changed.
  /// Existing entries are kept. An unavailable index stays unavailable until it is defined again.
  package func reloadExtractors() throws {
    try engine.inTurn { state in
      state.adopt(
        engine.indexSet(for: state.catalog, state.root, excluding: state.incompleteIndexes))
      engine.unavailableIndexes = state.indexes.unavailable
    }
  }

}

extension Catalog {
  /// - Throws: `StoreError` with code `.invalidArgument` if the keyspace has the other kind.
  fileprivate func keyspace(named name: String, of kind: KeyspaceKind) throws(StoreError) -> Keyspace? {
    guard let known = keyspace(named: name) else { return nil }
    try known.check(kind)
    return known
  }
}

extension Engine {
  @inline(__always)
  func checkWritable() throws(StoreError) {
    try checkProcess()
    if options.isReadOnly { throw Self.readOnly }
  }

  @inline(never)
  private static var readOnly: StoreError { StoreError(.readOnly, "The store was opened for reading only") }

  /// - Parameter missing: The keyspace or index to create, for the message.
  fileprivate func checkWritable(toMake missing: String) throws(StoreError) {
    guard options.isReadOnly else { return }
    throw StoreError(
      .readOnly,
      "The store has no \(missing), and a store that was opened for reading only cannot make one; check the "
        + "name, open the store for writing once to make it, or refresh it after another program has made it",
      at: path)
  }

  /// Commits one record of keyspace 0, together with the catalog that results from it.
  ///
  /// - Parameter catalog: Nil if the record defines a keyspace that `state.catalog` already has.
  func appendCatalogRecord(
    _ record: (key: [UInt8], value: [UInt8]), _ catalog: Catalog?, _ state: inout CommitterState
  ) throws {
    var batch = WriteBatch()
    batch.append(catalogRecords: [record])
    _ = try append(batch, catalog, &state)
  }

  /// Builds an index from the current records, and commits the index together with its definition.
  /// So readers see only the complete index, and a refused index has no effect.
  func buildAndCommit(
    _ index: DerivedIndex, _ definition: IndexDefinition, _ catalog: Catalog, _ state: inout CommitterState
  ) throws {
    // Indexes that are made from this index are rebuilt with it.
    let rebuilt = Set([index.id] + (catalog.dependents[index.id] ?? []).map(\.id))
    var batch = WriteBatch()
    batch.append(catalogRecords: [CatalogRecord.index(index, definition)])
    _ = try commit(batch, catalog, rebuilding: rebuilt, removing: [], &state)
  }

  /// Whether an index that was not maintained can be rebuilt now. An index that lacks the entries
  /// of a damaged value is not rebuilt before the next opening.
  fileprivate func canBuild(_ entry: Catalog.IndexEntry, _ state: borrowing CommitterState) -> Bool {
    let id = entry.index.id
    guard !options.isReadOnly, state.incompleteIndexes.contains(id), state.indexDamage[id] == nil else {
      return false
    }
    let rebuilt = Set([id] + (state.catalog.dependents[id] ?? []).map(\.id))
    let incomplete = state.incompleteIndexes.subtracting(rebuilt)
    return !indexSet(for: state.catalog, state.root, excluding: incomplete).unavailable.contains(id)
  }

  /// Commits the removal of the definition and of the entries together.
  fileprivate func commitRemoval(of index: DerivedIndex, _ state: inout CommitterState) throws {
    let definition = IndexDefinition.removed(index.name)
    var catalog = state.catalog
    var batch = WriteBatch()
    batch.append(catalogRecords: [CatalogRecord.index(catalog.setIndex(definition), definition)])
    _ = try commit(batch, catalog, rebuilding: [], removing: [index.id], &state)
  }

  /// Checks a definition. Its sources must exist in this catalog and be of a suitable kind. The
  /// definition must still allow the indexes that are made from this index.
  static func check(_ definition: IndexDefinition, _ catalog: Catalog) throws(StoreError) {
    func wrong(_ message: String) -> StoreError {
      StoreError(.invalidArgument, "Index \(definition.name) \(message)")
    }
    if let extraction = definition.source.extraction { try check(extraction, catalog, wrong) }
    if let base = definition.source.base {
      try catalog.check(base)
      guard definition.source.canBeMade(from: catalog.indexes[Int(base.id)].definition.source) else {
        throw wrong(
          "has an unsuitable source: group counts need an index over records, and an order of sums needs an index of sums"
        )
      }
    }
    guard !definition.isUnique || definition.source.canBeUnique else {
      throw wrong("has one key for each group, and cannot be unique")
    }
    let known = catalog.index(named: definition.name)?.index.id
    for dependent in known.flatMap({ catalog.dependents[$0] }) ?? [] {
      let source = catalog.indexes[Int(dependent.id)].definition.source
      guard source.canBeMade(from: definition.source) else {
        throw wrong(
          "is the source of index \(dependent.name), which this definition does not allow; remove that index first"
        )
      }
    }
  }

  private static func check(
    _ extraction: IndexDefinition.Source.Extraction, _ catalog: Catalog, _ wrong: (String) -> StoreError
  ) throws(StoreError) {
    let (keyspaces, extractor) = (extraction.keyspaces, extraction.extractor)
    for keyspace in keyspaces {
      try catalog.check(keyspace)
      guard keyspace.id > 0 else { throw wrong("cannot have the catalog as a source") }
    }
    guard extraction.kind == nil || Set(keyspaces.map(\.id)).count == keyspaces.count else {
      throw wrong("names a keyspace twice, so that the count of its numbers is ambiguous")
    }
    guard !CatalogRecord.reservedExtractors.contains(extractor) else {
      throw wrong(
        "has an extractor whose name, \(extractor), is the engine's own; give your extractor another name")
    }
    // For sums: the name of the engine's own extractor, and four additional bytes
    // (`CatalogRecord.index`).
    let head = extraction.kind == nil ? 12 : 26
    let length = head + extractor.utf8.count + 4 * keyspaces.count + extraction.parameters.count
    guard extractor.utf8.count <= UInt16.max, keyspaces.count <= UInt16.max,
      length <= FormatLimits.inlineValueLengthMax
    else { throw wrong("has a definition longer than \(FormatLimits.inlineValueLengthMax) bytes") }
  }
}

extension StoreError {
  /// The error for an index that cannot be unique. A store may have millions of duplicates, so only
  /// the first few are listed.
  static func duplicates(_ duplicates: DuplicateKeys, in index: DerivedIndex) -> StoreError {
    let listed = 20
    let more = duplicates.count > listed ? ", of which \(duplicates.count - listed) are not listed" : ""
    return StoreError(
      .conflict,
      "Index \(index.name) cannot be unique: \(duplicates.count) of its keys occur twice\(more); nothing was "
        + "changed. Change or remove the records, then define it again",
      conflicts: Array(duplicates.listed.prefix(listed)))
  }
}
