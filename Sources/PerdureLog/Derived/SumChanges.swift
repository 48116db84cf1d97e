// A commit's changes of the sums of groups (FORMAT.md, "Sums of groups").
//
// For each group, the numbers that the commit's records add and remove are first summed separately.
// The result is added to the group's entry once, at the end. Sums are exact, so the order makes no
// difference.

import PerdureFormat
import PerdureNumbers

/// A commit's changes of sums.
struct SumChanges: ~Copyable {
  private struct ID: Hashable {
    var index: UInt32
    var group: UInt64
  }

  private var changes: [ID: ExactSum] = [:]
  /// The indexes that order the sums of an index, by the id of that index.
  private var orders: [UInt32: [DerivedIndex]] = [:]

  /// Notes the numbers that a record adds to sums, or removes from them.
  mutating func note(_ entries: borrowing IndexEntries, of index: IndexSet.RecordIndex, isRemoval: Bool) {
    guard let radix = index.radix, entries.count > 0 else { return }
    if orders[index.index.id] == nil { orders[index.index.id] = index.dependents }
    entries.forEach { entry in
      guard let (group, term) = SumEntry.groupAndTerm(in: entry) else { return }
      changes[ID(index: index.index.id, group: group), default: ExactSum(radix)]
        .apply(term, isRemoval: isRemoval)
    }
  }

  /// Applies the collected changes.
  func apply(
    to indexes: UnsafeMutablePointer<OrderedTree>, in arena: NodeArena
  ) throws(IndexMisfit) {
    if changes.isEmpty { return }
    // The changes are applied in the order of the entries, because neighbours share a leaf.
    for (id, change) in changes.sorted(by: { ($0.key.index, $0.key.group) < ($1.key.index, $1.key.group) }) {
      guard let (old, new) = SumEntry.add(change, to: id.group, in: indexes + Int(id.index), arena) else {
        throw IndexMisfit.sum(index: id.index, group: id.group)
      }
      for order in orders[id.index] ?? [] {
        let oldOrder = old.map { SumEntry.orderKey(id.group, $0) }
        let newOrder = new.map { SumEntry.orderKey(id.group, $0) }
        SumEntry.move(id.group, from: oldOrder, to: newOrder, in: indexes + Int(order.id), arena)
      }
    }
  }
}

/// Builds sums of groups from records in any order.
///
/// When there are `groupsMax` groups, their sums are written into the tree and freed. So memory is
/// bounded, regardless of the number of groups. Sums are exact, so adding them in parts gives the
/// same result.
struct SumBuild {
  /// The maximum number of groups in memory, of about 200 bytes each. Why: sorting this number of
  /// groups and descending into the tree once for each group takes little time, compared with
  /// reading their records.
  static let groupsMax = 1 << 16

  private let groupsMax: Int
  private var sums: [UInt64: ExactSum] = [:]

  init(groupsMax: Int) { self.groupsMax = groupsMax }

  mutating func add(
    _ entries: borrowing IndexEntries, _ radix: ExactSum.Radix, to tree: UnsafeMutablePointer<OrderedTree>,
    _ arena: NodeArena
  ) {
    entries.forEach { entry in
      guard let (group, term) = SumEntry.groupAndTerm(in: entry) else { return }
      sums[group, default: ExactSum(radix)].apply(term, isRemoval: false)
    }
    if sums.count >= groupsMax { put(into: tree, arena) }
  }

  mutating func put(into tree: UnsafeMutablePointer<OrderedTree>, _ arena: NodeArena) {
    for (group, sum) in sums.sorted(by: { $0.key < $1.key }) {
      let isSum = SumEntry.add(sum, to: group, in: tree, arena) != nil
      precondition(isSum, "A build of sums has read a sum that it has not written")
    }
    sums.removeAll(keepingCapacity: true)
  }
}

/// The encoding of sums in trees, and of numbers from extractors.
enum SumEntry {
  /// The tree key of a group's sum: the group, the sum, and the group as the reference.
  static func key(_ group: UInt64, _ sum: ExactSum) -> [UInt8] {
    let bytes = withUnsafeBytes(of: group.bigEndian) { Array($0) }
    return bytes + sum.encoded + bytes
  }

  /// The tree key of a group in the order of sums: the sum's order key, and the group as the
  /// reference.
  static func orderKey(_ group: UInt64, _ sum: ExactSum) -> [UInt8] {
    withUnsafeBytes(of: group.bigEndian) { sum.orderKey + $0 }
  }

  /// The group and the sum in a tree key; nil if the key does not decode as an entry of a sum.
  static func groupAndSum(in treeKey: UnsafeRawBufferPointer) -> (group: UInt64, sum: ExactSum)? {
    guard treeKey.count >= 16,
      let sum = try? ExactSum(decoding: treeKey.part(8, treeKey.count - 16))
    else { return nil }
    return (UInt64(bigEndian: treeKey.loadUnaligned(as: UInt64.self)), sum)
  }

  /// The entry of a group; nil if there is none. `sum` is nil if the entry does not decode as a
  /// sum.
  static func find(_ group: UInt64, in tree: OrderedTree) -> (key: [UInt8], sum: ExactSum?)? {
    withUnsafeBytes(of: group.bigEndian) { prefix in
      var cursor = OrderedCursor(tree)
      guard cursor.seek(lowerBound: prefix) else { return nil }
      let key = cursor.key
      guard key.count >= 8, key.part(0, 8).elementsEqual(prefix) else { return nil }
      return (Array(key), groupAndSum(in: key)?.sum)
    }
  }

  /// Adds a change to the sum of a group.
  ///
  /// - Returns: The sum before the change and the sum after it; each is nil if there is no sum. The
  ///   whole result is nil if the entry cannot be decoded, has another radix, or cannot contain the
  ///   numbers to subtract.
  static func add(
    _ change: ExactSum, to group: UInt64, in tree: UnsafeMutablePointer<OrderedTree>, _ arena: NodeArena
  ) -> (old: ExactSum?, new: ExactSum?)? {
    let old = find(group, in: tree.pointee)
    var new = change
    if let old {
      guard let sum = old.sum, sum.radix == change.radix else { return nil }
      new.merge(sum)
    }
    guard new.isPossible else { return nil }
    move(group, from: old?.key, to: new.isEmpty ? nil : key(group, new), in: tree, arena)
    return (old?.sum, new.isEmpty ? nil : new)
  }

  /// Replaces one entry of a group by another, unless they are equal.
  static func move(
    _ group: UInt64, from old: [UInt8]?, to new: [UInt8]?, in tree: UnsafeMutablePointer<OrderedTree>,
    _ arena: NodeArena
  ) {
    if old == new { return }
    if let old { old.withUnsafeBytes { _ = tree.pointee.remove($0, in: arena) } }
    if let new { new.withUnsafeBytes { _ = tree.pointee.put($0, group, in: arena) } }
  }

  /// The group and the number in an entry of an extractor. The entry's reference has no meaning.
  /// Nil for a key that is too short to contain a group.
  static func groupAndTerm(in entry: UnsafeRawBufferPointer) -> (group: UInt64, term: ExactSum.Term)? {
    guard entry.count >= 8 + IndexKey.referenceLength else { return nil }
    let term = ExactSum.Term(decoding: entry.part(8, entry.count - 8 - IndexKey.referenceLength))
    return (UInt64(bigEndian: entry.loadUnaligned(as: UInt64.self)), term)
  }
}
