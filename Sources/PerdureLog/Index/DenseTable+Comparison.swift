// Checks whether two versions agree on a range of ids. Subtrees that both versions share have the
// same address and are skipped. So the cost depends on the differences, not on the length of the
// range.

extension DenseTable {
  /// Whether `old` and `new` have the same ids with the same words in `range`.
  ///
  /// Both must be versions of one table, because nodes with the same address count as equal.
  static func isUnchanged(in range: ClosedRange<UInt64>, from old: DenseTable, to new: DenseTable) -> Bool {
    if old.root == new.root { return true }
    let (low, high) = old.height <= new.height ? (old, new) : (new, old)
    return DenseComparison(range: range, lowFile: low.file, highFile: high.file).areEqual(low, high)
  }
}

/// Two versions of a table, which are walked in parallel.
private struct DenseComparison {
  let range: ClosedRange<UInt64>
  // The files differ if one of the versions is from another opening of the store.
  let lowFile: FileNodes
  let highFile: FileNodes

  /// - Parameter low: The version with the smaller height; either one if the heights are equal.
  func areEqual(_ low: DenseTable, _ high: DenseTable) -> Bool {
    var node = high.root
    var level = high.height - 1
    while level >= max(low.height, 1) {
      guard let top = node else { break }
      // The lower tree has no ids that belong below a later child of the higher tree.
      guard isEmpty(DenseNode(top), level: level, slots: 1..<DenseNode.slotCount, highFile) else {
        return false
      }
      node = DenseNode(top).child(0, in: highFile)
      level -= 1
    }
    return isEqual(low.root, node, level: max(low.height, 1) - 1, base: 0)
  }

  /// The ids below a slot of the node whose first id is `base`.
  private func ids(base: UInt64, level: Int, slot: Int) -> ClosedRange<UInt64> {
    let shift = UInt64(level * DenseNode.bitsPerLevel)
    let first = base | UInt64(slot) << shift
    return first...(first | ((1 << shift) &- 1))
  }

  private func isEmpty(
    _ node: DenseNode, level: Int, base: UInt64 = 0, slots: Range<Int>, _ file: FileNodes
  ) -> Bool {
    var bits = node.presence & (~0 << UInt64(slots.lowerBound))
    while bits != 0 {
      let slot = bits.lowestBit
      bits &= bits &- 1
      let ids = ids(base: base, level: level, slot: slot)
      guard range.overlaps(ids) else { continue }
      if level == 0 || range.contains(ids.lowerBound) && range.contains(ids.upperBound) { return false }
      let child = DenseNode(node.child(slot, in: file).unsafelyUnwrapped)
      let all = 0..<DenseNode.slotCount
      if !isEmpty(child, level: level - 1, base: ids.lowerBound, slots: all, file) { return false }
    }
    return true
  }

  private func isEqual(
    _ low: UnsafeMutableRawPointer?, _ high: UnsafeMutableRawPointer?, level: Int, base: UInt64
  ) -> Bool {
    if low == high { return true }
    guard let low = low.map(DenseNode.init), let high = high.map(DenseNode.init) else {
      let only = DenseNode((low ?? high).unsafelyUnwrapped)
      let file = low == nil ? highFile : lowFile
      return isEmpty(only, level: level, base: base, slots: 0..<DenseNode.slotCount, file)
    }
    var bits = low.presence | high.presence
    while bits != 0 {
      let slot = bits.lowestBit
      bits &= bits &- 1
      let ids = ids(base: base, level: level, slot: slot)
      guard range.overlaps(ids) else { continue }
      if level == 0 {
        if low.word(slot) != high.word(slot) { return false }
      } else if low.childAddress(slot) != high.childAddress(slot),
        !isEqual(
          low.child(slot, in: lowFile), high.child(slot, in: highFile), level: level - 1,
          base: ids.lowerBound)
      {
        return false
      }
    }
    return true
  }
}
