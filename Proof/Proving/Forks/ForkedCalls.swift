package import PerdureLog

/// All calls that a forked child can make on its parent's store, except closing it.
package struct ForkedCalls {
  /// The objects that the parent had at the fork.
  package struct Handles {
    package var store: Store
    package var rows: Keyspace
    package var names: Keyspace
    package var index: DerivedIndex
    package var sums: DerivedIndex
    package var snapshot: Snapshot
    package var reader: ValueReader?
    package var writer: BlobWriter?
    package var blob: WrittenBlob?

    package init(
      _ store: Store, rows: Keyspace, names: Keyspace, index: DerivedIndex, sums: DerivedIndex,
      _ snapshot: Snapshot, reader: ValueReader? = nil, writer: BlobWriter? = nil, blob: WrittenBlob? = nil
    ) {
      (self.store, self.rows, self.names) = (store, rows, names)
      (self.index, self.sums, self.snapshot) = (index, sums, snapshot)
      (self.reader, self.writer, self.blob) = (reader, writer, blob)
    }
  }

  /// A call, with a name for messages.
  package typealias Call = (name: String, body: @Sendable (Handles) throws -> Void)

  /// All calls. Calls that write put the value 1.
  package static let all: [Call] = reads + synced + awaited + commits + upkeep + backups

  private static let reads: [Call] = [
    ("a read under a new snapshot", { _ = try $0.store.snapshot().value(id: 1, in: $0.rows) }),
    ("a read under an old snapshot", { _ = try $0.snapshot.value(id: 1, in: $0.rows) }),
    ("a read by key", { _ = try $0.snapshot.value(key: [1], in: $0.names) }),
    ("a read of many", { try $0.snapshot.withValues(ids: [1, 2], in: $0.rows) { _, _ in } }),
    ("a read of many keys", { try $0.snapshot.withValues(keys: [[1], [2]], in: $0.names) { _, _ in } }),
    ("a version", { _ = try $0.snapshot.version(.id(1), in: $0.rows) }),
    ("a scan", { try $0.snapshot.forEach(in: $0.rows, ids: 0 ... .max) { _, _ in true } }),
    ("a scan by key", { try $0.snapshot.forEach(in: $0.names, range: .all) { _, _ in true } }),
    ("a scan of keys", { try $0.snapshot.forEachKey(in: $0.names) { _ in true } }),
    ("a scan of an index", { try $0.snapshot.forEachEntry(in: $0.index) { _, _ in true } }),
    ("a count of a range", { _ = try $0.snapshot.count(in: $0.rows, ids: 1...5) }),
    ("a count of an index", { _ = try $0.store.snapshot().count(in: $0.index) }),
    ("a sum", { _ = try $0.snapshot.sum(of: 1, in: $0.sums) }),
    ("a reader", { _ = try $0.snapshot.reader(id: 1, in: $0.rows) }),
    ("a part of a value", { _ = try ($0.reader ?? $0.absent()).bytes(in: 0..<1) }),
  ]

  private static let synced: [Call] = Durability.allCases.map { durability -> Call in
    (
      "a commit, \(durability)",
      { @Sendable handles in
        try handles.store.write(durability: durability) { try $0.put([1], id: 1, in: handles.rows) }
      }
    )
  }

  private static let awaited: [Call] = Durability.allCases.map { durability -> Call in
    (
      "an awaited commit, \(durability)",
      { @Sendable handles in
        let (store, rows) = (handles.store, handles.rows)
        try InlineTask.run {
          try await store.write(durability: durability) { try $0.put([1], id: 1, in: rows) }
        }
      }
    )
  }

  private static let commits: [Call] = [
    ("an empty commit", { try $0.store.write { _ in } }),
    (
      "a commit of a removal",
      { handles in try handles.store.write { try $0.remove(id: 1, in: handles.rows) } }
    ),
    (
      "a commit of a long value",
      { handles in
        try handles.store.write { try $0.put([UInt8](repeating: 1, count: 9000), id: 2, in: handles.rows) }
      }
    ),
    (
      "a transaction",
      { handles in
        try handles.store.transaction { transaction in
          _ = try transaction.value(id: 1, in: handles.rows)
          try transaction.put([1], id: 1, in: handles.rows)
        }
      }
    ),
    ("a keyspace", { _ = try $0.store.keyspace("rows", .dense) }),
    ("a new keyspace", { _ = try $0.store.keyspace("new", .dense) }),
    ("an index", { _ = try $0.store.defineIndex(.slices("new", $0.rows, .value(offset: 0, length: 1))) }),
    ("a removal of an index", { try $0.store.removeIndex($0.index) }),
    ("a long value", { _ = try $0.store.makeBlobWriter() }),
    ("a piece of a long value", { try ($0.writer ?? $0.absent()).append([1, 2, 3]) }),
    ("an end of a long value", { _ = try ($0.writer ?? $0.absent()).finish() }),
    (
      "a commit of a written value",
      { handles in
        let blob = try handles.blob ?? handles.absent()
        try handles.store.write { try $0.put(blob, id: 3, in: handles.rows) }
      }
    ),
  ]

  private static let upkeep: [Call] = [
    ("a sync", { try $0.store.sync() }),
    ("a checkpoint", { try $0.store.checkpoint() }),
    ("a compaction", { try $0.store.compact() }),
    ("a verification", { _ = try $0.store.verify() }),
    ("statistics", { _ = try $0.store.statistics }),
    ("the list of readers", { _ = try $0.store.readers }),
    ("the list of keyspaces", { _ = try $0.store.keyspaces }),
    ("the list of indexes", { _ = try $0.store.indexes }),
    ("a refresh", { try $0.store.refresh() }),
    ("a dictionary", { _ = try $0.store.trainDictionary(for: $0.rows) }),
  ]

  private static let backups: [Call] = [
    ("a backup", { try $0.store.backup(to: $0.store.path + backupSuffix) }),
    ("a backup in a folder that is not empty", { try $0.store.backup(to: $0.store.path) }),
    ("a backup as a stream", { try $0.store.backup { _ in } }),
  ]

  /// The path suffix of the backup that a child must not make.
  package static let backupSuffix = ".child"

  /// Makes a call in a child.
  ///
  /// - Returns: Nil if the call threw `.forked`, or if the parent did not have an object that the
  ///   call needs; otherwise a description of the wrong result.
  package static func complaint(_ call: Call, _ handles: Handles) -> String? {
    do {
      try call.body(handles)
      return "\(call.name) was not refused"
    } catch let error as StoreError where error.code == .forked {
      return nil
    } catch is Absent {
      return nil
    } catch {
      return "\(call.name): \(error)"
    }
  }

  /// The parent did not have the object that a call needs.
  fileprivate struct Absent: Error {}
}

extension ForkedCalls.Handles {
  fileprivate func absent<T>() throws -> T { throw ForkedCalls.Absent() }
}
