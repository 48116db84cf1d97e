import PerdureFormat

// Reads of ranges: the snapshot's entries are merged with the transaction's own writes. A read that
// stops early (`limit`) depends only on the part of the range that it has visited. So readers of a
// queue do not conflict with its writers.

extension StoreTransaction {
  /// Copies of the entries of a dense keyspace whose ids are in `ids`, in order. The commit will
  /// require that no id in the visited part of `ids` was added, removed or changed.
  ///
  /// - Parameter keyspace: The keyspace to read.
  /// - Parameter ids: The ids to read. Absent ids are skipped.
  /// - Parameter limit: The maximum number of entries.
  /// - Parameter descending: Whether the entries run from the last to the first.
  /// - Throws: `StoreError` with code `.invalidArgument`, `.corruption` or `.io`.
  /// - Complexity: O(log n + k + w log w) for k entries and w own writes.
  public mutating func entries(
    in keyspace: Keyspace, ids: ClosedRange<UInt64>, limit: Int = .max, descending: Bool = false
  ) throws -> [(id: UInt64, value: [UInt8])] {
    try WriteTransaction.check(keyspace, .dense)
    guard limit > 0 else { return [] }
    let own = order.compactMap { place -> UInt64? in
      guard place.keyspace == keyspace, case .id(let id) = place.key, ids.contains(id) else { return nil }
      return id
    }
    var merge = EntryMerge(own, limit: limit, isBefore: { descending ? $0 > $1 : $0 < $1 })
    let view = snapshot
    let written = { [writes] (id: UInt64) in
      try writes[Place(keyspace: keyspace, key: .id(id))]?.value()
    }
    try view.forEach(in: keyspace, ids: ids, descending: descending) { id, value in
      try merge.take(id, written) { value.withUnsafeBytes { Array($0) } }
    }
    try merge.finish(written)
    var seen = ids
    if let last = merge.lastSeen, merge.isFull {
      seen = descending ? last...ids.upperBound : ids.lowerBound...last
    }
    note(.idRangeUnchanged(keyspace, seen, since: snapshot))
    return merge.entries.map { (id: $0.key, value: $0.value) }
  }

  /// Copies of the entries of a byte-string keyspace whose keys are in `range`, in order. The
  /// commit will require that no key in the visited part of `range` was added, removed or changed.
  ///
  /// - Parameter keyspace: The keyspace to read.
  /// - Parameter range: The keys to read.
  /// - Parameter limit: The maximum number of entries.
  /// - Parameter descending: Whether the entries run from the last to the first.
  /// - Throws: `StoreError` with code `.invalidArgument`, `.corruption` or `.io`.
  /// - Complexity: O(log n + k + w log w) for k entries and w own writes.
  public mutating func entries(
    in keyspace: Keyspace, range: KeyRange, limit: Int = .max, descending: Bool = false
  ) throws -> [(key: [UInt8], value: [UInt8])] {
    try WriteTransaction.check(keyspace, .bytes)
    guard limit > 0 else { return [] }
    let own = order.compactMap { place -> [UInt8]? in
      guard place.keyspace == keyspace, case .bytes(let key) = place.key, range.contains(key) else {
        return nil
      }
      return key
    }
    var merge = EntryMerge(
      own, limit: limit,
      isBefore: { descending ? $1.lexicographicallyPrecedes($0) : $0.lexicographicallyPrecedes($1) })
    let view = snapshot
    let written = { [writes] (key: [UInt8]) in
      try writes[Place(keyspace: keyspace, key: .bytes(key))]?.value()
    }
    try view.forEach(in: keyspace, range: range, descending: descending) { key, value in
      try merge.take(key.withUnsafeBytes { Array($0) }, written) { value.withUnsafeBytes { Array($0) } }
    }
    try merge.finish(written)
    var seen = range
    if let last = merge.lastSeen, merge.isFull {
      // The first key after `last` is `last` and a zero byte.
      if descending { seen.lower = last } else { seen.upper = last + [0] }
    }
    note(.rangeUnchanged(keyspace, seen, since: snapshot))
    return merge.entries.map { (key: $0.key, value: $0.value) }
  }

  /// The number of ids in the range, own writes included. The commit will require that the range is
  /// unchanged.
  ///
  /// - Throws: `StoreError` with code `.invalidArgument` or `.corruption`.
  /// - Complexity: O(log n + w) for w own writes.
  public mutating func count(in keyspace: Keyspace, ids: ClosedRange<UInt64>) throws -> Int {
    try WriteTransaction.check(keyspace, .dense)
    _ = try snapshot.trees(of: keyspace)
    note(.idRangeUnchanged(keyspace, ids, since: snapshot))
    return try order.reduce(snapshot.count(in: keyspace, ids: ids)) { count, place in
      guard place.keyspace == keyspace, case .id(let id) = place.key, ids.contains(id) else { return count }
      return try count + change(place)
    }
  }

