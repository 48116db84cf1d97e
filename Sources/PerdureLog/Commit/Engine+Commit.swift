import PerdureFileIO
import PerdureFormat

// A commit, step by step. Steps 1 to 4 change memory only: a refused commit leaves no byte in the
// log and no change in the index.
//
//  1  check that the handles in the commit belong to this store (Engine+Handles), and check the
//     preconditions against the newest root
//  2  lay the records out as frames (LogEncoder), which determines their addresses
//  3  put the addresses into a working copy of the index; note which record each new record
//     replaces
//  4  update derived indexes and check uniqueness
//  5  write the frames. Before a new segment begins, all bytes before it are synced. Without free
//     space, the log is rolled back to its previous end. A commit that makes the store smaller is
//     then retried with the space of the `Reserve`
//  6  publish the new root: the commit is visible
//  7  (outside the turn) wait for the sync, if the caller requested it

/// The sequence number of a commit, and its end in the log.
struct CommitReceipt: Sendable {
  let sequence: UInt64
  let end: LogPosition
}

extension Engine {
  /// Steps 1 to 6.
  func append(
    _ batch: borrowing WriteBatch, _ preconditions: [Precondition], catalog: Catalog? = nil
  ) throws -> CommitReceipt {
    try inTurn { state in
      try check(batch, preconditions, state.catalog)
      if !preconditions.isEmpty { try checkingIndex { try check(preconditions, state.root) } }
      return try append(batch, catalog, &state)
    }
  }

  /// Step 7.
  func sync(_ receipt: CommitReceipt, _ durability: Durability) throws(StoreError) {
    switch durability {
    case .relaxed, .processCrash: break
    case .ordered: gate.requestSync(receipt.end)
    case .powerLoss: try gate.waitUntilSynced(receipt.end)
    }
  }

  /// Steps 2 to 6, in a turn.
  ///
  /// - Parameters:
  ///   - newCatalog: The catalog after the commit. Nil if the commit does not change the catalog,
  ///     or only adds keyspaces that the caller has already added to `state.catalog`.
  ///   - prepare: Changes the working root first. Pass it only for commits with a new catalog,
  ///     because these changes are not noted (`RootChanges`).
  func append(
    _ batch: borrowing WriteBatch, _ newCatalog: Catalog?, _ state: inout CommitterState,
    _ prepare: (UnsafeMutablePointer<Root>) throws -> Void = { _ in }
  ) throws -> CommitReceipt {
    if !state.lostUniqueIndexes.isEmpty { try checkUniquenessCanBeJudged(batch, state) }
    let next = state.makeWorkingRoot(for: newCatalog)
    beginEncoding(&state)
    var blobs: BlobChanges?
    do {
      try checkingIndex {
        try prepare(next)
        try place(batch, into: next, &blobs, &state)
      }
      if state.encoder.isEmpty { return nothingToCommit(next, &state) }
      if reserve.isShort { try checkRoom(for: state.usageChange) }
      state.encoder.finish()
      try checkNumbers(of: state.encoder)
      try StoreLimits.check(commitParts: state.encoder.partCount)
    } catch {
      discard(next, &state)
      guard let misfit = error as? IndexMisfit else { throw error }
      leaveOut(misfit, &state)
      return try append(batch, newCatalog, &state, prepare)
    }
    do {
      try writeEncoded(&state)
    } catch {
      let mayUseReserve = error.code == .diskFull && state.usageChange.shrinksStore
      discard(next, &state)
      guard mayUseReserve, reserve.free(.removals, for: error.cause) else { throw error }
      return try append(batch, newCatalog, &state, prepare)
    }
    state.applyUsageChange()
    let receipt = commit(next, newCatalog, batch.recordCount, &state)
    state.statistics.recordBytes += UInt64(batch.records.count)
    if let blobs { state.note(blobs) }
    removeUnreachableBlobs(&state)
    compactor?.note(state.usage.totals, of: self)
    if state.tailBytes >= state.nextTailCheck { noteTail(&state) }
    if state.end.offset >= state.nextReserveCheck { holdReserve(&state) }
    return receipt
  }

  /// Stops maintaining the indexes that may differ from their records. A wrong index must not
  /// prevent writing records, unless it is unique. It is rebuilt like any index that was not
  /// maintained.
  ///
  /// Each call excludes at least one more index, so a commit is retried a limited number of times.
  private func leaveOut(_ misfit: IndexMisfit, _ state: inout CommitterState) {
    let left = misfit.affected(in: state.catalog)
    state.incompleteIndexes.formUnion(left)
    state.lostUniqueIndexes.formUnion(left.filter { state.catalog.indexes[Int($0)].definition.isUnique })
    state.adopt(indexSet(for: state.catalog, state.root, excluding: state.incompleteIndexes))
    // Published separately, because the commit may still be refused.
    let next = state.makeWorkingRoot()
    next.pointee.markUnavailable(state.indexes.unavailable)
    state.rootPool.changes.forgetAll()
    noteMisfit(of: left, misfit.text(state.catalog))
    unavailableIndexes = state.indexes.unavailable
    showRoot(next, &state)
  }

