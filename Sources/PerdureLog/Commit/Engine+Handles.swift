import PerdureFormat

// Handles of keyspaces and indexes are values with a number that each store assigns. A handle of
// another store may have the number of another keyspace, or an unused number. When a commit gets
// its turn, it first checks all its handles. The mark of a keyspace is a hash of the store, the
// name and the kind. The mark of an index omits the kind. A read of a snapshot compares the
// handle's mark with the mark in the snapshot's root. Reads that cannot throw return no entries for
// a handle of another store.

extension Catalog {
  /// - Throws: `StoreError` with code `.invalidArgument` if the handle belongs to another store.
  func check(_ keyspace: Keyspace) throws(StoreError) {
    guard Int(keyspace.id) < keyspaces.count, keyspaces[Int(keyspace.id)] == keyspace else {
      throw .foreign("Keyspace", keyspace.name, keyspace.id, "Store.keyspace(_:_:)")
    }
  }

  /// Like `check(_:)` for keyspaces. Only the mark is compared, because the source of the index may
  /// have changed since the handle was returned.
  func check(_ index: DerivedIndex) throws(StoreError) {
    guard Int(index.id) < indexes.count, indexes[Int(index.id)].index.mark == index.mark else {
      throw .foreign(index)
    }
  }
}

extension Engine {
  /// Step 1 of a commit (Engine+Commit): checks that all handles in the commit belong to this
  /// store.
  func check(_ batch: borrowing WriteBatch, _ preconditions: [Precondition], _ catalog: Catalog)
    throws(StoreError)
  {
    if let keyspace = batch.keyspace { try catalog.check(keyspace) }
    if let extras = batch.extras {
      for keyspace in extras.otherKeyspaces { try catalog.check(keyspace) }
    }
    for precondition in preconditions { try check(precondition, catalog) }
  }

  private func check(_ precondition: Precondition, _ catalog: Catalog) throws(StoreError) {
    switch precondition {
    case .unchanged(let keyspace, let key, _), .exists(let keyspace, let key):
      try catalog.check(keyspace)
      try keyspace.check(key.kind)
    case .indexRangeUnchanged(let index, _, let snapshot):
      try catalog.check(index)
      try check(snapshot)
    case .rangeUnchanged(let keyspace, _, let snapshot):
      try catalog.check(keyspace)
      try keyspace.check(.bytes)
      try check(snapshot)
    case .idRangeUnchanged(let keyspace, _, let snapshot):
      try catalog.check(keyspace)
      try keyspace.check(.dense)
      try check(snapshot)
    }
  }

  /// A snapshot from an earlier opening of the same store is valid. The versions that preconditions
  /// compare are address words, which are the same in all openings.
  private func check(_ snapshot: Snapshot) throws(StoreError) {
    guard snapshot.engine.storeID == storeID else {
      throw StoreError(
        .invalidArgument,
        "A precondition names a snapshot of another store; nothing was written. Use a snapshot of this store")
    }
  }
}

extension Keyspace {
  /// - Throws: `StoreError` with code `.invalidArgument` if the keyspace has the other kind.
  func check(_ kind: KeyspaceKind) throws(StoreError) {
    guard self.kind == kind else {
      throw StoreError(.invalidArgument, "Keyspace \(name) has keys of kind \(self.kind), not \(kind)")
    }
  }
}

extension Snapshot {
  /// The trees of a keyspace; empty trees if the keyspace is newer than the snapshot.
  /// - Throws: `StoreError` with code `.invalidArgument` if the snapshot has another mark for the
  ///   keyspace's number.
  @inline(__always)
  func trees(of keyspace: Keyspace) throws(StoreError) -> KeyspaceRoot {
    try engine.checkProcess()
    guard Int(keyspace.id) < root.pointee.keyspaceCount else { return KeyspaceRoot() }
    let trees = root.pointee.keyspaces[Int(keyspace.id)]
    guard trees.mark == keyspace.mark else { throw Self.foreign(keyspace) }
    return trees
  }

  /// Like `trees(of:)`, for reads that cannot throw. Returns empty trees if the handle belongs to
  /// another store.
  @inline(__always)
  func knownTrees(of keyspace: Keyspace) -> KeyspaceRoot {
    let trees = root.trees(of: keyspace)
    return trees.mark == keyspace.mark ? trees : KeyspaceRoot()
  }

  @inline(__always)
  func tree(of keyspace: Keyspace) throws(StoreError) -> OrderedTree { try trees(of: keyspace).ordered }

  /// The tree of an index; an empty tree if the index is newer than the snapshot.
  /// - Throws: `StoreError`: `.invalidArgument` if the snapshot has another mark for the index's
  ///   number, `.indexUnavailable` if the index was not maintained at the time of the snapshot.
  @inline(__always)
  func tree(of index: DerivedIndex) throws(StoreError) -> OrderedTree {
    try engine.checkProcess()
    guard Int(index.id) < root.pointee.indexCount else { return OrderedTree() }
    let mark = root.pointee.indexMarks[Int(index.id)]
    guard mark.mark == index.mark else { throw StoreError.foreign(index) }
    guard !mark.isUnavailable else { throw Self.unavailable(index) }
    return root.pointee.indexes[Int(index.id)]
  }

  /// The error for an index that was built after the snapshot was taken. For an index that is still
  /// unavailable, `Engine.checkAvailable(_:)` has already thrown an error with the reason.
  @inline(never)
  private static func unavailable(_ index: DerivedIndex) -> StoreError {
    StoreError(
      .indexUnavailable,
      "Index \(index.name) was unavailable when the snapshot was taken; take a new snapshot")
  }

  @inline(never)
  private static func foreign(_ keyspace: Keyspace) -> StoreError {
    .foreign("Keyspace", keyspace.name, keyspace.id, "Store.keyspace(_:_:)")
  }
}

extension StoreError {
  @inline(never)
  fileprivate static func foreign(_ index: DerivedIndex) -> StoreError {
    foreign("Index", index.name, index.id, "Store.defineIndex(_:)", ", or was removed")
  }

  fileprivate static func foreign(
    _ what: String, _ name: String, _ id: UInt32, _ source: String, _ otherwise: String = ""
  ) -> StoreError {
    StoreError(
      .invalidArgument,
      "\(what) \(name) (number \(id)) belongs to another store\(otherwise); nothing was changed. A handle is "
        + "valid only for the store that returned it: get a handle from this store with \(source)")
  }
}