  /// The number of keys in the range, own writes included. The commit will require that the range
  /// is unchanged.
  ///
  /// - Throws: `StoreError` with code `.invalidArgument` or `.corruption`.
  /// - Complexity: O(log n + w) for w own writes.
  public mutating func count(in keyspace: Keyspace, range: KeyRange) throws -> Int {
    try WriteTransaction.check(keyspace, .bytes)
    _ = try snapshot.trees(of: keyspace)
    note(.rangeUnchanged(keyspace, range, since: snapshot))
    return try order.reduce(snapshot.count(in: keyspace, range: range)) { count, place in
      guard place.keyspace == keyspace, case .bytes(let key) = place.key, range.contains(key) else {
        return count
      }
      return try count + change(place)
    }
  }

  /// The entries of a derived index with a key in `range`, in order, as in the snapshot: the
  /// transaction's own writes are not included. The commit will require that no entry in the range
  /// was added or removed, up to and including the last key that was visited.
  ///
  /// - Parameter index: An index of the store of this transaction.
  /// - Parameter range: The index keys to read.
  /// - Parameter limit: The maximum number of entries.
  /// - Parameter descending: Whether the entries run from the last to the first.
  /// - Throws: `StoreError` with code `.indexUnavailable`, `.invalidArgument` or `.corruption`.
  public mutating func indexEntries(
    in index: DerivedIndex, range: KeyRange = .all, limit: Int = .max, descending: Bool = false
  ) throws -> [(key: [UInt8], reference: UInt64)] {
    guard limit > 0 else { return [] }
    var entries: [(key: [UInt8], reference: UInt64)] = []
    try snapshot.forEachEntry(in: index, range: range, descending: descending) { key, reference in
      entries.append((key.withUnsafeBytes { Array($0) }, reference))
      return entries.count < limit
    }
    var seen = range
    if let last = entries.last?.key, entries.count == limit {
      // The range includes all references of the last key, because a range of keys cannot end
      // between them. The next key after `last` is `last` and a zero byte.
      if descending { seen.lower = last } else { seen.upper = last + [0] }
    }
    note(.indexRangeUnchanged(index, seen, since: snapshot))
    return entries
  }

  /// The number that the transaction's own write of a key adds to the number of keys: 1, 0 or -1.
  private borrowing func change(_ place: Place) throws(StoreError) -> Int {
    let isThere = try snapshot.contains(place.key, in: place.keyspace)
    let stays = writes[place]?.leavesValue ?? false
    return (stays ? 1 : 0) - (isThere ? 1 : 0)
  }
}

extension KeyRange {
  /// Whether `lower <= key < upper`.
  func contains(_ key: [UInt8]) -> Bool {
    guard !key.lexicographicallyPrecedes(lower) else { return false }
    return upper.map { key.lexicographicallyPrecedes($0) } ?? true
  }
}

/// Merges the stored entries of a range, which come in order, with the keys that a transaction
/// wrote.
private struct EntryMerge<K> {
  private(set) var entries: [(key: K, value: [UInt8])] = []
  /// The last key that was visited, even if it has no entry.
  private(set) var lastSeen: K?
  private var own: ArraySlice<K>
  private let limit: Int
  private let isBefore: (K, K) -> Bool

  init(_ own: [K], limit: Int, isBefore: @escaping (K, K) -> Bool) {
    self.own = own.sorted(by: isBefore)[...]
    self.limit = limit
    self.isBefore = isBefore
  }

  var isFull: Bool { entries.count >= limit }

  /// Visits the written entries that precede the next stored entry in the direction of the walk,
  /// and then that stored entry. Returns whether to continue.
  mutating func take(_ key: K, _ written: (K) throws -> [UInt8]?, _ value: () -> [UInt8]) throws -> Bool {
    while let first = own.first, !isBefore(key, first) {
      let isSame = !isBefore(first, key)
      own.removeFirst()
      add(first, try written(first))
      if isFull { return false }
      if isSame { return true }
    }
    add(key, value())
    return !isFull
  }

  /// Visits the written entries after the last stored entry.
  mutating func finish(_ written: (K) throws -> [UInt8]?) throws {
    while !isFull, let first = own.popFirst() { add(first, try written(first)) }
  }

  private mutating func add(_ key: K, _ value: [UInt8]?) {
    lastSeen = key
    if let value { entries.append((key, value)) }
  }
}
