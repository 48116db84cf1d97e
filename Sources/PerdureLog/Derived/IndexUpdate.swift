import PerdureFormat

/// The changes of one commit to the derived indexes.
///
/// Entries are a pure function of records. An update removes the entries of the old record and adds
/// the entries of the new record. The changes are collected, and applied together
/// (`IndexOperations`). Uniqueness is checked at the end, on the result, so that two records may
/// swap a unique key in one commit. Group counts and sums are also updated at the end, once for
/// each changed group.
struct IndexUpdate: ~Copyable {
  private let indexes: UnsafeMutablePointer<OrderedTree>
  private let arena: NodeArena
  private var before = IndexEntries()
  private var after = IndexEntries()
  private var operations = IndexOperations()
  /// Tree keys that were added to unique indexes, with their indexes.
  private var addedUnique = IndexEntries()
  private var uniqueIndexes: [IndexSet.RecordIndex] = []
  /// The changed groups of counting indexes, with their numbers of entries before the commit.
  private var touchedGroups: [GroupID: Int] = [:]
  private var sums = SumChanges()

  private struct GroupID: Hashable {
    var counted: UInt32
    var counting: UInt32
    var reference: UInt64
  }

  init(_ indexes: UnsafeMutablePointer<OrderedTree>, in arena: NodeArena) {
    self.indexes = indexes
    self.arena = arena
  }

  /// Notes that a record of a source keyspace changed from `old` to `new`. Nil means that the
  /// record was absent or is absent.
  mutating func change(
    _ index: IndexSet.RecordIndex, keyspace: UInt32, key: UnsafeRawBufferPointer,
    from old: UnsafeRawBufferPointer?, to new: UnsafeRawBufferPointer?
  ) {
    if operations.isFull { operations.apply(to: indexes, in: arena) }
    if old == nil, index.radix == nil {
      guard let new else { return }
      let found = operations.add(to: index.index.id) {
        index.extractor.extract(keyspace: keyspace, key: key, value: new, into: &$0)
      }
      return noteAdded(found, index)
    }
    if new == nil, index.radix == nil, let old {
      let found = operations.remove(from: index.index.id) {
        index.extractor.extract(keyspace: keyspace, key: key, value: old, into: &$0)
      }
      if index.dependents.isEmpty { return }
      for position in found { touch(index, group: operations.keys.group(position)) }
      return
    }
    before.removeAll()
    after.removeAll()
    if let old { index.extractor.extract(keyspace: keyspace, key: key, value: old, into: &before) }
    if let new { index.extractor.extract(keyspace: keyspace, key: key, value: new, into: &after) }
    if before.ends == after.ends && before.bytes == after.bytes { return }
    if index.radix != nil {
      sums.note(before, of: index, isRemoval: true)
      return sums.note(after, of: index, isRemoval: false)
    }
    for position in 0..<before.count {
      if !index.dependents.isEmpty { touch(index, group: before.group(position)) }
      before.withEntry(position) { operations.remove($0, from: index.index.id) }
    }
    noteAdded(operations.add(to: index.index.id) { after.append(to: &$0) }, index)
  }

  /// Notes keys to check for uniqueness at the end, and groups to count.
  @inline(__always)
  private mutating func noteAdded(_ positions: Range<Int>, _ index: IndexSet.RecordIndex) {
    guard index.index.isUnique || !index.dependents.isEmpty else { return }
    for position in positions {
      if !index.dependents.isEmpty { touch(index, group: operations.keys.group(position)) }
      guard index.index.isUnique else { continue }
      operations.keys.withEntry(position) { addedUnique.append(treeKey: $0) }
      uniqueIndexes.append(index)
    }
  }

  /// Notes the number of entries that the group had before this commit.
  private mutating func touch(_ index: IndexSet.RecordIndex, group reference: UInt64?) {
    guard let reference else { return }
    for counting in index.dependents {
      let group = GroupID(counted: index.index.id, counting: counting.id, reference: reference)
      if touchedGroups[group] == nil { touchedGroups[group] = count(of: group) }
    }
  }

  private func count(of group: GroupID) -> Int {
    let prefix = withUnsafeBytes(of: group.reference.bigEndian) { Array($0) }
    return KeyRange.prefix(prefix).withRaw { indexes[Int(group.counted)].count(in: $0) }
  }

  /// Applies the collected operations, updates group counts and sums, and checks uniqueness.
  /// Returns the duplicate keys.
  ///
  /// - Throws: `IndexMisfit` if an index lacks an entry to remove, or if an entry of a sum cannot
  ///   be decoded, has another radix, or cannot contain the numbers to subtract.
  mutating func finish() throws(IndexMisfit) -> [Conflict] {
    operations.apply(to: indexes, in: arena)
    if let (index, count) = operations.missing { throw .missingEntries(index: index, count: count) }
    for (group, old) in touchedGroups { moveGroup(group, from: old, to: count(of: group)) }
    try sums.apply(to: indexes, in: arena)
    return duplicates()
  }

  private func moveGroup(_ group: GroupID, from old: Int, to new: Int) {
    guard old != new else { return }
    let tree = indexes + Int(group.counting)
    if old > 0 { GroupCountKey.with(old, group.reference) { _ = tree.pointee.remove($0, in: arena) } }
    if new > 0 {
      GroupCountKey.with(new, group.reference) { _ = tree.pointee.put($0, group.reference, in: arena) }
    }
  }

  private func duplicates() -> [Conflict] {
    var found: [Conflict] = []
    for (position, index) in uniqueIndexes.enumerated() {
      addedUnique.withEntry(position) { treeKey in
        guard let other = otherHolder(of: treeKey, in: index.index) else { return }
        found.append(
          .duplicateKey(
            index.index, key: Array(IndexKey.key(in: treeKey)), existing: other,
            rejected: IndexKey.reference(in: treeKey)))
      }
    }
    return found
  }

  /// The reference of another entry with exactly this index key. Nil if there is none, or if the
  /// entry `treeKey` no longer exists: a later record of the same commit may have removed it.
  private func otherHolder(of treeKey: UnsafeRawBufferPointer, in index: DerivedIndex) -> UInt64? {
    let key = IndexKey.key(in: treeKey)
    let mine = IndexKey.reference(in: treeKey)
    var isThere = false
    var other: UInt64?
    var cursor = OrderedCursor(indexes[Int(index.id)])
    var isAtEntry = cursor.seek(lowerBound: key)
    while isAtEntry {
      let entry = cursor.key
      guard entry.count >= key.count, KeyBytes.compare(entry.part(0..<key.count), key) == 0 else { break }
      if entry.count == treeKey.count {
        let reference = IndexKey.reference(in: entry)
        if reference == mine { isThere = true } else if other == nil { other = reference }
      }
      isAtEntry = cursor.next()
    }
    return isThere ? other : nil
  }
}

/// The tree key of a group in a counting index: the count, then the group's reference.
enum GroupCountKey {
  static func with<R>(_ count: Int, _ reference: UInt64, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    withUnsafeBytes(of: (UInt64(count).bigEndian, reference.bigEndian)) { body($0) }
  }
}
