import PerdureFormat

// Updates derived indexes in an opening with a checkpoint.
//
// The checkpoint has the entries for the records that were live at its commit. The replay of the
// tail notes the address words of two sets: records of the checkpoint that were replaced, and all
// new records. Then the entries of replaced records are removed, and the entries of new records
// that are still live are added. A record that was added and replaced within the tail changes
// nothing.
//
// A replaced record is older than the tail, so this opening has not verified it. It must have the
// same keyspace and key as the record that replaced it. If another record is read at its address,
// the index becomes wrong. If checksums are not bound to addresses (D20), that other record can be
// an earlier record of the same key. The index usually has no entry of that record, so a missing
// entry reveals the error. If an entry to remove is missing, the checkpoint is not used.
//
// Extractors are made once, from the values at the end of the log. These values must not change the
// entries that an extractor makes for older records (`IndexExtractorFactory`).
//
// An index is rebuilt from all records if the checkpoint lacks the index or marks it as incomplete,
// or if the tail redefines it. It is also rebuilt if its source index is rebuilt, or if a value
// that the update needs can no longer be read.

struct TailIndexes {
  private let checkpoint: OpenedCheckpoint
  private let catalog: Catalog
  private let root: UnsafeMutablePointer<Root>
  private let indexes: IndexSet
  private let reader: RecordReader
  private let contents: RecordContents
  private let arena: NodeArena
  /// Whether replaced records are compared with their replacements
  /// (`StoreOptions.comparesReplacedRecords`).
  var comparesKeys = true
  /// The indexes whose trees are taken from the checkpoint and then updated.
  private var kept: Set<UInt32> = []

  init(
    _ checkpoint: OpenedCheckpoint, _ catalog: Catalog, _ root: UnsafeMutablePointer<Root>,
    _ indexes: IndexSet, _ contents: RecordContents, _ arena: NodeArena
  ) {
    self.checkpoint = checkpoint
    self.catalog = catalog
    self.root = root
    self.indexes = indexes
    self.contents = contents
    self.arena = arena
    reader = RecordReader(root: root, verifiesChecksum: true)
    kept = keepable
  }

  /// The available indexes that are complete in the checkpoint and whose definition is unchanged.
  private var keepable: Set<UInt32> {
    var keepable: Set<UInt32> = []
    for (entry, stored) in zip(checkpoint.catalog.indexes, checkpoint.root.indexes) {
      let id = entry.index.id
      let isSame = catalog.indexes[Int(id)].definition == entry.definition
      if stored.isComplete, isSame, !indexes.unavailable.contains(id) { keepable.insert(id) }
    }
    return Self.withoutStrays(keepable, catalog)
  }

  /// Removes indexes whose base index is not in `ids`: they are built together with the base index.
  private static func withoutStrays(_ ids: Set<UInt32>, _ catalog: Catalog) -> Set<UInt32> {
    ids.filter { id in catalog.indexes[Int(id)].definition.source.base.map { ids.contains($0.id) } ?? true }
  }

  /// The indexes that have to be filled from all records.
  var stale: Set<UInt32> { catalog.ids.subtracting(indexes.unavailable).subtracting(kept) }

  /// The kept unique indexes that already contained a key twice in the checkpoint.
  var suspects: [DerivedIndex] {
    kept.sorted().map { catalog.indexes[Int($0)].index }
      .filter { $0.isUnique && checkpoint.root.indexes[Int($0.id)].hasDuplicates }
  }

  /// Updates the kept indexes.
  ///
  /// - Parameter live: The records of the tail that no later record of the tail replaced.
  /// - Returns: Conflicts for the keys that unique indexes contain twice because of the tail.
  /// - Throws: `IndexUnusable` if a record from before the checkpoint cannot be read, if an index
  ///   lacks its entry, or if a stored sum does not contain the numbers to subtract. `StoreError`
  ///   if a record of the tail cannot be read.
  mutating func apply(_ tail: TailChanges, live: [UInt64]) throws -> [Conflict] {
    dropUnreadable(tail, live)
    let wanted = catalog.keyspaces.map { self.wanted($0.id) }
    for id in kept { root.pointee.indexes[Int(id)] = checkpoint.indexes[Int(id)] }
    var update = IndexUpdate(root.pointee.indexes, in: arena)
    var hold = GroupHold()
    defer { hold.release() }
    for gone in tail.replaced {
      try gone.withRecord(reader, &hold, comparesKey: comparesKeys) {
        try change($0, of: wanted, isGone: true, &update)
      }
    }
    for word in live { try change(reader.record(at: word, &hold), of: wanted, isGone: false, &update) }
    let file = StoreFileName.index(checkpoint.reference.indexFile).string
    let conflicts: [Conflict]
    do throws(IndexMisfit) { conflicts = try update.finish() } catch {
      // The index may be wrong because a node is damaged. In that case report the node.
      try checkpoint.checkNodes()
      throw IndexUnusable(error.text(catalog), at: file)
    }
    return conflicts
  }

