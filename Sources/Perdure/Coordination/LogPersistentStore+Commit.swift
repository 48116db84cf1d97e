// Commits a change of the graph in the engine, and converts the conflicts that the engine reports.

internal import PerdureLog
internal import PerdurePredicates

extension LogPersistentStore {
  package func commit(_ change: StoreChange) throws -> any StoreView {
    do {
      try store.write(durability: change.durability) { try fill(&$0, with: change) }
    } catch let error as StoreError where error.code == .conflict {
      throw conflict(error, in: change)
    } catch let error as StoreError where isUncertain(error, change) {
      throw UncertainCommit(cause: error)
    }
    return view()
  }

  /// Whether a commit that failed may be in the log.
  ///
  /// `.poisoned` has two causes: a failed sync of this commit, or an earlier failure. After an
  /// earlier failure, the store refuses each commit before it writes anything. If the sequence
  /// number is unchanged, this commit was not written.
  private func isUncertain(_ error: StoreError, _ change: StoreChange) -> Bool {
    error.code == .io || error.code == .poisoned && view().sequence != change.view.sequence
  }

  /// Commits only the preconditions of a change. So the engine checks them, and also that the store
  /// is open and writable. Then checks the uniqueness of the change's rows in the newest view.
  package func check(_ change: StoreChange) throws {
    if !uncheckableConstraints.isEmpty { try checkUniquenessIsCheckable(change) }
    var conditions = StoreChange(view: change.view, schema: schema, durability: .relaxed)
    conditions.preconditions = change.preconditions
    do { _ = try commit(conditions) } catch let error as UncertainCommit {
      // This commit had no content, so nothing is uncertain.
      throw error.cause
    }
    let duplicates = try change.duplicates(in: view())
    if !duplicates.isEmpty { throw StoreConflict(duplicates: duplicates) }
  }

  private func fill(_ transaction: inout WriteTransaction, with change: StoreChange) throws {
    guard let view = change.view as? LogStoreView else {
      preconditionFailure("A change belongs to a view of the store that it is committed to.")
    }
    if !uncheckableConstraints.isEmpty { try checkUniquenessIsCheckable(change) }
    transaction.reserve(preconditionCount: change.preconditions.count)
    for precondition in change.preconditions {
      transaction.require(engineCondition(precondition, since: view.snapshot))
    }
    for reference in change.removals {
      try transaction.remove(id: reference.id, in: keyspaces.rows(of: reference.entityNumber))
    }
    try change.puts.forEach { reference, row in
      try transaction.put(row, id: reference.id, in: keyspaces.rows(of: reference.entityNumber))
    }
    for link in change.linksRemoved { try transaction.remove(key: link.key, in: links(link)) }
    for link in change.linksAdded { try transaction.put([], key: link.key, in: links(link)) }
    for place in change.places {
      try transaction.put(place.key.bytes, key: place.link.key, in: links(place.link))
    }
  }

  /// Throws if the uniqueness of a row in the change cannot be checked (LS3).
  private func checkUniquenessIsCheckable(_ change: StoreChange) throws(StoreError) {
    for reference in change.puts.references {
      guard let constraint = uncheckableConstraints[reference.entityNumber] else { continue }
      throw StoreError(
        .indexUnavailable,
        "The uniqueness of \(constraint) cannot be checked, because its index could not be built from the objects "
          + "in the store; verify the store, and salvage it into a new one", at: store.path)
    }
  }

  private func links(_ link: StoreLink) -> Keyspace {
    guard case .links(let keyspace) = keyspaces.places[link.index.rawValue] else {
      preconditionFailure("Links are kept in the direction of their first end.")
    }
    return keyspace
  }

  private func engineCondition(
    _ precondition: Precondition, since snapshot: Snapshot
  ) -> PerdureLog.Precondition {
    switch precondition {
    case .rowUnchanged(let reference, let version):
      .unchanged(
        keyspaces.rows(of: reference.entityNumber), .id(reference.id),
        RecordVersion(rawValue: version.rawValue))
    case .rowExists(let reference):
      .exists(keyspaces.rows(of: reference.entityNumber), .id(reference.id))
    case .rowAbsent(let reference):
      .unchanged(keyspaces.rows(of: reference.entityNumber), .id(reference.id), nil)
    case .rangeUnchanged(let index, let range):
      switch keyspaces.places[index.rawValue] {
      case .derived(let derived): .indexRangeUnchanged(derived, range.inLog, since: snapshot)
      case .links(let links): .rangeUnchanged(links, range.inLinks, since: snapshot)
      }
    }
  }

  private func conflict(_ error: StoreError, in change: StoreChange) -> StoreConflict {
    var conflict = StoreConflict()
    for found in error.conflicts {
      switch found {
      case .precondition(let position, _): conflict.failed.append(change.preconditions[position])
      case .duplicateKey(let derived, let key, let existing, let rejected):
        guard let index = schema.index(named: derived.name) else { continue }
        conflict.duplicates.append(
          .init(
            index: index, key: key, existing: ObjectReference(rawValue: existing),
            rejected: ObjectReference(rawValue: rejected)))
      }
    }
    return conflict
  }
}

extension StoreLink {
  fileprivate var key: [UInt8] {
    withUnsafeBytes(of: (source.rawValue.bigEndian, target.rawValue.bigEndian)) { Array($0) }
  }
}

extension KeyRange {
  /// Converts a range of link sources to a range of link keys. A link key is the source followed by
  /// the target.
  fileprivate var inLinks: PerdureLog.KeyRange {
    if upper == lower + [0] { return .prefix(lower) }
    return inLog
  }
}
