import PerdureFormat

// Walks in key order. Each closure returns whether to continue.

extension Snapshot {
  /// Visits the ids of a range in order, with their values in place.
  ///
  /// If the compiler cannot determine which overload is meant, pass `ids: 0 ... .max`, or write the
  /// type of the closure's parameter.
  ///
  /// - Parameter keyspace: The keyspace to read.
  /// - Parameter ids: The ids to visit. Absent ids are skipped.
  /// - Parameter descending: Whether the walk runs from the last entry to the first.
  /// - Parameter body: Returns false to stop.
  /// - Precondition: The keyspace has ids as keys.
  /// - Throws: `StoreError` with code `.corruption` or `.io`; the errors of `body`.
  /// - Complexity: O(log n) to begin, then O(1) for each entry.
  public func forEach(
    in keyspace: Keyspace, ids: ClosedRange<UInt64> = 0 ... .max, descending: Bool = false,
    _ body: (_ id: UInt64, _ value: RawSpan) throws -> Bool
  ) throws {
    try visit(keyspace, ids: ids, descending: descending) { id, word, reader, hold in
      if let value = try reader.valueInPlace(at: word, keyspace: keyspace.id, id: id, &hold) {
        return try body(id, value.bytes)
      }
      let record = try reader.record(at: word, keyspace: keyspace.id, id: id, &hold)
      return try withContent(of: record) { try body(id, $0.bytes) }
    }
  }

