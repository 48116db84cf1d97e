import PerdureFormat

// Derived indexes behind a checkpoint.
//
// The trees of the checkpoint say what the definitions gave for the records of then. The tail
// changed records; the replay has noted which: the address words of records that were there at the
// checkpoint and were replaced, and of all that came. What was changed and changed back, or came
// and went, cancels out: the entries of replaced records are taken away, and the entries of those
// that came and are still live are put in.
//
// A replaced record is older than the tail, so this opening has not verified it. It is compared
// with the record that replaced it, which has the same keyspace and key: another record in its
// place would leave the index wrong.
//
// Extractors are made once, from the values at the end of the log; what they look up there does not
// change what they say of older records (`IndexExtractorFactory`).
//
// An index is filled anew, from all records, if the checkpoint has it not, or incomplete, or if the
// tail defines it otherwise, or if a value that its change depends on cannot be read any more.

struct TailIndexes {
  private let checkpoint: OpenedCheckpoint
  private let catalog: Catalog
  private let root: UnsafeMutablePointer<Root>
  private let indexes: IndexSet
  private let reader: RecordReader
  private let contents: RecordContents
  private let arena: NodeArena
  /// Indexes whose trees in the checkpoint are brought up to date.
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

  /// Indexes that the checkpoint has whole, and that mean the same now.
  private var keepable: Set<UInt32> {
    var keepable: Set<UInt32> = []
    for (entry, stored) in zip(checkpoint.catalog.indexes, checkpoint.root.indexes) {
      let id = entry.index.id
      let isSame = catalog.indexes[Int(id)].definition == entry.definition
      if stored.isComplete, isSame, !indexes.unavailable.contains(id) { keepable.insert(id) }
    }
    return Self.withoutStrays(keepable, catalog)
  }

  /// What is made from another index goes with that.
  private static func withoutStrays(_ ids: Set<UInt32>, _ catalog: Catalog) -> Set<UInt32> {
    ids.filter { id in catalog.indexes[Int(id)].definition.source.base.map { ids.contains($0.id) } ?? true }
  }

  /// The indexes that have to be filled from all records.
  var stale: Set<UInt32> { catalog.ids.subtracting(indexes.unavailable).subtracting(kept) }

  /// The unique indexes among those kept that were known to hold a key twice.
  var suspects: [DerivedIndex] {
    kept.sorted().map { catalog.indexes[Int($0)].index }
      .filter { $0.isUnique && checkpoint.root.indexes[Int($0.id)].hasDuplicates }
  }

  /// Brings what is kept up to date.
  ///
  /// - Parameter live: The records of the tail that nothing in it replaced.
  /// - Returns: Keys that a unique index holds twice since.
  /// - Throws: `IndexUnusable` when a record that was there at the checkpoint cannot be read, or a sum is none.
  mutating func apply(_ tail: TailChanges, live: [UInt64]) throws -> [Conflict] {
    dropUnreadable(tail, live)
    let wanted = catalog.keyspaces.map { self.wanted($0.id) }
    for id in kept { root.pointee.indexes[Int(id)] = checkpoint.indexes[Int(id)] }
    var update = IndexUpdate(root.pointee.indexes, in: arena)
    var hold = GroupHold()
    defer { hold.release() }
    for gone in tail.gone {
      try gone.withRecord(reader, &hold) { try change($0, of: wanted, isGone: true, &update) }
    }
    for word in live { try change(reader.record(at: word, &hold), of: wanted, isGone: false, &update) }
    do throws(SumMisfit) { return try update.finish() } catch {
      // What came of a damaged node is no sum either.
      try checkpoint.checkNodes()
      let file = StoreFileName.index(checkpoint.reference.indexFile).string
      throw IndexUnusable(error.text(catalog), at: file)
    }
  }

  /// An index over a keyspace in which a value can be read no more, because its file is gone or
  /// damaged, cannot be brought up to date.
  private mutating func dropUnreadable(_ tail: TailChanges, _ live: [UInt64]) {
    var unreadable: Set<UInt32> = []
    var hold = GroupHold()
    defer { hold.release() }
    func look(at record: Record) {
      let wanted = wanted(record.header.keyspace).map(\.index.id)
      if wanted.isEmpty || unreadable.isSuperset(of: wanted) { return }
      if (try? contents.withValue(of: record, { _ in })) == nil { unreadable.formUnion(wanted) }
    }
    // A record that is not whole stops the update itself, with its place.
    for gone in tail.gone where gone.isBlob { try? gone.withRecord(reader, &hold, look) }
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

  /// - Parameter wanted: By keyspace id: the indexes over it that are kept.
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

/// What the log behind a checkpoint did to the records.
struct TailChanges {
  /// Where the checkpoint was taken.
  let start: LogPosition
  /// Records that were there at the checkpoint and were replaced; of interesting keyspaces, and
  /// blobs.
  var gone: [ReplacedRecord] = []
  /// Records that the tail put.
  var came: [UInt64] = []
  /// By keyspace id: whether changes of its records are of interest.
  let isInteresting: [Bool]

  /// The records of the tail that nothing in it replaced.
  func live(_ root: UnsafeMutablePointer<Root>, _ catalog: Catalog) throws -> [UInt64] {
    let reader = RecordReader(root: root, verifiesChecksum: true)
    var hold = GroupHold()
    defer { hold.release() }
    return try came.filter { word in
      let record = try reader.record(at: word, &hold)
      let keyspace = Int(record.header.keyspace)
      // The scan of the tail has verified this record: the medium gives other bytes now.
      guard keyspace < catalog.keyspaces.count else { throw reader.misplaced(RecordAddress(rawValue: word)) }
      let kind = catalog.keyspaces[keyspace].kind
      guard kind == .bytes || record.header.keyLength == 8 else {
        throw reader.misplaced(RecordAddress(rawValue: word))
      }
      return root.trees(of: catalog.keyspaces[keyspace]).word(for: record.key, kind) == word
    }
  }

  /// - Parameters:
  ///   - old: The record that lost its key, if there was one.
  ///   - new: The record that replaced it: a value, or a tombstone.
  mutating func note(old: UInt64?, new: RecordAddress, isTombstone: Bool, _ keyspace: Int) {
    let isInteresting = keyspace < self.isInteresting.count && self.isInteresting[keyspace]
    if let old {
      let address = RecordAddress(rawValue: old)
      if address.position < start, isInteresting || address.isBlob {
        gone.append(ReplacedRecord(word: old, replacement: new.rawValue))
      }
    }
    if !isTombstone, isInteresting || new.isBlob { came.append(new.rawValue) }
  }
}

/// A record that was there at the checkpoint, and what the tail put in its place.
struct ReplacedRecord {
  let word: UInt64
  /// The address word of the value or tombstone that replaced it.
  let replacement: UInt64

  var isBlob: Bool { RecordAddress(rawValue: word).isBlob }

  /// Calls `body` with the record, which is the one whose key was taken from it.
  ///
  /// - Throws: `IndexUnusable` where it cannot be read: compaction may have removed it since, or it is damaged.
  func withRecord(
    _ reader: RecordReader, _ hold: inout GroupHold, _ body: (Record) throws -> Void
  ) throws {
    var replacementHold = GroupHold()
    defer { replacementHold.release() }
    let newer = try reader.record(at: replacement, &replacementHold)
    let record: Record
    do throws(StoreError) {
      record = try reader.record(at: word, keyspace: newer.header.keyspace, key: newer.key, &hold)
    } catch {
      throw IndexUnusable(
        "a record that was replaced since the checkpoint cannot be read", at: error.place ?? "the log")
    }
    try body(record)
  }
}
