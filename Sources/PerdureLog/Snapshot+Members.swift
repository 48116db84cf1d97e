import PerdureFormat

// The reads that a walk over a graph makes for every object. They are short and allocate no memory.

extension Snapshot {
  /// Visits the entries of a derived index with the key `group` (eight bytes, big-endian), and
  /// passes their references in order.
  ///
  /// - Throws: `StoreError` with code `.indexUnavailable`, `.invalidArgument` or `.corruption`.
  /// - Complexity: O(log n), then O(1) for each entry.
  package func forEachMember(
    of group: UInt64, in index: DerivedIndex, _ body: (UInt64) -> Void
  ) throws {
    try engine.checkAvailable(index)
    let tree = try tree(of: index)
    tree.forEachMember(of: group, body)
    try check(tree.file)
  }

  /// Like the method for an index, for a keyspace whose keys have the layout of index entries.
  package func forEachMember(
    of group: UInt64, in keyspace: Keyspace, _ body: (UInt64) -> Void
  ) throws(StoreError) {
    let tree = try tree(of: keyspace)
    tree.forEachMember(of: group, body)
    try check(tree.file)
  }

  /// Whether a derived index has an entry with this group and this reference.
  ///
  /// - Throws: `StoreError` with code `.indexUnavailable`, `.invalidArgument` or `.corruption`.
  /// - Complexity: O(log n).
  package func hasMember(_ member: UInt64, of group: UInt64, in index: DerivedIndex) throws -> Bool {
    try engine.checkAvailable(index)
    let tree = try tree(of: index)
    let hasMember = tree.hasMember(member, of: group)
    try check(tree.file)
    return hasMember
  }

  /// Like the method for an index, for a keyspace whose keys have the layout of index entries.
  package func hasMember(
    _ member: UInt64, of group: UInt64, in keyspace: Keyspace
  ) throws(StoreError) -> Bool {
    let tree = try tree(of: keyspace)
    let hasMember = tree.hasMember(member, of: group)
    try check(tree.file)
    return hasMember
  }

  /// The value of an id and its version; nil if the id is absent. The bytes are valid while the
  /// snapshot exists.
  package func record(
    id: UInt64, in keyspace: Keyspace
  ) throws(StoreError) -> (bytes: UnsafeRawBufferPointer, version: RecordVersion)? {
    keyspace.requireKeys(.dense)
    guard let word = try word(id: id, in: keyspace) else { return nil }
    var hold = GroupHold()
    defer { hold.release() }
    if let value = try reader.valueInPlace(at: word, keyspace: keyspace.id, id: id, &hold) {
      return (value, RecordVersion(rawValue: word))
    }
    let record = try reader.record(at: word, keyspace: keyspace.id, id: id, &hold)
    return (try keptContent(of: record, at: word, hold), RecordVersion(rawValue: word))
  }

  /// Identifies the current record of an id; nil if the id is absent.
  package func version(id: UInt64, in keyspace: Keyspace) throws(StoreError) -> RecordVersion? {
    try word(id: id, in: keyspace).map(RecordVersion.init(rawValue:))
  }

  /// Ascending ids are in a few leaves if the last id minus the first id is less than this.
  private static let neighbourDistance: UInt64 = 256

  /// Visits the records of many ids, in the order of their addresses. It skips absent records,
  /// records with a blob file, and records that may have more than `bytesMax` bytes in the log.
  ///
  /// - Parameter body: Called with the index of an id in `ids`, its value and its version. The
  ///   bytes are valid while the snapshot exists.
  package func forEachShortRecord(
    ids: UnsafeBufferPointer<UInt64>, in keyspace: Keyspace, bytesMax: Int,
    _ body: (Int, UnsafeRawBufferPointer, RecordVersion) throws -> Void
  ) throws {
    keyspace.requireKeys(.dense)
    guard let first = ids.first, let last = ids.last else { return }
    let table = try trees(of: keyspace).dense
    let areNeighbours = last &- first < Self.neighbourDistance
    let reader = reader
    var hold = GroupHold()
    defer { hold.release() }
    try withUnsafeTemporaryAllocation(of: UInt64.self, capacity: ids.count) { words in
      if areNeighbours { table.getNeighbours(ids, into: words) } else { table.getMany(ids, into: words) }
      try check(table.file)
      let order = BatchOrder.isByAddress(words) ? nil : BatchOrder.byAddress(words)
      for step in 0..<ids.count {
        BatchOrder.prefetch(step &+ BatchOrder.distance, of: order, words, root)
        let position = order?[step] ?? step
        let address = RecordAddress(rawValue: words[position])
        if address.rawValue == 0 || address.isBlob || address.recordLengthMax > bytesMax { continue }
        let version = RecordVersion(rawValue: address.rawValue)
        let (word, id) = (address.rawValue, ids[position])
        if let value = try reader.valueInPlace(at: word, keyspace: keyspace.id, id: id, &hold) {
          try body(position, value, version)
        } else {
          let record = try reader.record(at: word, keyspace: keyspace.id, id: id, &hold)
          try body(position, keptContent(of: record, at: word, hold), version)
        }
      }
    }
  }
}