  /// Visits the keys of a range in bytewise order, with their values in place.
  ///
  /// If the compiler cannot determine which overload is meant, pass `range: .all`.
  ///
  /// - Parameter keyspace: The keyspace to read.
  /// - Parameter range: The keys to visit.
  /// - Parameter descending: Whether the walk runs from the last entry to the first.
  /// - Parameter body: Returns false to stop.
  /// - Precondition: The keyspace has byte strings as keys.
  /// - Throws: `StoreError` with code `.corruption` or `.io`; the errors of `body`.
  /// - Complexity: O(log n) to begin, then O(1) for each entry.
  public func forEach(
    in keyspace: Keyspace, range: KeyRange = .all, descending: Bool = false,
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws {
    keyspace.requireKeys(.bytes)
    let reader = reader
    var hold = GroupHold()
    defer { hold.release() }
    try visit(tree(of: keyspace), range, descending: descending, reading: reader) { key, word in
      if let value = try reader.valueInPlace(at: word, keyspace: keyspace.id, key: key, &hold) {
        return try body(key.bytes, value.bytes)
      }
      let record = try reader.record(at: word, keyspace: keyspace.id, key: key, &hold)
      return try withContent(of: record) { try body(key.bytes, $0.bytes) }
    }
  }

  /// Visits the keys of a range in bytewise order, without reading their values.
  ///
  /// - Parameter keyspace: The keyspace to read.
  /// - Parameter range: The keys to visit.
  /// - Parameter descending: Whether the walk runs from the last key to the first.
  /// - Parameter body: Returns false to stop.
  /// - Precondition: The keyspace has byte strings as keys.
  /// - Throws: `StoreError` with code `.corruption` if a part of the index that the walk reads is
  ///   damaged; the errors of `body`.
  public func forEachKey(
    in keyspace: Keyspace, range: KeyRange = .all, descending: Bool = false,
    _ body: (_ key: RawSpan) throws -> Bool
  ) throws {
    keyspace.requireKeys(.bytes)
    try visit(tree(of: keyspace), range, descending: descending) { key, _ in try body(key.bytes) }
  }

  /// The number of ids of the keyspace in a range.
  ///
  /// - Precondition: The keyspace has ids as keys.
  /// - Throws: `StoreError` with code `.corruption` if a part of the index that this reads is
  ///   damaged.
  /// - Complexity: O(log n).
  public func count(in keyspace: Keyspace, ids: ClosedRange<UInt64>) throws(StoreError) -> Int {
    keyspace.requireKeys(.dense)
    let table = try trees(of: keyspace).dense
    let count = table.count(in: ids)
    try check(table.file)
    return count
  }

  /// The number of keys of the keyspace in a range.
  ///
  /// - Precondition: The keyspace has byte strings as keys.
  /// - Throws: `StoreError` with code `.corruption` if a part of the index that this reads is
  ///   damaged.
  /// - Complexity: O(log n).
  public func count(in keyspace: Keyspace, range: KeyRange) throws(StoreError) -> Int {
    keyspace.requireKeys(.bytes)
    return try count(tree(of: keyspace), range)
  }

  /// Visits the entries of a derived index. Index keys are in bytewise order, and the references of
  /// one key ascend.
  ///
  /// - Parameter index: An index of the store of this snapshot.
  /// - Parameter range: The index keys to visit.
  /// - Parameter descending: Whether the walk runs from the last entry to the first.
  /// - Parameter body: Returns false to stop.
  /// - Throws: `StoreError`: `.indexUnavailable`; `.invalidArgument` for an index of another store;
  ///   `.corruption` if a part of the index file that the walk reads is damaged. The errors of
  ///   `body`.
  public func forEachEntry(
    in index: DerivedIndex, range: KeyRange = .all, descending: Bool = false,
    _ body: (_ key: RawSpan, _ reference: UInt64) throws -> Bool
  ) throws {
    try visit(index, range, descending: descending) { key, reference in try body(key.bytes, reference) }
  }

  /// The number of entries of a derived index with a key in the range.
  ///
  /// - Throws: `StoreError`: `.indexUnavailable`; `.invalidArgument` for an index of another store;
  ///   `.corruption` if a part of the index file that this reads is damaged.
  /// - Complexity: O(log n).
  public func count(in index: DerivedIndex, range: KeyRange = .all) throws -> Int {
    try engine.checkAvailable(index)
    let tree = try tree(of: index)
    return try count(tree, tree.treeRange(of: range))
  }

  private func count(_ tree: OrderedTree, _ range: KeyRange) throws(StoreError) -> Int {
    let count = range.withRaw { tree.count(in: $0) }
    try check(tree.file)
    return count
  }

  package func visit(
    _ index: DerivedIndex, _ range: KeyRange, descending: Bool,
    _ body: (UnsafeRawBufferPointer, UInt64) throws -> Bool
  ) throws {
    try engine.checkAvailable(index)
    let tree = try tree(of: index)
    if !descending { return try visitAscending(tree, range) { try body(IndexKey.key(in: $0), $1) } }
    try visit(tree, tree.treeRange(of: range), descending: true) { try body(IndexKey.key(in: $0), $1) }
  }

  package func visitBytes(
    _ keyspace: Keyspace, ids: ClosedRange<UInt64>, descending: Bool,
    _ body: (UInt64, UnsafeRawBufferPointer, RecordVersion) throws -> Bool
  ) throws {
    try visit(keyspace, ids: ids, descending: descending) { id, word, reader, hold in
      let version = RecordVersion(rawValue: word)
      if let value = try reader.valueInPlace(at: word, keyspace: keyspace.id, id: id, &hold) {
        return try body(id, value, version)
      }
      let record = try reader.record(at: word, keyspace: keyspace.id, id: id, &hold)
      return try body(id, keptContent(of: record, at: word, hold), version)
    }
  }

  /// Like `visit`, for a keyspace whose keys have the layout of index entries: a key, then a
  /// reference of 8 bytes, big-endian.
  package func visitPairs(
    _ keyspace: Keyspace, _ range: KeyRange, descending: Bool,
    _ body: (UnsafeRawBufferPointer, UInt64) throws -> Bool
  ) throws {
    let tree = try tree(of: keyspace)
    func handOut(_ key: UnsafeRawBufferPointer, _ word: UInt64) throws -> Bool {
      try body(IndexKey.key(in: key), IndexKey.reference(in: key))
    }
    if !descending { return try visitAscending(tree, range, handOut) }
    try visit(tree, tree.treeRange(of: range), descending: true, handOut)
  }

  /// The number of pairs with a key in the range.
  package func countPairs(_ keyspace: Keyspace, _ range: KeyRange) throws(StoreError) -> Int {
    let tree = try tree(of: keyspace)
    return try count(tree, tree.treeRange(of: range))
  }

  /// Visits the ids in order, beginning with the first id that is not less than `first`. It does
  /// not read their records.
  package func visitIDs(
    _ keyspace: Keyspace, from first: UInt64, _ body: (UInt64) throws -> Bool
  ) throws {
    var cursor = DenseCursor(try trees(of: keyspace).dense)
    var isAtEntry = cursor.seek(lowerBound: first)
    while isAtEntry {
      try check(cursor.table.file)
      guard try body(cursor.id) else { return }
      isAtEntry = cursor.next()
    }
    try check(cursor.table.file)
  }

  /// - Parameter body: Called with an id, the address of its record, and a reader for the record.
  @inline(__always)
  private func visit(
    _ keyspace: Keyspace, ids: ClosedRange<UInt64>, descending: Bool,
    _ body: (UInt64, UInt64, RecordReader, inout GroupHold) throws -> Bool
  ) throws {
    keyspace.requireKeys(.dense)
    let reader = reader
    var hold = GroupHold()
    defer { hold.release() }
    var cursor = DenseCursor(try trees(of: keyspace).dense)
    var isAtEntry =
      descending ? cursor.seek(notAbove: ids.upperBound) : cursor.seek(lowerBound: ids.lowerBound)
    while isAtEntry, ids.contains(cursor.id) {
      try check(cursor.table.file)
      cursor.prefetchAhead(reader, descending: descending)
      guard try body(cursor.id, cursor.word, reader, &hold) else { return }
      isAtEntry = descending ? cursor.previous() : cursor.next()
    }
    try check(cursor.table.file)
  }

  /// - Parameter reader: The reader that will read the records of the entries; nil if they are not
  ///   read.
  @inline(__always)
  private func visit(
    _ tree: OrderedTree, _ range: KeyRange, descending: Bool, reading reader: RecordReader? = nil,
    _ body: (UnsafeRawBufferPointer, UInt64) throws -> Bool
  ) throws {
    try range.withRaw { range in
      var cursor = OrderedCursor(tree)
      var isAtEntry = descending ? cursor.seek(below: range.upper) : cursor.seek(lowerBound: range.lower)
      // The number of entries left in the leaf. It is computed once for each leaf.
      var left = 0
      while isAtEntry {
        if left == 0 {
          try check(tree.file)
          left = cursor.countLeft(in: range, descending: descending)
          if left == 0 { break }
        }
        left &-= 1
        if let reader { cursor.prefetchAhead(reader, descending: descending) }
        guard try body(cursor.key, cursor.payload) else { return }
        isAtEntry = descending ? cursor.previous() : cursor.next()
      }
      try check(tree.file)
    }
  }

  /// Visits the entries whose index key is in a range: the same entries as in the range
  /// `OrderedTree.treeRange`. It needs only one descent, because it determines the tree keys of the
  /// bounds where the walk begins and ends.
  @inline(__always)
  private func visitAscending(
    _ tree: OrderedTree, _ range: KeyRange, _ body: (UnsafeRawBufferPointer, UInt64) throws -> Bool
  ) throws {
    try range.withRaw { range in
      if let upper = range.upper, !range.lower.lexicographicallyPrecedes(upper) { return }
      var cursor = OrderedCursor(tree)
      var isAtEntry = cursor.seek(lowerBound: range.lower)
      if isAtEntry, cursor.isIndexKeyBeginning(of: range.lower) { isAtEntry = cursor.seekPastIndexKey() }
      var left = 0
      while isAtEntry {
        if left == 0 {
          try check(tree.file)
          left = cursor.countLeft(in: range, descending: false)
          // A key that is a prefix of the bound is less than the bound, regardless of the reference
          // that follows the key.
          if left == 0, let upper = range.upper, cursor.isIndexKeyBeginning(of: upper) { left = 1 }
          if left == 0 { break }
        }
        left &-= 1
        guard try body(cursor.key, cursor.payload) else { return }
        isAtEntry = cursor.next()
      }
      try check(tree.file)
    }
  }
}

extension OrderedCursor {
  /// Whether the index key of the cursor's entry is a proper prefix of `bound`.
  fileprivate mutating func isIndexKeyBeginning(of bound: UnsafeRawBufferPointer) -> Bool {
    let key = IndexKey.key(in: key)
    return key.count < bound.count && bound.prefix(key.count).elementsEqual(key)
  }