  /// Refuses to put records into the keyspaces of a unique index that a commit stopped maintaining:
  /// two records could have the same key. Removals are allowed.
  private func checkUniquenessCanBeJudged(
    _ batch: borrowing WriteBatch, _ state: borrowing CommitterState
  ) throws {
    var lost: [UInt32: UInt32] = [:]
    for index in state.lostUniqueIndexes.intersection(state.incompleteIndexes).sorted() {
      let source = state.catalog.indexes[Int(index)].definition.source.extraction
      for keyspace in source?.keyspaces ?? [] { lost[keyspace.id] = index }
    }
    if lost.isEmpty { return }
    var records = SealedRecords(in: batch.records.bytes)
    while let (record, _, _) = try records.next() {
      guard record.header.kind != .tombstone, let index = lost[record.header.keyspace] else { continue }
      throw StoreError(
        .indexUnavailable,
        "Unique index \(state.catalog.indexes[Int(index)].index.name) is no longer maintained, so another record "
          + "could have the same key. \(misfit(of: index) ?? ""). Nothing was written. Open the store again or "
          + "define the index again: this rebuilds it from the records", at: path)
    }
  }

  private func checkNumbers(of encoder: borrowing LogEncoder) throws(StoreError) {
    if encoder.end.segment > FormatLimits.segmentNumberMax {
      throw StoreError(
        .invalidArgument, "The log has no number left for another segment; put the values into a new store")
    }
    if encoder.sequence > FormatLimits.counterMax {
      throw StoreError(
        .invalidArgument, "The log has no number left for another commit; put the values into a new store")
    }
  }

  private func beginEncoding(_ state: inout CommitterState) {
    let synced = gate.syncedEnd
    let syncedOffset =
      synced.segment == state.end.segment
      ? max(Int(synced.offset), SegmentHeader.length) : SegmentHeader.length
    state.encoder.begin(
      sequence: state.root.pointee.sequence + 1, end: state.end, syncedOffset: syncedOffset,
      segmentCapacity: state.segmentCapacity, bindsRecords: state.bindsRecords,
      nextSegment: state.nextSegment)
  }

  /// Steps 2, 3 and 4.
  private func place(
    _ batch: borrowing WriteBatch, into next: UnsafeMutablePointer<Root>, _ blobs: inout BlobChanges?,
    _ state: inout CommitterState
  ) throws {
    // Created for the first record that an index covers. Most commits of one record need none.
    var update: IndexUpdate?
    let bytesOfAll = batch.records.bytes
    var records = SealedRecords(in: bytesOfAll)
    while let (record, offset, length) = try records.next() {
      let bytes = bytesOfAll.part(offset, length)
      let old = try place(record, bytes, into: next, &update, &state)
      if record.header.kind == .blob {
        if blobs == nil { blobs = BlobChanges() }
        blobs?.named.append(try BlobReference(in: record).number)
      }
      if let old, RecordAddress(rawValue: old).isBlob {
        if blobs == nil { blobs = BlobChanges() }
        blobs?.superseded.append(try blobNumber(at: old, replacedBy: record, state))
      }
    }
    guard let conflicts = try update?.finish(), !conflicts.isEmpty else { return }
    throw StoreError(
      .conflict, "A unique index would contain a key twice; nothing was written", conflicts: conflicts)
  }

  private func place(
    _ record: Record, _ bytes: UnsafeRawBufferPointer, into next: UnsafeMutablePointer<Root>,
    _ update: inout IndexUpdate?, _ state: inout CommitterState
  ) throws -> UInt64? {
    let id = record.header.keyspace
    let keyspace = next.pointee.keyspaces + Int(id)
    let kind = id == 0 ? .bytes : state.catalog.keyspaces[Int(id)].kind
    state.rootPool.changes.note(id, state.indexes)
    let old: UInt64?
    if record.header.kind == .tombstone {
      guard let shadowed = keyspace.pointee.remove(record.key, kind, in: state.arena) else { return nil }
      old = shadowed
      state.usageChange.addTombstone(appendTombstone(record, shadowing: shadowed, to: &state.encoder))
    } else {
      let address = state.encoder.append(bytes, isBlob: record.header.kind == .blob)
      old = keyspace.pointee.put(record.key, kind, address.rawValue, in: state.arena)
      state.usageChange.add(address)
    }
    if let old { state.usageChange.release(old) }
    let derived = state.indexes.over(id)
    if derived.all.isEmpty { return old }
    if update == nil { update = IndexUpdate(next.pointee.indexes, in: state.arena) }
    var hold = GroupHold()
    defer { hold.release() }
    let oldRecord = try old.map { try self.record(at: $0, replacedBy: record, state, &hold) }
    try withValue(of: oldRecord) { oldValue in
      try withValue(of: record.header.kind == .tombstone ? nil : record) { newValue in
        derived.forEach(keyspace: id, key: record.key, from: oldValue, to: newValue) { index in
          update?.change(index, keyspace: id, key: record.key, from: oldValue, to: newValue)
        }
      }
    }
    return old
  }

