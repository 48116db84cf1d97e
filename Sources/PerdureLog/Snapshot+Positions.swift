// Reads entries of a derived index by their position.

extension Snapshot {
  /// Calls `body` with the entry at `position`, counted from 0 at the start of the range. If there
  /// is no such entry, does not call `body`.
  ///
  /// - Throws: `StoreError` with code `.indexUnavailable`, `.invalidArgument` or `.corruption`; the
  ///   errors of `body`.
  /// - Complexity: O(log n).
  package func withEntry(
    at position: Int, of range: KeyRange, in index: DerivedIndex,
    _ body: (UnsafeRawBufferPointer, UInt64) throws -> Void
  ) throws {
    try engine.checkAvailable(index)
    let tree = try tree(of: index)
    try tree.treeRange(of: range).withRaw { range in
      guard position >= 0, position < tree.count(in: range) else { return try check(tree.file) }
      var cursor = OrderedCursor(tree)
      let isThere = cursor.seek(position: tree.rank(of: range.lower) + position)
      try check(tree.file)
      guard isThere else { return }
      try body(IndexKey.key(in: cursor.key), IndexKey.reference(in: cursor.key))
    }
  }
}