  /// Moves to the first entry after all entries with the index key of the cursor's entry; returns
  /// false if there is none.
  fileprivate mutating func seekPastIndexKey() -> Bool {
    guard let successor = KeyRange.successor(ofPrefix: Array(IndexKey.key(in: key))) else { return false }
    return successor.withUnsafeBytes { seek(lowerBound: $0) }
  }
}

extension DenseCursor {
  /// Moves to the last entry whose id is not greater than `id`; returns false if there is none.
  mutating func seek(notAbove id: UInt64) -> Bool {
    if id == .max { return seekLast() }
    return seek(lowerBound: id + 1) ? previous() : seekLast()
  }
}

extension OrderedCursor {
  /// Moves to the last entry whose key is less than `bound`. If `bound` is nil, moves to the last
  /// entry. Returns false if there is no such entry.
  mutating func seek(below bound: UnsafeRawBufferPointer?) -> Bool {
    guard let bound else { return seekLast() }
    return seek(lowerBound: bound) ? previous() : seekLast()
  }
}

extension Engine {
  /// Checks that an index is available. The entries of an unavailable index do not match its
  /// definition, so they must not be read.
  func checkAvailable(_ index: DerivedIndex) throws(StoreError) {
    guard unavailableIndexes.contains(index.id) else { return }
    if let damage = indexDamage[index.id] {
      // Files that the system could not read may be intact, so the advice must not be to overwrite
      // them.
      let advice =
        damage.code == .corruption
        ? "put the value again or remove it, then open the store again"
        : "correct the cause, then open the store again"
      throw StoreError(
        .indexUnavailable,
        "Index \(index.name) lacks a value that cannot be read (\(damage.message)); \(advice)",
        at: damage.place, cause: damage.cause)
    }
    if let misfit = misfit(of: index.id) {
      throw StoreError(
        .indexUnavailable,
        "Index \(index.name) is no longer maintained. \(misfit). No record is lost. Open the store again or define "
          + "the index again: this rebuilds it from the records")
    }
    throw StoreError(
      .indexUnavailable,
      "No extractor in StoreOptions.indexExtractors could maintain index \(index.name). Add one, then define the index "
        + "again")
  }
}
