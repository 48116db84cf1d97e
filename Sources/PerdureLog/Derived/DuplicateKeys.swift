/// The duplicate keys of unique indexes: their number, and a list of the first ones. A store may
/// have millions of them.
struct DuplicateKeys {
  /// The maximum number of listed keys.
  static let listedMax = 1_000

  private(set) var listed: [Conflict] = []
  private(set) var count = 0
  /// The indexes with duplicate keys.
  private(set) var indexes: Set<UInt32> = []

  /// Adds the duplicate keys of one index. Reads every entry, and keeps one key in memory besides
  /// the listed ones.
  mutating func collect(from index: DerivedIndex, _ root: UnsafeMutablePointer<Root>) {
    var cursor = OrderedCursor(root.pointee.indexes[Int(index.id)])
    var key: [UInt8] = []
    var holder: UInt64?
    while cursor.next() {
      let entry = cursor.key
      let reference = IndexKey.reference(in: entry)
      if let holder, key.withUnsafeBytes({ KeyBytes.compare($0, IndexKey.key(in: entry)) == 0 }) {
        count += 1
        indexes.insert(index.id)
        if listed.count < Self.listedMax {
          listed.append(.duplicateKey(index, key: key, existing: holder, rejected: reference))
        }
      } else {
        key.removeAll(keepingCapacity: true)
        key.append(contentsOf: IndexKey.key(in: entry))
      }
      holder = reference
    }
  }

  /// Adds the duplicate keys of another collection.
  mutating func add(_ other: DuplicateKeys) {
    listed += other.listed.prefix(Self.listedMax - listed.count)
    count += other.count
    indexes.formUnion(other.indexes)
  }
}
