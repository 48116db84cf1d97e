// A walk over one version of an ordered tree, both ways. Copy-on-write leaves cannot name their
// neighbours, so the cursor keeps the path from the root; it and the buffer in which keys are put together
// are one allocation, made when the cursor is and reused by every seek.

/// A cursor on an immutable root. Any thread may use it, one at a time, while the version is pinned.
struct OrderedCursor: ~Copyable {
  let tree: OrderedTree
  private(set) var place: CursorPlace = .beforeFirst

  /// The leaf the cursor is on, the index in it, and the number of its entries.
  private var leaf: OrderedNode
  private var index = 0
  private var leafCount = 0
  /// Whether nothing has been handed out by `forEachPayloadAhead` since the cursor came to its leaf.
  private var isNewInLeaf = true
  /// The leaf whose prefix the key buffer begins with.
  private var prefixOwner: UnsafeMutableRawPointer?

  /// The inner nodes of the path by level, and where the path goes on in each.
  private let path: UnsafeMutablePointer<Step>
  private let keyBuffer: UnsafeMutableRawPointer

  private struct Step {
    var node: UnsafeMutableRawPointer
    var index: Int
  }

  /// A cursor in front of the first entry.
  init(_ tree: OrderedTree) {
    self.tree = tree
    let pathByteCount = OrderedTree.heightLimit * MemoryLayout<Step>.stride
    let total = pathByteCount + OrderedNode.keyBufferByteCount
    let memory = UnsafeMutableRawPointer.allocate(byteCount: total, alignment: 16)
    path = memory.bindMemory(to: Step.self, capacity: OrderedTree.heightLimit)
    keyBuffer = memory + pathByteCount
    leaf = OrderedNode(memory)
  }

  deinit { UnsafeMutableRawPointer(path).deallocate() }

  var isValid: Bool { place == .onEntry }

  /// The payload of the entry the cursor is on.
  var payload: UInt64 {
    precondition(isValid, "the cursor is on no entry")
    return leaf.word(index)
  }

  /// The key of the entry the cursor is on; its bytes are good until the cursor moves or goes.
  var key: UnsafeRawBufferPointer {
    mutating get {
      precondition(isValid, "the cursor is on no entry")
      if leaf.isOutOfLine(index) { return leaf.key(index, in: keyBuffer) }
      if prefixOwner == leaf.base { return leaf.key(index, behindPrefixIn: keyBuffer) }
      prefixOwner = leaf.base
      return leaf.key(index, in: keyBuffer)
    }
  }

  /// Hands out payloads of this leaf that a walk in one direction comes to soon: the one `distance` entries
  /// ahead, and when the cursor has just come to the leaf those in between. Called at each entry, it hands
  /// out each once.
  @inline(__always)
  mutating func forEachPayloadAhead(_ distance: Int, descending: Bool, _ body: (UInt64) -> Void) {
    precondition(isValid, "the cursor is on no entry")
    let step = descending ? -1 : 1
    var ahead = isNewInLeaf ? 1 : distance
    isNewInLeaf = false
    while ahead <= distance {
      let other = index &+ step &* ahead
      guard other >= 0, other < leafCount else { return }
      body(leaf.word(other))
      ahead &+= 1
    }
  }

  /// The number of entries in front of the one the cursor is on.
  var position: Int {
    precondition(isValid, "the cursor is on no entry")
    var below = index
    for level in 1..<max(1, tree.height) {
      below += OrderedNode(path[level].node).entryCount(below: path[level].index)
    }
    return below
  }
}

// MARK: - Seeking

extension OrderedCursor {
  mutating func seekFirst() -> Bool {
    guard let root = tree.root else { return end(.afterLast) }
    descendFirst(from: root, level: tree.height &- 1)
    return true
  }

  mutating func seekLast() -> Bool {
    guard let root = tree.root else { return end(.beforeFirst) }
    descendLast(from: root, level: tree.height &- 1)
    return true
  }

  /// Goes to the first entry whose key is not less than `key`.
  mutating func seek(lowerBound key: UnsafeRawBufferPointer) -> Bool {
    guard let root = tree.root else { return end(.afterLast) }
    descend(to: key, from: root)
    return index < leafCount || nextLeaf()
  }

