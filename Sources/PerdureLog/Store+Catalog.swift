import PerdureFormat

extension Store {
  /// The keyspace of this name; it is made if there is none.
  ///
  /// - Throws: `StoreError`: `.invalidArgument` when it exists with the other kind, or the name is
  ///   empty or longer than 255 bytes of UTF-8; what `write` throws.
  public func keyspace(_ name: String, _ kind: KeyspaceKind) throws -> Keyspace {
    if let known = try knownKeyspace(name, kind) { return known }
    try engine.checkWritable()
    try checkName(name)
    return try engine.inTurn { state in
      if let known = state.catalog.keyspace(named: name) { return known }
      var catalog = state.catalog
      let keyspace = catalog.addKeyspace(name, kind)
      try engine.appendCatalogRecord(CatalogRecord.keyspace(keyspace), catalog, &state)
      return keyspace
    }
  }

  /// All keyspaces, oldest first.
  public var keyspaces: [Keyspace] {
    get throws { try engine.inTurn { Array($0.catalog.keyspaces.dropFirst()) } }
  }

  /// All derived indexes with their definitions, oldest first.
  public var indexes: [(index: DerivedIndex, definition: IndexDefinition)] {
    get throws { try engine.inTurn { $0.catalog.indexes.map { ($0.index, $0.definition) } } }
  }

  /// Makes a derived index, or finds it if it is there with this definition.
  ///
  /// A definition that differs from the stored one replaces it, and the index is built anew.
  /// Building reads every record of the source keyspaces while other commits wait.
  ///
  /// - Throws: `StoreError`: `.invalidArgument`, `.indexUnavailable` when no extractor of that
  ///   name was given in `StoreOptions`, `.conflict` when a unique index finds duplicates
  ///   (nothing is changed); what `write` throws.
  public func defineIndex(_ definition: IndexDefinition) throws -> DerivedIndex {
    try checkName(definition.name)
    return try engine.inTurn { state in
      if let known = state.catalog.index(named: definition.name), known.definition == definition {
        return known.index
      }
      try engine.checkWritable()
      var catalog = state.catalog
      let index = catalog.setIndex(definition)
      try engine.buildAndCommit(index, definition, catalog, &state)
      return index
    }
  }

  /// Makes all extractors anew, because what they look up in the store has changed. The entries
  /// that are there are kept.
  package func reloadExtractors() throws {
    try engine.inTurn { state in
      state.indexes = engine.indexSet(for: state.catalog, state.root)
      engine.unavailableIndexes = state.indexes.unavailable
    }
  }

  private func knownKeyspace(_ name: String, _ kind: KeyspaceKind) throws -> Keyspace? {
    guard let known = try engine.inTurn({ $0.catalog.keyspace(named: name) }) else { return nil }
    guard known.kind == kind else {
      throw StoreError(.invalidArgument, "Keyspace \(name) has keys of kind \(known.kind), not \(kind)")
    }
    return known
  }

  private func checkName(_ name: String) throws {
    guard (1...255).contains(name.utf8.count) else {
      throw StoreError(.invalidArgument, "The name \"\(name.prefix(32))\" must have 1 to 255 bytes of UTF-8")
    }
  }
}

extension Engine {
  func checkWritable() throws(StoreError) {
    if options.isReadOnly { throw StoreError(.readOnly, "The store was opened for reading only") }
  }

  /// Commits one record of keyspace 0 together with the catalog that it makes true.
  func appendCatalogRecord(
    _ record: (key: [UInt8], value: [UInt8]), _ catalog: Catalog, _ state: inout CommitterState
  ) throws {
    var batch = WriteBatch()
    record.key.withUnsafeBytes { key in
      record.value.withUnsafeBytes { batch.append(.put, keyspace: 0, key: key, value: $0) }
    }
    _ = try append(batch, catalog, &state)
  }

  /// Builds an index from what is there, and commits its definition.
  func buildAndCommit(
    _ index: DerivedIndex, _ definition: IndexDefinition, _ catalog: Catalog, _ state: inout CommitterState
  ) throws {
    let indexes = indexSet(for: catalog, state.root)
    if indexes.unavailable.contains(index.id) {
      throw StoreError(
        .indexUnavailable, "Nothing given in StoreOptions.indexExtractors can make index \(index.name)")
    }
    try appendCatalogRecord(CatalogRecord.index(index, definition), catalog, &state)
    let next = state.makeWorkingRoot(for: catalog)
    next.pointee.indexes[Int(index.id)].removeAll(in: state.arena)
    let reader = RecordReader(root: state.root, verifiesChecksum: true)
    do {
      let conflicts = try IndexBuild.fill([index.id], of: catalog, indexes, next, reader, blobs, state.arena)
      guard conflicts.isEmpty else {
        throw StoreError(.conflict, "Index \(index.name) would hold a key twice", conflicts: conflicts)
      }
    } catch {
      state.arena.abandon()
      Root.free(next)
      throw error
    }
    state.replaceRoot(next)
    publish(next)
  }
}
