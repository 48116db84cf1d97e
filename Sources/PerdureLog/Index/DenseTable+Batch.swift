import CPerdureShims

extension DenseTable {
  /// Looks up many ids, in small groups. It descends one level for all ids of a group before the
  /// next level, so that their cache misses overlap.
  ///
  /// - Parameter words: Receives the word of each id, 0 if the id is absent. It has at least as
  ///   many elements as `ids`.
  func getMany(_ ids: UnsafeBufferPointer<UInt64>, into words: UnsafeMutableBufferPointer<UInt64>) {
    precondition(words.count >= ids.count, "each id must have a word")
    let width = 16
    withUnsafeTemporaryAllocation(of: UnsafeMutableRawPointer?.self, capacity: width) { nodes in
      var start = 0
      while start < ids.count {
        let size = min(width, ids.count - start)
        descend(ids, from: start, count: size, through: nodes)
        for index in 0..<size {
          let id = ids[start &+ index]
          words[start &+ index] = nodes[index].map { DenseNode($0).word(Int(id & 63)) } ?? 0
        }
        start += size
      }
    }
  }

  /// Like `getMany`, for ascending ids that are close together, such as the ids of objects created
  /// together. It looks up each leaf once.
  func getNeighbours(_ ids: UnsafeBufferPointer<UInt64>, into words: UnsafeMutableBufferPointer<UInt64>) {
    precondition(words.count >= ids.count, "each id must have a word")
    var leaf: DenseNode?
    var leafNumber = UInt64.max
    for index in 0..<ids.count {
      let id = ids[index]
      if id &>> UInt64(DenseNode.bitsPerLevel) != leafNumber {
        leafNumber = id &>> UInt64(DenseNode.bitsPerLevel)
        leaf = self.leaf(of: id)
      }
      words[index] = leaf?.word(DenseNode.slot(of: id, level: 0)) ?? 0
    }
  }

  /// Stores the leaf of each id in `nodes`, and prefetches the id's word in the leaf.
  private func descend(
    _ ids: UnsafeBufferPointer<UInt64>, from start: Int, count size: Int,
    through nodes: UnsafeMutableBufferPointer<UnsafeMutableRawPointer?>
  ) {
    for index in 0..<size { nodes[index] = covers(ids[start &+ index]) ? root : nil }
    var level = height - 1
    while level > 0 {
      for index in 0..<size {
        guard let node = nodes[index] else { continue }
        let id = ids[start &+ index]
        let child = DenseNode(node).child(DenseNode.slot(of: id, level: level), in: file)
        nodes[index] = child
        guard let child else { continue }
        let slot = DenseNode.slot(of: id, level: level &- 1)
        perdure_prefetch(DenseNode(child).slotAddress(slot))
      }
      level -= 1
    }
  }
}
