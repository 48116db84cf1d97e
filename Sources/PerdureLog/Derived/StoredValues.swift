import PerdureFormat

/// Reads the values of a store while its derived indexes are being set up.
public struct StoredValues: ~Copyable {
  private let catalog: Catalog
  private let reader: RecordReader
  private let contents: RecordContents
  private let pending: [Pending]

  /// A value of the commit that defines the indexes. It is not in the log yet.
  struct Pending {
    let keyspace: UInt32
    let key: [UInt8]
    let value: [UInt8]
  }

  init(
    _ catalog: Catalog, _ root: UnsafeMutablePointer<Root>, _ contents: RecordContents,
    pending: [Pending] = []
  ) {
    self.catalog = catalog
    self.pending = pending
    reader = RecordReader(root: root, verifiesChecksum: true)
    self.contents = contents
  }

  /// All keyspaces, oldest first.
  package var keyspaces: [Keyspace] { catalog.userKeyspaces }

  /// The keyspace of this name; nil if there is none.
  public func keyspace(named name: String) -> Keyspace? { catalog.keyspace(named: name) }

  /// The value of a byte-string key; nil if the key or the keyspace is absent, or if the keyspace
  /// has ids as keys.
  ///
  /// - Throws: `StoreError` with code `.corruption` or `.io`.
  public func value(key: [UInt8], inKeyspaceNamed name: String) throws -> [UInt8]? {
    guard let keyspace = catalog.keyspace(named: name), keyspace.kind == .bytes else { return nil }
    if let put = pending.last(where: { $0.keyspace == keyspace.id && $0.key == key }) { return put.value }
    return try key.withUnsafeBytes { key in
      guard let word = reader.root.trees(of: keyspace).ordered.get(key) else { return nil }
      var hold = GroupHold()
      defer { hold.release() }
      let record = try reader.record(at: word, keyspace: keyspace.id, key: key, &hold)
      return try contents.withValue(of: record) { Array($0) }
    }
  }
}
