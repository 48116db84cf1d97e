// A commit's changes of the entries of derived indexes. They are collected, and then applied in key
// order.
//
// The entries of a commit's records are scattered over an index. In key order many of them share a
// leaf, and the path to it. So the operations are collected while the records get their addresses.
// They are applied at the end of the commit, or earlier if there are very many. Operations on one
// key keep their order, so the result is the same.

import PerdureFormat

/// The entries to add to indexes, and the entries to remove from them.
struct IndexOperations: ~Copyable {
  private struct Operation {
    /// The first sixteen bytes of the key, big-endian, padded with zeros.
    var high: UInt64
    var low: UInt64
    /// The position of the key in `keys`. It ascends in the order of the operations.
    var position: UInt32
    var isRemoval: Bool
  }

  /// The operations on one index.
  private struct List {
    var operations: [Operation] = []
    /// Whether the operations arrived in the order of their keys.
    var isOrdered = true
  }

  private(set) var keys = IndexEntries()
  /// The first index that lacked entries to remove, and the number of entries that it lacked when
  /// the operations were applied. An entry that one record gives twice is counted at most once.
  private(set) var missing: (index: UInt32, count: Int)?
  /// The operations on each index, by index id.
  private var lists: [List] = []

  /// When this number of operations is collected, they are applied.
  private static let countMax = 1 << 16
  private static let keyByteCountMax = 8 << 20

  /// Whether enough operations are collected to apply them.
  var isFull: Bool { keys.count >= Self.countMax || keys.bytes.count >= Self.keyByteCountMax }

  /// Notes the entries that `extract` finds, to be added.
  ///
  /// - Returns: Their positions in `keys`, until the operations are applied.
  @inline(__always)
  mutating func add(to index: UInt32, _ extract: (inout IndexEntries) -> Void) -> Range<Int> {
    note(index, isRemoval: false, extract)
  }

  /// Notes the entries that `extract` finds, to be removed.
  ///
  /// - Returns: Their positions in `keys`, until the operations are applied.
  @inline(__always)
  mutating func remove(from index: UInt32, _ extract: (inout IndexEntries) -> Void) -> Range<Int> {
    note(index, isRemoval: true, extract)
  }

  @inline(__always)
  private mutating func note(
    _ index: UInt32, isRemoval: Bool, _ extract: (inout IndexEntries) -> Void
  ) -> Range<Int> {
    let first = keys.count
    extract(&keys)
    let found = first..<keys.count
    for position in found { note(position, index, isRemoval: isRemoval) }
    return found
  }

  /// Notes an entry to be removed.
  mutating func remove(_ treeKey: UnsafeRawBufferPointer, from index: UInt32) {
    keys.append(treeKey: treeKey)
    note(keys.count - 1, index, isRemoval: true)
  }

  private mutating func note(_ position: Int, _ index: UInt32, isRemoval: Bool) {
    let (high, low) = keys.withEntry(position) { ($0.bigEndianWord(at: 0), $0.bigEndianWord(at: 8)) }
    while lists.count <= Int(index) { lists.append(List()) }
    if let last = lists[Int(index)].operations.last, (last.high, last.low) >= (high, low) {
      lists[Int(index)].isOrdered = false
    }
    lists[Int(index)].operations.append(
      Operation(high: high, low: low, position: UInt32(position), isRemoval: isRemoval))
  }

  /// Applies the collected operations, index by index, and clears them.
  mutating func apply(to indexes: UnsafeMutablePointer<OrderedTree>, in arena: NodeArena) {
    for index in lists.indices where !lists[index].operations.isEmpty {
      var operations: [Operation] = []
      swap(&operations, &lists[index].operations)
      if !lists[index].isOrdered { order(&operations) }
      let missingCount = perform(operations, on: indexes + index, in: arena)
      if missingCount > 0, missing == nil { missing = (UInt32(index), missingCount) }
      // The memory is kept for later operations.
      operations.removeAll(keepingCapacity: true)
      lists[index] = List(operations: operations)
    }
    keys.removeAll()
  }

  /// - Returns: The number of entries that are to be removed and that the index lacks.
  private func perform(
    _ operations: [Operation], on tree: UnsafeMutablePointer<OrderedTree>, in arena: NodeArena
  ) -> Int {
    var insertion = AscendingChanges(tree, in: arena)
    var missingCount = 0
    for place in operations.indices {
      let operation = operations[place]
      let isMissing = keys.withEntry(Int(operation.position)) { key in
        if operation.isRemoval { return !insertion.remove(key) }
        insertion.put(key, IndexKey.reference(in: key))
        return false
      }
      if isMissing, !repeatsRemoval(operations, place) { missingCount += 1 }
    }
    insertion.finish()
    return missingCount
  }

  /// Whether the previous operation removes the same entry.
  @inline(never)
  private func repeatsRemoval(_ operations: [Operation], _ place: Int) -> Bool {
    guard place > 0, operations[place - 1].isRemoval else { return false }
    return keys.withEntry(Int(operations[place].position)) { key in
      keys.withEntry(Int(operations[place - 1].position)) { KeyBytes.compare($0, key) == 0 }
    }
  }

  /// Sorts by key. Operations on one key stay in the order of their arrival.
  private func order(_ operations: inout [Operation]) {
    keys.withAll { bytes, ends in
      func key(_ position: UInt32) -> UnsafeRawBufferPointer {
        bytes.part((position == 0 ? 0 : ends[Int(position) - 1])..<ends[Int(position)])
      }
      operations.sort { left, right in
        if left.high != right.high { return left.high < right.high }
        if left.low != right.low { return left.low < right.low }
        let order = KeyBytes.compare(key(left.position), key(right.position))
        return order != 0 ? order < 0 : left.position < right.position
      }
    }
  }
}

extension UnsafeRawBufferPointer {
  /// The eight bytes at an offset as a big-endian number, padded with zeros.
  @inline(__always)
  fileprivate func bigEndianWord(at offset: Int) -> UInt64 {
    if count >= offset &+ 8 {
      return UInt64(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
    var word: UInt64 = 0
    for place in offset..<(offset + 8) { word = word &<< 8 | (place < count ? UInt64(self[place]) : 0) }
    return word
  }
}
