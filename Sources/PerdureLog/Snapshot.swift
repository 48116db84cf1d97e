import PerdureFormat

/// The store as it was at one commit. It never changes, and may be used and released on any thread.
///
/// Bytes handed to closures are borrowed: they are good until the closure returns, and are
/// nobody's to keep.
public final class Snapshot: Sendable {
  let engine: Engine
  private let pin: Pin
  private let openedBlobs = OpenedBlobs()
  // Unsafe: the root is immutable, and freed only after `pin` is released.
  nonisolated(unsafe) let root: UnsafeMutablePointer<Root>

  init(_ engine: Engine) {
    self.engine = engine
    (pin, root) = engine.pinRoot()
  }

  deinit { pin.release() }

  /// The sequence number of the last commit that the snapshot sees; 0 for an empty store.
  public var sequence: UInt64 { root.pointee.sequence }

  var reader: RecordReader {
    RecordReader(root: root, verifiesChecksum: engine.options.verifiesChecksumsOnRead)
  }

  func tree(of index: DerivedIndex) -> OrderedTree {
    root.pointee.tree(of: index)
  }

  func tree(of keyspace: Keyspace) -> OrderedTree { trees(of: keyspace).ordered }

  func trees(of keyspace: Keyspace) -> KeyspaceRoot {
    root.pointee.trees(of: keyspace)
  }
}

// MARK: - One key

extension Snapshot {
  /// A copy of the value of an id, or nil.
  /// - Throws: `StoreError` with code `.corruption` or `.io`.
  public func value(id: UInt64, in keyspace: Keyspace) throws -> [UInt8]? {
    try withBytes(id: id, in: keyspace) { Array($0) }
  }

  /// A copy of the value of a byte-string key, or nil.
  /// - Throws: `StoreError` with code `.corruption` or `.io`.
  public func value(key: [UInt8], in keyspace: Keyspace) throws -> [UInt8]? {
    try withBytes(key: key, in: keyspace) { Array($0) }
  }

  /// Calls `body` with the value of an id, in place. Nil if there is none.
  /// - Throws: `StoreError` with code `.corruption` or `.io`; what `body` throws.
  public func withValue<R>(id: UInt64, in keyspace: Keyspace, _ body: (RawSpan) throws -> R) throws -> R? {
    try withBytes(id: id, in: keyspace) { try body($0.bytes) }
  }

  /// Calls `body` with the value of a byte-string key, in place. Nil if there is none.
  /// - Throws: `StoreError` with code `.corruption` or `.io`; what `body` throws.
  public func withValue<R>(key: [UInt8], in keyspace: Keyspace, _ body: (RawSpan) throws -> R) throws -> R? {
    try withBytes(key: key, in: keyspace) { try body($0.bytes) }
  }

  /// Names the record that the key has now; nil if it is not there. For `Precondition.unchanged`.
  public func version(_ key: Key, in keyspace: Keyspace) -> RecordVersion? {
    switch key {
    case .id(let id): trees(of: keyspace).dense.get(id).map(RecordVersion.init(rawValue:))
    case .bytes(let bytes):
      bytes.withUnsafeBytes { tree(of: keyspace).get($0) }.map(RecordVersion.init(rawValue:))
    }
  }

  /// Whether the key is there.
  public func contains(_ key: Key, in keyspace: Keyspace) -> Bool { version(key, in: keyspace) != nil }

  package func withBytes<R>(
    id: UInt64, in keyspace: Keyspace, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R? {
    try withRecord(id: id, in: keyspace) { bytes, _ in try body(bytes) }
  }

  /// The value of an id in place, and its version.
  package func withRecord<R>(
    id: UInt64, in keyspace: Keyspace, _ body: (UnsafeRawBufferPointer, RecordVersion) throws -> R
  ) throws -> R? {
    precondition(keyspace.kind == .dense, "Keyspace \(keyspace.name) has byte-string keys")
    guard let word = trees(of: keyspace).dense.get(id) else { return nil }
    let value = try content(reader.record(at: word, keyspace: keyspace.id, id: id))
    return try body(value.bytes, RecordVersion(rawValue: word))
  }

  package func withBytes<R>(
    key: [UInt8], in keyspace: Keyspace, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R? {
    precondition(keyspace.kind == .bytes, "Keyspace \(keyspace.name) has ids for keys")
    return try key.withUnsafeBytes { key in
      guard let word = tree(of: keyspace).get(key) else { return nil }
      return try body(try content(reader.record(at: word, keyspace: keyspace.id, key: key)).bytes)
    }
  }

  /// The value of a record. Like all bytes of a snapshot it stays readable while the snapshot
  /// lives, also when it has a file of its own.
  func content(_ record: Record) throws(StoreError) -> ValueBytes {
    guard record.header.kind == .blob else { return ValueBytes(record.value) }
    return try openedBlobs.value(of: BlobReference(in: record), engine.blobs)
  }
}

// MARK: - Many keys

extension Snapshot {
  /// How many keys the keyspace has.
  /// - Complexity: O(1).
  public func count(in keyspace: Keyspace) -> Int { trees(of: keyspace).count(keyspace.kind) }

  /// Calls `body` for each id with its place in `ids` and its value, nil where there is none; in
  /// the order that the log likes best, which is not that of `ids`.
  /// - Throws: `StoreError` with code `.corruption` or `.io`; what `body` throws.
  public func withValues(
    ids: [UInt64], in keyspace: Keyspace, _ body: (_ position: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    try withBytes(ids: ids, in: keyspace) { position, bytes in try body(position, bytes?.bytes) }
  }

  package func withBytes(
    ids: [UInt64], in keyspace: Keyspace, _ body: (Int, UnsafeRawBufferPointer?) throws -> Void
  ) throws {
    try withRecords(ids: ids, in: keyspace) { position, record in try body(position, record?.bytes) }
  }

  /// The values of many ids in place, and their versions.
  package func withRecords(
    ids: [UInt64], in keyspace: Keyspace,
    _ body: (Int, (bytes: UnsafeRawBufferPointer, version: RecordVersion)?) throws -> Void
  ) throws {
    precondition(keyspace.kind == .dense, "Keyspace \(keyspace.name) has byte-string keys")
    let table = trees(of: keyspace).dense
    try withUnsafeTemporaryAllocation(of: UInt64.self, capacity: ids.count) { words in
      ids.withUnsafeBufferPointer { table.getMany($0, into: words) }
      let order = BatchOrder.byAddress(words)
      for (step, position) in order.enumerated() {
        BatchOrder.prefetch(step + BatchOrder.distance, of: order, words, root)
        let word = words[position]
        guard word != 0 else {
          try body(position, nil)
          continue
        }
        let value = try content(reader.record(at: word, keyspace: keyspace.id, id: ids[position]))
        try body(position, (value.bytes, RecordVersion(rawValue: word)))
      }
    }
  }
}
