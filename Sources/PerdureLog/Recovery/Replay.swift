import PerdureFormat

/// Applies the commits of the log to an index that begins empty, or with a checkpoint.
struct Replay: ~Copyable {
  let arena: NodeArena
  private(set) var catalog: Catalog
  /// The trees of the keyspaces, by keyspace id.
  private(set) var keyspaces: [KeyspaceRoot] = [KeyspaceRoot()]
  /// A number greater than the blob number of every record.
  private(set) var nextBlob: UInt64 = 1
  /// The live bytes of each segment.
  private(set) var usage = SegmentUsageTable()
  /// The changes since the checkpoint; nil without a checkpoint.
  private(set) var tail: TailChanges?

  init(_ arena: NodeArena, of store: StoreID) {
    self.arena = arena
    catalog = Catalog(of: store)
  }

  init(_ arena: NodeArena, from checkpoint: OpenedCheckpoint) {
    self.arena = arena
    catalog = checkpoint.catalog
    keyspaces = checkpoint.keyspaces
    nextBlob = checkpoint.root.nextBlob
    usage = checkpoint.usage
    var isInteresting = [Bool](repeating: false, count: catalog.keyspaces.count)
    for entry in catalog.indexes {
      guard let extraction = entry.definition.source.extraction else { continue }
      for source in extraction.keyspaces { isInteresting[Int(source.id)] = true }
    }
    tail = TailChanges(start: checkpoint.root.end, isInteresting: isInteresting)
  }

  mutating func apply(_ parts: [LogScan.Part]) throws {
    for part in parts {
      var records = SealedRecords(in: part.payload)
      while let (record, offset, _) = try records.next() {
        guard let place = part.recordOffset(at: offset) else {
          throw StoreError.corruption(
            FormatError(.illegalField, in: "offset map", at: 0), segment: part.position.segment,
            offset: offset)
        }
        try apply(record, in: part.position.segment, at: place)
      }
    }
  }

  private mutating func apply(_ record: Record, in segment: UInt64, at place: Int) throws {
    let id = Int(record.header.keyspace)
    guard id < keyspaces.count else {
      throw StoreError.corruption(
        FormatError(.illegalField, in: "record", at: 8), segment: segment, offset: place)
    }
    let kind = id == 0 ? .bytes : catalog.keyspaces[id].kind
    guard kind == .bytes || record.header.keyLength == 8 else {
      throw StoreError.corruption(
        FormatError(.illegalField, in: "record", at: 6), segment: segment, offset: place)
    }
    guard id > 0 || record.header.kind == .put else {
      throw StoreError.corruption(
        FormatError(.illegalField, in: "catalog record", at: 4), segment: segment, offset: place)
    }
    let isBlob = record.header.kind == .blob
    let address = RecordAddress(
      segment: segment, offset: place, recordLength: record.header.paddedLength, isBlob: isBlob)
    if record.header.kind == .tombstone {
      usage.addTombstone(address)
      let old = keyspaces[id].remove(record.key, kind, in: arena)
      try release(old)
      tail?.note(old: old, new: address, isTombstone: true, id)
      return
    }
    if isBlob { nextBlob = BlobFiles.number(after: try BlobReference(in: record).number, nextBlob) }
    usage.add(address)
    let old = keyspaces[id].put(record.key, kind, address.rawValue, in: arena)
    try release(old)
    tail?.note(old: old, new: address, isTombstone: false, id)
    if id == 0 { try applyCatalog(record, segment, place) }
  }

  /// Subtracts a record from the live bytes of its segment, because a newer record or tombstone of
  /// the same key has replaced it.
  ///
  /// - Throws: `IndexUnusable` if the checkpoint did not count the replaced record.
  private mutating func release(_ word: UInt64?) throws(IndexUnusable) {
    guard let word, !usage.release(RecordAddress(rawValue: word)) else { return }
    precondition(tail != nil, "SU1: without a checkpoint, each record is counted before it is released")
    throw IndexUnusable(
      "segment usage: the checkpoint counts fewer live bytes than later commits have replaced",
      at: "the checkpoint's root block")
  }

  private mutating func applyCatalog(_ record: Record, _ segment: UInt64, _ place: Int) throws {
    do {
      try CatalogRecord.apply(key: record.key, value: record.value, to: &catalog)
    } catch {
      throw StoreError.corruption(error, segment: segment, offset: place + error.offset)
    }
    while keyspaces.count < catalog.keyspaces.count { keyspaces.append(KeyspaceRoot()) }
  }
}