  /// Calls `body` with the value of a record that may be absent.
  private func withValue(of record: Record?, _ body: (UnsafeRawBufferPointer?) throws -> Void) throws {
    guard let record else { return try body(nil) }
    // This check saves a call of `contents`, which takes more time than the check.
    if record.header.kind.holdsPlainValue { return try body(record.value) }
    try contents.withValue(of: record) { try body($0) }
  }

  /// Appends a tombstone. It contains the address of the shadowed record, which only the committer
  /// knows.
  private func appendTombstone(
    _ record: Record, shadowing word: UInt64, to encoder: inout LogEncoder
  ) -> RecordAddress {
    withUnsafeTemporaryAllocation(byteCount: record.header.paddedLength, alignment: 8) { copy in
      copy[RecordHeader.length...].copyBytes(from: record.key)
      copy.setInteger(word, at: RecordHeader.length + record.header.keyLength)
      record.header.seal(copy)
      return encoder.append(UnsafeRawBufferPointer(copy), isBlob: false)
    }
  }

  private func blobNumber(
    at word: UInt64, replacedBy newer: Record, _ state: borrowing CommitterState
  ) throws -> UInt64 {
    var hold = GroupHold()
    defer { hold.release() }
    return try BlobReference(in: record(at: word, replacedBy: newer, state, &hold)).number
  }

  /// Reads the record that `newer` replaces.
  ///
  /// - Throws: `.corruption` if the record is damaged or has another key. In the second case, the
  ///   entries of the replaced record cannot be found in the indexes.
  private func record(
    at word: UInt64, replacedBy newer: Record, _ state: borrowing CommitterState, _ hold: inout GroupHold
  ) throws -> Record {
    let address = RecordAddress(rawValue: word)
    // The record was made in this commit, so its bytes need no check.
    if let bytes = state.encoder.record(at: address) { return try Record(reading: bytes, .none) }
    let reader = RecordReader(root: state.root, verifiesChecksum: true)
    if !options.comparesReplacedRecords { return try reader.record(at: word, &hold) }
    return try reader.record(at: word, keyspace: newer.header.keyspace, key: newer.key, &hold)
  }

  /// The derived indexes of a catalog, with new extractors.
  ///
  /// - Parameter pending: Values of the commit that are not in the log yet.
  func indexSet(
    for catalog: Catalog, _ root: UnsafeMutablePointer<Root>, excluding incomplete: Set<UInt32>,
    pending: [StoredValues.Pending] = []
  ) -> IndexSet {
    IndexSet(
      catalog, factories: options.indexExtractors,
      reading: StoredValues(catalog, root, contents, pending: pending), excluding: incomplete)
  }

  private func nothingToCommit(
    _ next: UnsafeMutablePointer<Root>, _ state: inout CommitterState
  ) -> CommitReceipt {
    let receipt = CommitReceipt(sequence: state.root.pointee.sequence, end: state.end)
    discard(next, &state)
    return receipt
  }

  private func discard(_ next: UnsafeMutablePointer<Root>, _ state: inout CommitterState) {
    state.usageChange.removeAll()
    state.arena.abandon()
    state.free(next)
  }

  /// Step 6.
  private func commit(
    _ next: UnsafeMutablePointer<Root>, _ newCatalog: Catalog?, _ recordCount: Int,
    _ state: inout CommitterState
  ) -> CommitReceipt {
    let receipt = CommitReceipt(sequence: state.encoder.sequence, end: state.end)
    next.pointee.sequence = receipt.sequence
    next.pointee.end = receipt.end
    next.pointee.segments = state.segments.entries
    if let catalog = newCatalog {
      state.catalog = catalog
      state.dictionaries.adopt(catalog)
      packing?.adopt(catalog)
      state.adopt(indexSet(for: catalog, next, excluding: state.incompleteIndexes))
      next.pointee.markUnavailable(state.indexes.unavailable)
      state.rootPool.changes.forgetAll()
      unavailableIndexes = state.indexes.unavailable
    }
    state.statistics.commits += 1
    state.statistics.records += recordCount
    state.replaceRoot(next)
    publish(next)
    if state.shouldReclaim { reclaim(&state) }
    return receipt
  }
}
