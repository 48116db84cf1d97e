import PerdureFormat

/// Fills derived indexes from the records: at opening, and when an index is defined.
enum IndexBuild {
  /// Fills the given (empty) indexes; group counts follow the indexes that they count.
  ///
  /// - Returns: Keys that a unique index would hold twice. They are in the index all the same:
  ///   a store never refuses to open over them.
  static func fill(
    _ ids: Set<UInt32>, of catalog: Catalog, _ indexes: IndexSet, _ root: UnsafeMutablePointer<Root>,
    _ reader: RecordReader, _ blobs: BlobFiles, _ arena: NodeArena
  ) throws -> [Conflict] {
    for keyspace in catalog.keyspaces {
      let wanted = indexes.indexes(over: keyspace.id).filter { ids.contains($0.index.id) }
      if wanted.isEmpty { continue }
      try fill(wanted, from: keyspace, root, reader, blobs, arena)
    }
    for entry in catalog.indexes where ids.contains(entry.index.id) {
      guard case .groupCounts(let counted) = entry.definition.source else { continue }
      fillGroupCounts(entry.index, of: counted, root, arena)
    }
    return catalog.indexes.filter { ids.contains($0.index.id) && $0.index.isUnique }
      .flatMap { duplicates(in: $0.index, root) }
  }

  private static func fill(
    _ wanted: [IndexSet.RecordIndex], from keyspace: Keyspace, _ root: UnsafeMutablePointer<Root>,
    _ reader: RecordReader, _ blobs: BlobFiles, _ arena: NodeArena
  ) throws {
    var entries = IndexEntries()
    try visitWords(of: keyspace, root) { word in
      let record = try reader.record(at: word)
      let value =
        record.header.kind == .blob
        ? try blobs.read(BlobReference(reading: record.value)) : ValueBytes(record.value)
      for index in wanted {
        entries.removeAll()
        index.extractor.extract(keyspace: keyspace.id, key: record.key, value: value.bytes, into: &entries)
        entries.forEach { entry in
          _ = root.pointee.indexes[Int(index.index.id)].put(entry, IndexKey.reference(in: entry), in: arena)
        }
      }
    }
  }

  /// The address words of a keyspace, in key order.
  static func visitWords(
    of keyspace: Keyspace, _ root: UnsafeMutablePointer<Root>, _ body: (UInt64) throws -> Void
  ) rethrows {
    let trees = root.pointee.keyspaces[Int(keyspace.id)]
    switch keyspace.kind {
    case .dense:
      var cursor = DenseCursor(trees.dense)
      while cursor.next() { try body(cursor.word) }
    case .bytes:
      var cursor = OrderedCursor(trees.ordered)
      while cursor.next() { try body(cursor.payload) }
    }
  }

  /// Entries of one group stand together: counting them is one walk.
  private static func fillGroupCounts(
    _ index: DerivedIndex, of counted: DerivedIndex, _ root: UnsafeMutablePointer<Root>, _ arena: NodeArena
  ) {
    let tree = root.pointee.indexes + Int(index.id)
    var cursor = OrderedCursor(root.pointee.indexes[Int(counted.id)])
    var group: UInt64?
    var count = 0
    func finish() {
      guard let group, count > 0 else { return }
      GroupCountKey.with(count, group) { _ = tree.pointee.put($0, group, in: arena) }
    }
    while cursor.next() {
      let entry = cursor.key
      guard entry.count >= 8 + IndexKey.referenceLength else { continue }
      let reference = UInt64(bigEndian: entry.loadUnaligned(as: UInt64.self))
      if reference != group {
        finish()
        group = reference
        count = 0
      }
      count += 1
    }
    finish()
  }

  private static func duplicates(in index: DerivedIndex, _ root: UnsafeMutablePointer<Root>) -> [Conflict] {
    var found: [Conflict] = []
    var cursor = OrderedCursor(root.pointee.indexes[Int(index.id)])
    var last: (key: [UInt8], reference: UInt64)?
    while cursor.next() {
      let entry = cursor.key
      let key = Array(IndexKey.key(in: entry))
      let reference = IndexKey.reference(in: entry)
      if let last, last.key == key {
        found.append(.duplicateKey(index, key: key, existing: last.reference, rejected: reference))
      }
      last = (key, reference)
    }
    return found
  }
}
