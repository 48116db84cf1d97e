extension OrderedTree {
  /// Looks up many keys, in small groups. It descends one level for all keys of a group before the
  /// next level, so that their cache misses overlap.
  ///
  /// - Parameter payloads: Receives the payload of each key, nil if the key is absent. It has at
  ///   least as many elements as `keys`.
  func getMany(
    _ keys: UnsafeBufferPointer<UnsafeRawBufferPointer>, into payloads: UnsafeMutableBufferPointer<UInt64?>
  ) {
    precondition(payloads.count >= keys.count, "each key must have a payload")
    guard let root else { return payloads.update(repeating: nil) }
    let width = 16
    withUnsafeTemporaryAllocation(of: UnsafeMutableRawPointer.self, capacity: width) { nodes in
      var start = 0
      while start < keys.count {
        let size = min(width, keys.count - start)
        for index in 0..<size { nodes[index] = root }
        for _ in 1..<max(1, height) {
          for index in 0..<size {
            let node = OrderedNode(nodes[index])
            let child = OrderedNode(node.child(node.childIndex(for: keys[start &+ index]), in: file))
            child.prefetch()
            nodes[index] = child.base
          }
        }
        for index in 0..<size {
          let leaf = OrderedNode(nodes[index])
          let place = leaf.search(keys[start &+ index])
          payloads[start &+ index] = place.isFound ? leaf.word(place.index) : nil
        }
        start += size
      }
    }
  }
}
