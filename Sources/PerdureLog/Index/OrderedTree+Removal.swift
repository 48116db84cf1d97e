extension OrderedTree {
  /// A node that uses fewer bytes than this is merged with a neighbour if both fit in one node.
  static let sparseByteCount = OrderedNode.byteCount * 2 / 5
  /// The maximum number of bytes of a merged node, so that the next insertion does not split it
  /// again.
  static let mergedByteCountLimit = OrderedNode.byteCount * 7 / 8

  /// Removes the entry of `key`.
  ///
  /// - Returns: Its payload; nil if there was no entry. Then the tree is unchanged.
  @discardableResult
  mutating func remove(_ key: UnsafeRawBufferPointer, in arena: NodeArena) -> UInt64? {
    guard let root, let old = get(key) else { return nil }
    self.root = Removal(arena: arena, file: file).remove(key, from: OrderedNode(root))
    count &-= 1
    lowerRoot(in: arena)
    return old
  }

  /// Removes every entry.
  mutating func removeAll(in arena: NodeArena) {
    if let root { Removal(arena: arena, file: file).discardSubtree(OrderedNode(root)) }
    self = OrderedTree()
  }

  /// Removes roots that have a single child. OT5
  mutating func lowerRoot(in arena: NodeArena) {
    guard let top = root else {
      self = OrderedTree()
      return
    }
    let node = OrderedNode(top)
    guard !node.isLeaf, node.count == 1 else { return }
    root = node.child(0, in: file)
    height -= 1
    arena.discard(top)
    lowerRoot(in: arena)
  }
}

/// A removal: it descends to a leaf, and updates the nodes of the path on the way back.
struct Removal {
  let arena: NodeArena
  let file: FileNodes

  /// Removes a key that exists.
  ///
  /// - Returns: The node or its copy; nil if the node has no entry left.
  func remove(_ key: UnsafeRawBufferPointer, from node: OrderedNode) -> UnsafeMutableRawPointer? {
    let kept: OrderedNode
    if node.isLeaf {
      let place = node.search(key)
      precondition(place.isFound, "OT2: a found key is absent")
      kept = OrderedNode(arena.writable(node.base))
      removeEntry(place.index, from: kept)
    } else {
      let index = node.childIndex(for: key)
      let child = remove(key, from: OrderedNode(node.child(index, in: file)))
      kept = OrderedNode(arena.writable(node.base))
      updateChild(child, at: index, in: kept)
    }
    if kept.count > 0 { return kept.base }
    arena.discard(kept.base)
    return nil
  }

  /// Updates a writable inner node after one of its children lost an entry.
  private func updateChild(_ child: UnsafeMutableRawPointer?, at index: Int, in node: OrderedNode) {
    guard let child else { return removeChild(index, from: node) }
    node.setChild(index, child, entryCount: node.entryCount(index) &- 1)
    mergeIfSparse(index, in: node)
  }

  /// Merges a child of a writable node with a neighbour, if the child is sparse and both fit in one
  /// node.
  ///
  /// - Returns: Whether two children were merged.
  @discardableResult
  func mergeIfSparse(_ index: Int, in node: OrderedNode) -> Bool {
    guard OrderedNode(node.child(index, in: file)).usedByteCount < OrderedTree.sparseByteCount else {
      return false
    }
    if index + 1 < node.count, merge(index, index + 1, in: node) { return true }
    return index > 0 && merge(index - 1, index, in: node)
  }

  /// Removes the entry of a child. If it is the first of several entries, the second child becomes
  /// the first one, and its separator is removed.
  private func removeChild(_ index: Int, from node: OrderedNode) {
    if index == 0, node.count > 1 {
      node.setChild(0, node.childAddress(1), node.countWord(1))
      removeEntry(1, from: node)
    } else {
      removeEntry(index, from: node)
    }
  }

  /// Removes an entry and its block from a writable node.
  func removeEntry(_ index: Int, from node: OrderedNode) {
    if let block = node.block(index) { arena.discard(block) }
    node.removePlace(at: index)
  }

  /// Moves the entries of the right neighbour to the left one, if all of them fit.
  private func merge(_ leftIndex: Int, _ rightIndex: Int, in parent: OrderedNode) -> Bool {
    let left = OrderedNode(parent.child(leftIndex, in: file))
    let right = OrderedNode(parent.child(rightIndex, in: file))
    let separator = left.isLeaf ? nil : separator(rightIndex, of: parent, child: right)
    let list = OrderedEntryList(left, followedBy: right, separator: separator)
    let prefixLength = list.prefixLength(0..<list.count, scratch: arena.scratch)
    guard list.byteCount(0..<list.count, prefixLength: prefixLength) <= OrderedTree.mergedByteCountLimit
    else {
      return false
    }
    let source = Insertion.copyToScratch(left, arena: arena)
    let merged = OrderedNode(arena.writable(left.base))
    OrderedEntryList(source, followedBy: right, separator: separator)
      .build(0..<list.count, prefixLength: prefixLength, into: merged, scratch: arena.scratch)
    let total = parent.entryCount(leftIndex) + parent.entryCount(rightIndex)
    arena.discard(right.base)
    parent.setChild(leftIndex, merged.base, entryCount: total)
    // Between inner nodes the separator, with its block, has become a key of the merged node.
    if separator == nil {
      removeEntry(rightIndex, from: parent)
    } else {
      parent.removePlace(at: rightIndex)
    }
    return true
  }

  /// The key of a parent's entry, and its block. The first entry of the child lacks exactly this
  /// key (OT3).
  private func separator(_ index: Int, of parent: OrderedNode, child: OrderedNode) -> OrderedEntry {
    OrderedEntry(
      key: parent.key(index, in: arena.scratch.separator), block: parent.block(index),
      word: child.entryWord(0), below: child.countWord(0))
  }

  func discardSubtree(_ node: OrderedNode) {
    if !node.isLeaf {
      for index in 0..<node.count { discardSubtree(OrderedNode(node.child(index, in: file))) }
    }
    discardBlocks(of: node)
    arena.discard(node.base)
  }

  private func discardBlocks(of node: OrderedNode) {
    for index in 0..<node.count {
      if let block = node.block(index) { arena.discard(block) }
    }
  }
}
