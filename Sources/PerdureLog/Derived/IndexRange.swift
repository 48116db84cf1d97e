import PerdureFormat

extension OrderedTree {
  /// Converts a range of index keys to a range of tree keys (index key and reference). The result
  /// contains the tree keys whose index key is in the given range.
  ///
  /// A tree key and its index key compare with a bound in the same way, with one exception. If the
  /// index key is a prefix of the bound, the tree key's order depends on the reference's bytes. No
  /// key of an index is a prefix of another, so there is at most one such key. Such a key is found
  /// at the position of the bound.
  func treeRange(of range: KeyRange) -> KeyRange {
    guard let lower = treeBound(range.lower) else { return KeyRange(lower: [], upper: []) }
    return KeyRange(lower: lower, upper: range.upper.flatMap { treeBound($0) })
  }

  /// The bound for tree keys; nil if every tree key is before the bound.
  private func treeBound(_ bound: [UInt8]) -> [UInt8]? {
    // No key precedes the empty bound.
    if bound.isEmpty { return bound }
    return bound.withUnsafeBytes { raw in
      var cursor = OrderedCursor(self)
      guard cursor.seek(lowerBound: raw) else { return bound }
      let key = IndexKey.key(in: cursor.key)
      guard key.count < raw.count, raw.prefix(key.count).elementsEqual(key) else { return bound }
      return KeyRange.successor(ofPrefix: Array(key))
    }
  }

  /// Whether the entries with an index key in `range` are the same in both versions of the tree.
  static func isUnchanged(index range: KeyRange, from old: OrderedTree, to new: OrderedTree) -> Bool {
    let before = old.treeRange(of: range)
    let after = new.treeRange(of: range)
    // The union of the two ranges. It may include a change outside `range`, but it includes every
    // change in `range`.
    let lower = before.lower.lexicographicallyPrecedes(after.lower) ? before.lower : after.lower
    guard let left = before.upper, let right = after.upper else {
      return KeyRange(lower: lower, upper: nil).withRaw { isUnchanged(in: $0, from: old, to: new) }
    }
    let upper = left.lexicographicallyPrecedes(right) ? right : left
    return KeyRange(lower: lower, upper: upper).withRaw { isUnchanged(in: $0, from: old, to: new) }
  }
}