  /// Goes to the first entry whose key is greater than `key`.
  mutating func seek(upperBound key: UnsafeRawBufferPointer) -> Bool {
    guard let root = tree.root else { return end(.afterLast) }
    if descend(to: key, from: root) { index &+= 1 }
    return index < leafCount || nextLeaf()
  }

  /// Goes to the entry with `position` entries in front of it.
  mutating func seek(position: Int) -> Bool {
    guard position >= 0 else { return end(.beforeFirst) }
    guard position < tree.count, var node = tree.root else { return end(.afterLast) }
    var rest = position
    var level = tree.height &- 1
    while level > 0 {
      let inner = OrderedNode(node)
      var slot = 0
      while slot < inner.count &- 1, rest >= inner.entryCount(slot) {
        rest &-= inner.entryCount(slot)
        slot &+= 1
      }
      path[level] = Step(node: node, index: slot)
      node = inner.child(slot, in: tree.file)
      level &-= 1
    }
    arrive(at: node)
    // Of a substitute (F2) the position says nothing.
    index = min(rest, leafCount &- 1)
    return true
  }

  /// Follows `key` down; whether it is there. The index may be behind the leaf's last entry.
  @discardableResult
  private mutating func descend(to key: UnsafeRawBufferPointer, from root: UnsafeMutableRawPointer) -> Bool {
    var node = root
    var level = tree.height &- 1
    while level > 0 {
      let inner = OrderedNode(node)
      let slot = inner.childIndex(for: key)
      path[level] = Step(node: node, index: slot)
      node = inner.child(slot, in: tree.file)
      level &-= 1
    }
    arrive(at: node)
    let found = leaf.search(key)
    index = found.index
    return found.isFound
  }

  private mutating func descendFirst(from top: UnsafeMutableRawPointer, level: Int) {
    var node = top
    var level = level
    while level > 0 {
      path[level] = Step(node: node, index: 0)
      node = OrderedNode(node).child(0, in: tree.file)
      level &-= 1
    }
    arrive(at: node)
    index = 0
  }

  private mutating func descendLast(from top: UnsafeMutableRawPointer, level: Int) {
    var node = top
    var level = level
    while level > 0 {
      let slot = OrderedNode(node).count &- 1
      path[level] = Step(node: node, index: slot)
      node = OrderedNode(node).child(slot, in: tree.file)
      level &-= 1
    }
    arrive(at: node)
    index = leafCount &- 1
  }

  @inline(__always)
  private mutating func arrive(at node: UnsafeMutableRawPointer) {
    leaf = OrderedNode(node)
    leafCount = leaf.count
    isNewInLeaf = true
    place = .onEntry
  }

  private mutating func end(_ end: CursorPlace) -> Bool {
    place = end
    return false
  }
}

// MARK: - Moving

extension OrderedCursor {
  /// Goes to the next entry; false if there is none.
  @inline(__always)
  mutating func next() -> Bool {
    guard place == .onEntry else { return place == .beforeFirst && seekFirst() }
    index &+= 1
    return index < leafCount || nextLeaf()
  }

  /// Goes to the entry before; false if there is none.
  @inline(__always)
  mutating func previous() -> Bool {
    guard place == .onEntry else { return place == .afterLast && seekLast() }
    index &-= 1
    return index >= 0 || previousLeaf()
  }

  private mutating func nextLeaf() -> Bool {
    var level = 1
    while level < tree.height {
      let inner = OrderedNode(path[level].node)
      let slot = path[level].index &+ 1
      if slot < inner.count {
        path[level].index = slot
        if level == 1, slot &+ 1 < inner.count { OrderedNode(inner.childAddress(slot &+ 1)).prefetch() }
        descendFirst(from: inner.child(slot, in: tree.file), level: level &- 1)
        return true
      }
      level &+= 1
    }
    return end(.afterLast)
  }

  private mutating func previousLeaf() -> Bool {
    var level = 1
    while level < tree.height {
      let slot = path[level].index &- 1
      if slot >= 0 {
        path[level].index = slot
        let child = OrderedNode(path[level].node).child(slot, in: tree.file)
        descendLast(from: child, level: level &- 1)
        return true
      }
      level &+= 1
    }
    return end(.beforeFirst)
  }
}