  /// Drops the indexes over keyspaces in which a value cannot be read, because its file is missing
  /// or damaged. Such indexes cannot be updated.
  private mutating func dropUnreadable(_ tail: TailChanges, _ live: [UInt64]) {
    var unreadable: Set<UInt32> = []
    var hold = GroupHold()
    defer { hold.release() }
    func look(at record: Record) {
      let wanted = wanted(record.header.keyspace).map(\.index.id)
      if wanted.isEmpty || unreadable.isSuperset(of: wanted) { return }
      if (try? contents.withValue(of: record, { _ in })) == nil { unreadable.formUnion(wanted) }
    }
    // Errors of records are ignored here, because the update throws them with their offset.
    for gone in tail.replaced where gone.isBlob {
      try? gone.withRecord(reader, &hold, comparesKey: comparesKeys, look)
    }
    for word in live where RecordAddress(rawValue: word).isBlob {
      if let record = try? reader.record(at: word, &hold) { look(at: record) }
    }
    kept = Self.withoutStrays(kept.subtracting(unreadable), catalog)
  }

  private func wanted(_ keyspace: UInt32) -> [IndexSet.RecordIndex] {
    indexes.indexes(over: keyspace).filter { kept.contains($0.index.id) }
      .map { index in
        IndexSet.RecordIndex(
          index: index.index, extractor: index.extractor, radix: index.radix,
          dependents: index.dependents.filter { kept.contains($0.id) })
      }
  }

  /// - Parameter wanted: The kept indexes over each keyspace, by keyspace id.
  private func change(
    _ record: Record, of wanted: [[IndexSet.RecordIndex]], isGone: Bool, _ update: inout IndexUpdate
  ) throws {
    let keyspace = Int(record.header.keyspace)
    guard keyspace < wanted.count, !wanted[keyspace].isEmpty else { return }
    let wanted = wanted[keyspace]
    try contents.withValue(of: record) { value in
      for index in wanted {
        update.change(
          index, keyspace: record.header.keyspace, key: record.key, from: isGone ? value : nil,
          to: isGone ? nil : value)
      }
    }
  }
}

/// The changes of records in the log after a checkpoint.
struct TailChanges {
  /// The position of the checkpoint.
  let start: LogPosition
  /// Replaced records of the checkpoint, in keyspaces with indexes, and all its replaced blobs.
  var replaced: [ReplacedRecord] = []
  /// The records that the tail put, in keyspaces with indexes, and all blobs it put.
  var added: [UInt64] = []
  /// Whether changes of a keyspace's records are noted, by keyspace id.
  let isInteresting: [Bool]

  /// The records of the tail that no later record of the tail replaced.
  func live(_ root: UnsafeMutablePointer<Root>, _ catalog: Catalog) throws -> [UInt64] {
    let reader = RecordReader(root: root, verifiesChecksum: true)
    var hold = GroupHold()
    defer { hold.release() }
    return try added.filter { word in
      let record = try reader.record(at: word, &hold)
      let keyspace = Int(record.header.keyspace)
      // The scan of the tail has verified this record. So the medium has now returned other bytes.
      guard keyspace < catalog.keyspaces.count else { throw reader.misplaced(RecordAddress(rawValue: word)) }
      let kind = catalog.keyspaces[keyspace].kind
      guard kind == .bytes || record.header.keyLength == 8 else {
        throw reader.misplaced(RecordAddress(rawValue: word))
      }
      return root.trees(of: catalog.keyspaces[keyspace]).word(for: record.key, kind) == word
    }
  }

  /// - Parameters:
  ///   - old: The record that was replaced, if there was one.
  ///   - new: The record that replaced it: a value or a tombstone.
  mutating func note(old: UInt64?, new: RecordAddress, isTombstone: Bool, _ keyspace: Int) {
    let isInteresting = keyspace < self.isInteresting.count && self.isInteresting[keyspace]
    if let old {
      let address = RecordAddress(rawValue: old)
      if address.position < start, isInteresting || address.isBlob {
        replaced.append(ReplacedRecord(word: old, replacement: new.rawValue))
      }
    }
    if !isTombstone, isInteresting || new.isBlob { added.append(new.rawValue) }
  }
}

/// A record of the checkpoint that the tail replaced.
struct ReplacedRecord {
  let word: UInt64
  /// The address word of the value or tombstone that replaced it.
  let replacement: UInt64

  var isBlob: Bool { RecordAddress(rawValue: word).isBlob }

  /// Calls `body` with the record, after checking that it has the keyspace and the key of the
  /// replacement.
  ///
  /// - Throws: `IndexUnusable` if the record cannot be read or has another key. Compaction may have
  ///   removed it, or it is damaged.
  func withRecord(
    _ reader: RecordReader, _ hold: inout GroupHold, comparesKey: Bool,
    _ body: (Record) throws -> Void
  ) throws {
    var replacementHold = GroupHold()
    defer { replacementHold.release() }
    let newer = try reader.record(at: replacement, &replacementHold)
    let record: Record
    do throws(StoreError) {
      record =
        comparesKey
        ? try reader.record(at: word, keyspace: newer.header.keyspace, key: newer.key, &hold)
        : try reader.record(at: word, &hold)
    } catch {
      throw IndexUnusable(
        "a record that was replaced since the checkpoint cannot be read", at: error.place ?? "the log")
    }
    try body(record)
  }
}
