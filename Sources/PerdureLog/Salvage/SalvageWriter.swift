import PerdureFileIO
import PerdureFormat

/// Writes the restored values into a new store.
struct SalvageWriter {
  private let store: Store
  /// The new keyspaces, and their indexes in the report, by the number in the damaged store.
  private var keyspaces: [UInt32: (keyspace: Keyspace, place: Int)] = [:]
  private var definitions: [(name: String, fields: CatalogRecord.IndexFields)] = []
  private var batch: [(keyspace: Keyspace, key: [UInt8], value: [UInt8])] = []
  private var batchLength = 0
  /// Returns a dictionary of the damaged store.
  private var dictionary: (Int) -> [UInt8]? = { _ in nil }

  /// Whether a value is the newest one of its key.
  enum Age {
    case newest, maybeOlder
    /// The newest value of the key is lost.
    case older
  }

  /// The approximate number of bytes of keys and values in one commit.
  private static let batchLengthMax = 4 << 20

  init(_ store: Store) { self.store = store }

  /// Defines the keyspaces. Keyspaces without a definition get a generated name.
  mutating func define(_ state: SalvageIndex.State, _ report: inout SalvageReport) throws {
    dictionary = state.dictionary
    var found: [(id: UInt32, name: String, kind: KeyspaceKind, isNameLost: Bool)] = []
    for (key, value) in state.catalog {
      try? key.withUnsafeBytes { key in
        try value.withUnsafeBytes { value in
          switch try CatalogRecord.subject(key) {
          case .keyspace(let name):
            let entry = try CatalogRecord.keyspaceEntry(value)
            found.append((entry.id, name, entry.kind, false))
          case .index(let name):
            let fields = try CatalogRecord.indexEntry(value)
            if !fields.isRemoved { definitions.append((name, fields)) }
          case .dictionary: break
          }
        }
      }
    }
    let known = Set(found.map(\.id))
    var names = Set(found.map(\.name))
    for (id, keys) in state.keyspaces where id != 0 && !known.contains(id) && keys.tree.count > 0 {
      let name = (1...).lazy.map { $0 == 1 ? "lost-\(id)" : "lost-\(id)-\($0)" }.first { !names.contains($0) }
      guard let name else { continue }
      names.insert(name)
      found.append((id, name, keys.allAreIDs ? .dense : .bytes, true))
      report.add(.definition, in: "catalog", 0, 0)
    }
    for entry in found.sorted(by: { $0.id < $1.id }) {
      let keyspace = try store.keyspace(entry.name, entry.kind)
      keyspaces[entry.id] = (keyspace, report.contents.count)
      report.contents.append(.init(keyspace: entry.name, isNameLost: entry.isNameLost))
    }
  }

  /// Puts the value of a record.
  mutating func put(
    _ record: Record, _ age: Age, _ blobs: BlobFiles?, _ report: inout SalvageReport
  ) throws {
    guard let (keyspace, place) = keyspaces[record.header.keyspace] else { return }
    guard keyspace.kind == .bytes || record.header.keyLength == 8 else {
      // No writer makes such a key, so the definition of the keyspace is wrong.
      return report.add(.definition, in: "catalog", 0, 0)
    }
    if record.header.kind == .blob {
      guard let blobs else { preconditionFailure("without a store id, no record of a blob file may count") }
      guard try putBlob(of: record, blobs, keyspace, &report) else { return }
    } else {
      let value = try plainValue(of: record)
      batch.append((keyspace, Array(record.key), value))
      batchLength += record.header.keyLength + value.count
      if batchLength > Self.batchLengthMax { try flush() }
    }
    report.contents[place].keys += 1
    if age != .newest { report.addOlder(record.key, in: keyspace, place, isCertain: age == .older) }
  }

  /// Copies the value of a blob file in pieces.
  ///
  /// - Returns: False if the file was readable before, but cannot be read now. The report names it.
  private mutating func putBlob(
    of record: Record, _ blobs: BlobFiles, _ keyspace: Keyspace, _ report: inout SalvageReport
  ) throws -> Bool {
    let reference = try BlobReference(in: record)
    try flush()
    let writer = try store.makeBlobWriter()
    let isRead = try blobs.visitPieces(of: reference) { try writer.append($0) }
    guard isRead else {
      report.add(.blob, in: StoreFileName.blob(reference.number).string, 0, 0)
      return false
    }
    let blob = try writer.finish()
    try store.write(durability: .relaxed) { transaction in
      switch keyspace.kind {
      case .dense: try transaction.put(blob, id: record.key.integer(at: 0), in: keyspace)
      case .bytes: try transaction.put(blob, key: Array(record.key), in: keyspace)
      }
    }
    return true
  }

  private func plainValue(of record: Record) throws -> [UInt8] {
    guard record.header.kind == .packed else { return Array(record.value) }
    return try DictionaryTable.unpacked(record, dictionary: dictionary)
  }

  private mutating func flush() throws {
    let batch = batch
    try store.write(durability: .relaxed) { transaction in
      for (keyspace, key, value) in batch {
        try value.withUnsafeBytes { value in
          try key.withUnsafeBytes { try transaction.put(value, storedKey: $0, in: keyspace) }
        }
      }
    }
    self.batch.removeAll(keepingCapacity: true)
    batchLength = 0
  }

  /// Writes the remaining values, and the definitions of derived indexes.
  mutating func finish(_ report: inout SalvageReport) throws {
    try flush()
    var indexes: [UInt32: DerivedIndex] = [:]
    // Ordered by number, but indexes made from another index come after all others, because their
    // own number may be lower.
    let sorted = definitions.sorted { $0.fields.id < $1.fields.id }
    for (name, fields) in sorted.filter({ !$0.fields.isMade }) + sorted.filter(\.fields.isMade) {
      guard let source = source(of: fields, indexes) else {
        report.add(.definition, in: "catalog", 0, 0)
        continue
      }
      let definition = IndexDefinition(name: name, source: source, isUnique: fields.isUnique)
      indexes[fields.id] = try store.engine.recordDefinition(definition)
      report.indexes += 1
    }
  }

  private func source(
    of fields: CatalogRecord.IndexFields, _ indexes: [UInt32: DerivedIndex]
  ) -> IndexDefinition.Source? {
    let source = try? fields.source(keyspace: { keyspaces[$0]?.keyspace }, index: { indexes[$0] })
    // A record that an opening refuses is damaged, even if its checksum is valid.
    return fields.isUnique && source?.canBeUnique == false ? nil : source
  }
}

extension WriteTransaction {
  /// Puts a value under a key in the form in which a record stores it.
  fileprivate mutating func put(
    _ value: UnsafeRawBufferPointer, storedKey key: UnsafeRawBufferPointer, in keyspace: Keyspace
  ) throws {
    switch keyspace.kind {
    case .dense: try put(value, id: key.integer(at: 0), in: keyspace)
    case .bytes: try put(value, key: key, in: keyspace)
    }
  }
}

extension Engine {
  /// Writes the definition of an index without building it. The next opening builds the index. That
  /// opening reports duplicates instead of refusing them, because restored older values may be
  /// duplicates.
  fileprivate func recordDefinition(_ definition: IndexDefinition) throws -> DerivedIndex {
    try inTurn { state in
      var catalog = state.catalog
      let index = catalog.setIndex(definition)
      state.incompleteIndexes.insert(index.id)
      try appendCatalogRecord(CatalogRecord.index(index, definition), catalog, &state)
      return index
    }
  }
}
