extension OrderedTree {
  /// Sets the payload of `key`.
  ///
  /// - Parameter key: At most `keyByteCountLimit` bytes; may be empty. It is copied.
  /// - Returns: The previous payload; nil if there was no entry.
  @discardableResult
  mutating func put(_ key: UnsafeRawBufferPointer, _ payload: UInt64, in arena: NodeArena) -> UInt64? {
    precondition(key.count <= Self.keyByteCountLimit, "a key must have at most 65535 bytes")
    guard let root else {
      self.root = OrderedNode.makeLeaf(key, payload, in: arena).base
      height = 1
      count = 1
      return nil
    }
    var insertion = Insertion(key: key, payload: payload, file: file)
    let result = insertion.insert(into: OrderedNode(root), isLast: true, in: arena)
    self.root = result.node
    if insertion.old == nil { count &+= 1 }
    if let right = result.right { growRoot(left: result.node, right: right, in: arena) }
    return insertion.old
  }

  /// Creates a root above the two halves of the old root. The separator of the right half is in the
  /// scratch.
  mutating func growRoot(
    left: UnsafeMutableRawPointer, right: Insertion.Right, in arena: NodeArena
  ) {
    let root = OrderedNode.make(level: height, in: arena)
    let empty = UnsafeRawBufferPointer(start: nil, count: 0)
    let leftCount = OrderedNode(left).totalEntryCount
    root.append(
      OrderedEntry(
        key: empty, word: UInt64(UInt(bitPattern: left)), below: CountWord(count: leftCount)))
    root.append(right.entry(in: arena))
    self.root = root.base
    height += 1
    precondition(height <= Self.heightLimit, "OT1: height")
  }
}

extension OrderedNode {
  static func makeLeaf(_ key: UnsafeRawBufferPointer, _ payload: UInt64, in arena: NodeArena) -> OrderedNode {
    let leaf = make(level: 0, in: arena)
    let block = key.count > inlineKeyLimit ? arena.allocateBlock(copying: key) : nil
    leaf.append(OrderedEntry(key: key, block: block, word: payload))
    return leaf
  }

  /// Adds an entry after the others. The caller has checked that it fits and shares the prefix.
  func append(_ entry: OrderedEntry) {
    let index = count
    openPlace(at: index)
    fill(index, with: entry)
  }
}

/// One insertion: it descends to a leaf, and updates the nodes of the path on the way back.
struct Insertion {
  let key: UnsafeRawBufferPointer
  let payload: UInt64
  let file: FileNodes
  /// The payload that was replaced.
  var old: UInt64?

  /// After this many successive insertions at its end, a full node is split at the end, not in the
  /// middle.
  static let endRunForSplit = 8
  /// A node is rebuilt only if at least this much space is free afterwards. Otherwise it is split.
  static let rebuildSlackByteCount = OrderedNode.byteCount / 16

  init(key: UnsafeRawBufferPointer, payload: UInt64, file: FileNodes) {
    self.key = key
    self.payload = payload
    self.file = file
  }

  /// The right half of a split node. Its separator is in the arena's scratch until it is used.
  struct Right {
    var node: UnsafeMutableRawPointer
    var separatorLength: Int

    /// The entry for the parent, with a separate block if the separator is long.
    func entry(in arena: NodeArena) -> OrderedEntry {
      let key = UnsafeRawBufferPointer(start: arena.scratch.separator, count: separatorLength)
      let isLong = separatorLength > OrderedNode.inlineKeyLimit
      return OrderedEntry(
        key: key, block: isLong ? arena.allocateBlock(copying: key) : nil,
        word: UInt64(UInt(bitPattern: node)), below: CountWord(count: OrderedNode(node).totalEntryCount))
    }
  }

  /// The outcome of an insertion for one node: the node or its copy, and a right half after a
  /// split.
  struct Result {
    var node: UnsafeMutableRawPointer
    var right: Right?
  }

  /// Inserts below `node`. `isLast` means that the node is on the right edge of the tree.
  mutating func insert(into node: OrderedNode, isLast: Bool, in arena: NodeArena) -> Result {
    node.isLeaf
      ? insert(intoLeaf: node, isLast: isLast, in: arena) : insert(intoInner: node, isLast: isLast, in: arena)
  }

