/// Keys that unique indexes hold twice: how many, and the first of them. A store may hold millions.
struct DuplicateKeys {
  /// The most that are listed.
  static let listedMax = 1_000

  private(set) var listed: [Conflict] = []
  private(set) var count = 0
  /// The indexes that have any.
  private(set) var indexes: Set<UInt32> = []

  /// Adds those of one index. Reads every entry, and keeps one key besides the listed ones.
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

  /// Adds those of others.
  mutating func add(_ other: DuplicateKeys) {
    listed += other.listed.prefix(Self.listedMax - listed.count)
    count += other.count
    indexes.formUnion(other.indexes)
  }
}
