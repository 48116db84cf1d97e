// Whether two versions agree on a range of ids. Subtrees that both share are skipped by their address, so
// the cost follows the difference, not the range.

extension DenseTable {
  /// Whether `old` and `new` hold the same ids with the same words in `range`.
  ///
  /// Both must be versions of one table: a shared node counts as equal at once.
  static func isUnchanged(in range: ClosedRange<UInt64>, from old: DenseTable, to new: DenseTable) -> Bool {
    if old.root == new.root { return true }
    return DenseComparison(range: range, file: old.file.orIfNone(new.file)).areEqual(old, new)
  }
}

/// Two versions of a table, walked in step.
private struct DenseComparison {
  let range: ClosedRange<UInt64>
  let file: FileNodes

  func areEqual(_ old: DenseTable, _ new: DenseTable) -> Bool {
    let (low, high) = old.height <= new.height ? (old, new) : (new, old)
    var node = high.root
    var level = high.height - 1
    while level >= max(low.height, 1) {
      guard let top = node else { break }
      // What the higher tree has beyond its first child, the lower one cannot have.
      guard isEmpty(DenseNode(top), level: level, slots: 1..<DenseNode.slotCount) else { return false }
      node = DenseNode(top).child(0, in: file)
      level -= 1
    }
    return isEqual(low.root, node, level: max(low.height, 1) - 1, base: 0)
  }

  /// The ids below a slot of a node that starts at `base`.
  private func ids(base: UInt64, level: Int, slot: Int) -> ClosedRange<UInt64> {
    let shift = UInt64(level * DenseNode.bitsPerLevel)
    let first = base | UInt64(slot) << shift
    return first...(first | ((1 << shift) &- 1))
  }

  private func isEmpty(_ node: DenseNode, level: Int, base: UInt64 = 0, slots: Range<Int>) -> Bool {
    var bits = node.presence & (~0 << UInt64(slots.lowerBound))
    while bits != 0 {
      let slot = bits.lowestBit
      bits &= bits &- 1
      let ids = ids(base: base, level: level, slot: slot)
      guard range.overlaps(ids) else { continue }
      if level == 0 || range.contains(ids.lowerBound) && range.contains(ids.upperBound) { return false }
      let child = DenseNode(node.child(slot, in: file).unsafelyUnwrapped)
      let all = 0..<DenseNode.slotCount
      if !isEmpty(child, level: level - 1, base: ids.lowerBound, slots: all) { return false }
    }
    return true
  }

  private func isEqual(
    _ old: UnsafeMutableRawPointer?, _ new: UnsafeMutableRawPointer?, level: Int, base: UInt64
  ) -> Bool {
    if old == new { return true }
    guard let old = old.map(DenseNode.init), let new = new.map(DenseNode.init) else {
      let only = DenseNode((old ?? new).unsafelyUnwrapped)
      return isEmpty(only, level: level, base: base, slots: 0..<DenseNode.slotCount)
    }
    var bits = old.presence | new.presence
    while bits != 0 {
      let slot = bits.lowestBit
      bits &= bits &- 1
      let ids = ids(base: base, level: level, slot: slot)
      guard range.overlaps(ids) else { continue }
      if level == 0 {
        if old.word(slot) != new.word(slot) { return false }
      } else if old.childAddress(slot) != new.childAddress(slot),
        !isEqual(old.child(slot, in: file), new.child(slot, in: file), level: level - 1, base: ids.lowerBound)
      {
        return false
      }
    }
    return true
  }
}