  mutating func insert(intoLeaf node: OrderedNode, isLast: Bool, in arena: NodeArena) -> Result {
    let place =
      node.endRun > 0 && node.isAfterLast(key)
      ? OrderedNode.SearchResult(index: node.count, isFound: false) : node.search(key)
    if place.isFound {
      let word = node.word(place.index)
      old = word
      if word == payload { return Result(node: node.base) }
      let leaf = OrderedNode(arena.writable(node.base))
      leaf.setWord(place.index, payload)
      return Result(node: leaf.base)
    }
    let block = key.count > OrderedNode.inlineKeyLimit ? arena.allocateBlock(copying: key) : nil
    let entry = OrderedEntry(key: key, block: block, word: payload)
    return Self.place(
      entry, at: place.index, in: OrderedNode(arena.writable(node.base)), isLast: isLast, arena: arena)
  }

  private mutating func insert(
    intoInner node: OrderedNode, isLast: Bool, in arena: NodeArena
  ) -> Result {
    let index = isLast && node.isAfterLast(key) ? node.count &- 1 : node.childIndex(for: key)
    let child = node.child(index, in: file)
    let isChildLast = isLast && index == node.count &- 1
    // When insertions ascend, the right edge is in the cache already.
    if !isChildLast { OrderedNode(child).prefetch() }
    let result = insert(into: OrderedNode(child), isLast: isChildLast, in: arena)
    if result.node == child, old != nil { return Result(node: node.base) }
    let inner = OrderedNode(arena.writable(node.base))
    guard let right = result.right else {
      let added = old == nil ? 1 : 0
      inner.setChild(index, result.node, entryCount: inner.entryCount(index) &+ added)
      return Result(node: inner.base)
    }
    let entry = right.entry(in: arena)
    inner.setChild(
      index, result.node, entryCount: inner.entryCount(index) &+ 1 &- entry.below.count)
    return Self.place(entry, at: index + 1, in: inner, isLast: isLast, arena: arena)
  }

  /// Inserts a new entry at `index` of a writable node: into the gap, by rebuilding the node, or by
  /// a split.
  static func place(
    _ entry: OrderedEntry, at index: Int, in node: OrderedNode, isLast: Bool, arena: NodeArena
  ) -> Result {
    node.endRun = index == node.count ? node.endRun + 1 : 0
    let sharesPrefix = node.compareToPrefix(entry.key) == 0
    if sharesPrefix, node.hasSpace(for: entry) {
      node.openPlace(at: index)
      node.fill(index, with: entry)
      return Result(node: node.base)
    }
    let list = OrderedEntryList(node, inserting: entry, at: index)
    let prefixLength = list.prefixLength(0..<list.count, scratch: arena.scratch)
    let size = list.byteCount(0..<list.count, prefixLength: prefixLength)
    if size <= OrderedNode.byteCount - rebuildSlackByteCount {
      rebuild(list, node, prefixLength: prefixLength, arena: arena)
      return Result(node: node.base)
    }
    if index == node.count, isLast || node.endRun >= endRunForSplit || !sharesPrefix {
      return splitOff(last: entry, of: node, arena: arena)
    }
    return split(node, inserting: entry, at: index, sharesPrefix: sharesPrefix, arena: arena)
  }

  private static func rebuild(
    _ list: OrderedEntryList, _ node: OrderedNode, prefixLength: Int, arena: NodeArena
  ) {
    let run = node.endRun
    let source = copyToScratch(node, arena: arena)
    let list = OrderedEntryList(source, inserting: list.inserted.unsafelyUnwrapped, at: list.insertedIndex)
    list.build(0..<list.count, prefixLength: prefixLength, into: node, scratch: arena.scratch)
    node.endRun = run
  }

  static func copyToScratch(_ node: OrderedNode, arena: NodeArena) -> OrderedNode {
    let copy = OrderedNode(arena.scratch.node)
    copy.base.copyMemory(from: node.base, byteCount: OrderedNode.byteCount)
    copy.rebase(from: node.base)
    return copy
  }
}

extension OrderedNode {
  /// Whether an entry that shares the prefix fits in the gap.
  @inline(__always)
  func hasSpace(for entry: OrderedEntry) -> Bool {
    let rest = Self.heapByteCount(keyLength: entry.key.count, prefixLength: prefixLength)
    return Self.bodiesEnd(count &+ 1, bodyByteCount: bodyByteCount) &+ rest <= heapStart
  }
}
