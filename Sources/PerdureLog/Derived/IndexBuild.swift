import PerdureFileIO
import PerdureFormat
import PerdureNumbers

/// Fills derived indexes from the records: at opening, and when an index is defined.
struct IndexBuild {
  private let catalog: Catalog
  private let indexes: IndexSet
  private let root: UnsafeMutablePointer<Root>
  private let reader: RecordReader
  private let contents: RecordContents
  private let arena: NodeArena

  /// If true, a damaged record or value only leaves the indexes over its keyspace incomplete. If
  /// false, it is an error. A shortage of resources is always an error.
  var toleratesDamage = false
  /// The indexes that were left incomplete, with the first error for each.
  private(set) var incomplete: [UInt32: StoreError] = [:]
  /// The sums that are being built, by index id.
  private var sums: [UInt32: SumBuild] = [:]
  /// The maximum number of sums of an index that are in memory, outside the tree.
  private let groupsMax: Int

  init(
    of catalog: Catalog, _ indexes: IndexSet, _ root: UnsafeMutablePointer<Root>, _ reader: RecordReader,
    _ contents: RecordContents, _ arena: NodeArena, groupsMax: Int = SumBuild.groupsMax
  ) {
    self.catalog = catalog
    self.indexes = indexes
    self.root = root
    self.reader = reader
    self.contents = contents
    self.arena = arena
    self.groupsMax = groupsMax
  }

  /// Fills the given indexes, which must be empty. Group counts and orders of sums are filled after
  /// the indexes from which they are made.
  ///
  /// - Returns: The duplicate keys of unique indexes. The indexes also contain these entries,
  ///   because duplicate keys never prevent the opening of a store.
  mutating func fill(_ ids: Set<UInt32>) throws -> DuplicateKeys {
    for keyspace in catalog.keyspaces {
      let wanted = indexes.indexes(over: keyspace.id).filter { ids.contains($0.index.id) }
      if wanted.isEmpty { continue }
      try fill(wanted, from: keyspace)
    }
    for id in sums.keys.sorted() {
      let tree = root.pointee.indexes + Int(id)
      let arena = arena
      sums[id]?.put(into: tree, arena)
    }
    sums = [:]
    for entry in catalog.indexes where ids.contains(entry.index.id) {
      switch entry.definition.source {
      case .groupCounts(let counted): fillGroupCounts(entry.index, of: counted)
      case .sumOrder(let sums): fillSumOrder(entry.index, of: sums)
      case .records, .groupSums: break
      }
    }
    var duplicates = DuplicateKeys()
    for entry in catalog.indexes where ids.contains(entry.index.id) && entry.index.isUnique {
      duplicates.collect(from: entry.index, root)
    }
    return duplicates
  }

  private mutating func fill(_ wanted: [IndexSet.RecordIndex], from keyspace: Keyspace) throws {
    var entries = IndexEntries()
    var damage: StoreError?
    var hold = GroupHold()
    defer { hold.release() }
    try Self.visitRecords(of: keyspace, root) { word, key in
      do {
        let record = try reader.record(at: word, keyspace: keyspace.id, key: key, &hold)
        try contents.withValue(of: record) { value in
          for index in wanted {
            entries.removeAll()
            index.extractor.extract(keyspace: keyspace.id, key: record.key, value: value, into: &entries)
            if let radix = index.radix {
              let tree = root.pointee.indexes + Int(index.index.id)
              add(entries, radix, to: tree, of: index.index.id)
              continue
            }
            entries.forEach { entry in
              _ = root.pointee.indexes[Int(index.index.id)].put(
                entry, IndexKey.reference(in: entry), in: arena)
            }
          }
        }
      } catch let error as StoreError where toleratesDamage && error.cause?.code.isShortage != true {
        damage = damage ?? error
      }
    }
    if let damage { for index in wanted { incomplete[index.index.id] = damage } }
  }

  /// Visits the address words of a keyspace with their keys, in key order.
  static func visitRecords(
    of keyspace: Keyspace, _ root: UnsafeMutablePointer<Root>,
    _ body: (UInt64, UnsafeRawBufferPointer) throws -> Void
  ) rethrows {
    let trees = root.pointee.keyspaces[Int(keyspace.id)]
    switch keyspace.kind {
    case .dense:
      var cursor = DenseCursor(trees.dense)
      while cursor.next() {
        try withUnsafeBytes(of: cursor.id.littleEndian) { try body(cursor.word, $0) }
      }
    case .bytes:
      var cursor = OrderedCursor(trees.ordered)
      while cursor.next() { try body(cursor.payload, cursor.key) }
    }
  }

  private mutating func add(
    _ entries: borrowing IndexEntries, _ radix: ExactSum.Radix, to tree: UnsafeMutablePointer<OrderedTree>,
    of index: UInt32
  ) {
    let (arena, groupsMax) = (arena, groupsMax)
    sums[index, default: SumBuild(groupsMax: groupsMax)].add(entries, radix, to: tree, arena)
  }

  private func fillSumOrder(_ index: DerivedIndex, of sums: DerivedIndex) {
    let tree = root.pointee.indexes + Int(index.id)
    var cursor = OrderedCursor(root.pointee.indexes[Int(sums.id)])
    while cursor.next() {
      guard let (group, sum) = SumEntry.groupAndSum(in: cursor.key) else { continue }
      SumEntry.orderKey(group, sum).withUnsafeBytes { _ = tree.pointee.put($0, group, in: arena) }
    }
  }

  /// Entries of one group are adjacent, so one walk counts them.
  private func fillGroupCounts(_ index: DerivedIndex, of counted: DerivedIndex) {
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
}
