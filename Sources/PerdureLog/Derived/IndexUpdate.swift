import PerdureFormat

/// What one commit does to the derived indexes.
///
/// Entries are a pure function of records: an update takes away the entries of the record that
/// was and adds those of the record that is. Uniqueness is judged at the end, on the result, so
/// that two rows may swap a unique key in one commit; group counts are brought up to date then
/// as well, once for each group that was touched.
struct IndexUpdate: ~Copyable {
  private let indexes: UnsafeMutablePointer<OrderedTree>
  private let arena: NodeArena
  private var before = IndexEntries()
  private var after = IndexEntries()
  /// Tree keys that were added to unique indexes.
  private var addedUnique: [(index: DerivedIndex, treeKey: [UInt8])] = []
  /// For each counting index: the groups that were touched, with how many entries they had.
  private var touchedGroups: [GroupID: Int] = [:]

  private struct GroupID: Hashable {
    var counted: UInt32
    var counting: UInt32
    var reference: UInt64
  }

  init(_ indexes: UnsafeMutablePointer<OrderedTree>, in arena: NodeArena) {
    self.indexes = indexes
    self.arena = arena
  }

  /// One record of a source keyspace went from `old` to `new` (nil: it was, or is, not there).
  mutating func change(
    _ index: IndexSet.RecordIndex, keyspace: UInt32, key: UnsafeRawBufferPointer,
    from old: UnsafeRawBufferPointer?, to new: UnsafeRawBufferPointer?
  ) {
    before.removeAll()
    after.removeAll()
    if let old { index.extractor.extract(keyspace: keyspace, key: key, value: old, into: &before) }
    if let new { index.extractor.extract(keyspace: keyspace, key: key, value: new, into: &after) }
    if before.ends == after.ends && before.bytes == after.bytes { return }
    applyEntries(of: index)
  }

  private mutating func applyEntries(of index: IndexSet.RecordIndex) {
    let tree = indexes + Int(index.index.id)
    for position in 0..<before.count {
      if !index.countedBy.isEmpty { touch(index, group: before.group(position)) }
      before.withEntry(position) { _ = tree.pointee.remove($0, in: arena) }
    }
    for position in 0..<after.count {
      if !index.countedBy.isEmpty { touch(index, group: after.group(position)) }
      after.withEntry(position) { _ = tree.pointee.put($0, IndexKey.reference(in: $0), in: arena) }
      if index.index.isUnique { addedUnique.append((index.index, after.withEntry(position) { Array($0) })) }
    }
  }

  /// Notes how many entries the entry's group had before this commit.
  private mutating func touch(_ index: IndexSet.RecordIndex, group reference: UInt64?) {
    guard let reference else { return }
    for counting in index.countedBy {
      let group = GroupID(counted: index.index.id, counting: counting.id, reference: reference)
      if touchedGroups[group] == nil { touchedGroups[group] = count(of: group) }
    }
  }

  private func count(of group: GroupID) -> Int {
    let prefix = withUnsafeBytes(of: group.reference.bigEndian) { Array($0) }
    return KeyRange.prefix(prefix).withRaw { indexes[Int(group.counted)].count(in: $0) }
  }

  /// Brings group counts up to date and judges uniqueness.
  mutating func finish() -> [Conflict] {
    for (group, old) in touchedGroups { moveGroup(group, from: old, to: count(of: group)) }
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
    for (index, treeKey) in addedUnique {
      // A later record of the same commit may have taken the entry away again.
      guard treeKey.withUnsafeBytes({ indexes[Int(index.id)].get($0) }) != nil else { continue }
      let key = Array(treeKey.dropLast(IndexKey.referenceLength))
      let mine = treeKey.withUnsafeBytes { IndexKey.reference(in: $0) }
      guard let other = otherHolder(of: key, than: mine, in: index) else { continue }
      found.append(.duplicateKey(index, key: key, existing: other, rejected: mine))
    }
    return found
  }

  /// The reference of another entry with exactly this index key.
  private func otherHolder(of key: [UInt8], than mine: UInt64, in index: DerivedIndex) -> UInt64? {
    var cursor = OrderedCursor(indexes[Int(index.id)])
    var isAtEntry = key.withUnsafeBytes { cursor.seek(lowerBound: $0) }
    while isAtEntry {
      let entry = cursor.key
      guard entry.count >= key.count, entry.prefix(key.count).elementsEqual(key) else { return nil }
      let reference = IndexKey.reference(in: entry)
      if entry.count == key.count + IndexKey.referenceLength && reference != mine { return reference }
      isAtEntry = cursor.next()
    }
    return nil
  }
}

/// The tree key of a group in a counting index: count, then the group's reference.
enum GroupCountKey {
  static func with<R>(_ count: Int, _ reference: UInt64, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    withUnsafeBytes(of: (UInt64(count).bigEndian, reference.bigEndian)) { body($0) }
  }
}
