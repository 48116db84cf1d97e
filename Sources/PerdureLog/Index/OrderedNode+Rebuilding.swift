// Rebuilds nodes: to remove dead bytes, to change the prefix, to split and to merge.

/// The entries of one or two neighbouring nodes, optionally with one more entry, as one list.
struct OrderedEntryList {
  let left: OrderedNode
  var right: OrderedNode?
  /// The inserted entry, and its index in the list.
  var inserted: OrderedEntry?
  var insertedIndex = Int.max
  /// The number of entries at the start of `right` that are not in the list.
  var skippedCount = 0
  let count: Int

  /// The entries of `node` with an additional one at `index`.
  init(_ node: OrderedNode, inserting entry: OrderedEntry, at index: Int) {
    left = node
    inserted = entry
    insertedIndex = index
    count = node.count + 1
  }

  /// The entries of two neighbours. Between inner nodes `separator` takes the position of the first
  /// entry of `right`, which has no key.
  init(_ left: OrderedNode, followedBy right: OrderedNode, separator: OrderedEntry?) {
    self.left = left
    self.right = right
    count = left.count + right.count
    guard let separator else { return }
    inserted = separator
    insertedIndex = left.count
    skippedCount = 1
  }

  /// Whether these are entries of an inner node.
  var isInner: Bool { !left.isLeaf }

  /// The node and the index from which an entry comes; nil for the inserted entry.
  @inline(__always)
  private func source(_ index: Int) -> (node: OrderedNode, index: Int)? {
    if index == insertedIndex { return nil }
    let own = index > insertedIndex ? index &- 1 : index
    if own < left.count { return (left, own) }
    return (right.unsafelyUnwrapped, own &- left.count &+ skippedCount)
  }

  @inline(__always)
  func keyLength(_ index: Int) -> Int {
    guard let source = source(index) else { return inserted.unsafelyUnwrapped.key.count }
    if isInner, source.index == 0 { return 0 }
    return source.node.keyLength(source.index)
  }

  func key(_ index: Int, in buffer: UnsafeMutableRawPointer) -> UnsafeRawBufferPointer {
    guard let source = source(index) else { return inserted.unsafelyUnwrapped.key }
    return source.node.key(source.index, in: buffer)
  }

  func entry(_ index: Int, in buffer: UnsafeMutableRawPointer) -> OrderedEntry {
    guard let source = source(index) else { return inserted.unsafelyUnwrapped }
    let node = source.node
    return OrderedEntry(
      key: node.key(source.index, in: buffer), block: node.block(source.index),
      word: node.entryWord(source.index),
      below: node.isLeaf ? CountWord(count: 0) : node.countWord(source.index))
  }

  /// The number of bytes of one entry in a node with this prefix, without the padding of the heads.
  @inline(__always)
  func byteCount(_ index: Int, prefixLength: Int) -> Int {
    OrderedNode.headByteCount &+ left.bodyByteCount
      &+ OrderedNode.heapByteCount(keyLength: keyLength(index), prefixLength: prefixLength)
  }

  /// The number of bytes of a node that contains the entries of `range`.
  func byteCount(_ range: Range<Int>, prefixLength: Int) -> Int {
    var sum = OrderedNode.bodiesEnd(range.count, bodyByteCount: left.bodyByteCount) &+ prefixLength
    for index in range {
      sum &+= OrderedNode.heapByteCount(keyLength: keyLength(index), prefixLength: prefixLength)
    }
    return sum
  }

  /// The length of the common prefix of the keys in `range`, at most `inlineKeyLimit` bytes. A
  /// single key has all its bytes in common with itself. So it is compared with the key at
  /// `neighbour`, because later keys probably share that prefix.
  func prefixLength(_ range: Range<Int>, neighbour: Int? = nil, scratch: NodeScratch) -> Int {
    let start = isInner ? range.lowerBound + 1 : range.lowerBound
    guard start < range.upperBound else { return 0 }
    let other = start == range.upperBound - 1 ? neighbour ?? start : range.upperBound - 1
    let first = key(start, in: scratch.firstKey)
    let second = key(other, in: scratch.secondKey)
    return min(KeyBytes.commonPrefix(first, second), OrderedNode.inlineKeyLimit)
  }

  /// As `prefixLength(_:neighbour:scratch:)`. At most `fallback` if the entries would not fit into
  /// a node with a longer prefix: a prefix takes space, and saves none in keys that are out of
  /// line.
  func prefixLength(
    _ range: Range<Int>, neighbour: Int, orShorter fallback: Int, scratch: NodeScratch
  ) -> Int {
    let common = prefixLength(range, neighbour: neighbour, scratch: scratch)
    let isFitting = byteCount(range, prefixLength: common) <= OrderedNode.byteCount
    return isFitting ? common : min(common, fallback)
  }

  /// The index that divides the list into two parts of about the same number of bytes.
  func middle(prefixLength: Int) -> Int {
    var sum = 0
    for index in 0..<count { sum &+= byteCount(index, prefixLength: prefixLength) }
    var half = 0
    var index = 0
    while index < count - 1, half &* 2 < sum {
      half &+= byteCount(index, prefixLength: prefixLength)
      index &+= 1
    }
    return max(1, index)
  }

  /// Builds `node` from the entries of `range`, which must not be in the node's memory.
  func build(_ range: Range<Int>, prefixLength: Int, into node: OrderedNode, scratch: NodeScratch) {
    node.reset(prefixLength: prefixLength)
    if prefixLength > 0 {
      let sample = key(range.upperBound - 1, in: scratch.firstKey)
      node.setPrefix(sample)
    }
    node.count = range.count
    for index in range {
      var entry = entry(index, in: scratch.firstKey)
      if isInner, index == range.lowerBound { entry.removeKey() }
      node.fill(index &- range.lowerBound, with: entry)
    }
  }
}

extension OrderedEntry {
  /// Makes this the first entry of an inner node (OT3).
  mutating func removeKey() {
    key = UnsafeRawBufferPointer(start: nil, count: 0)
    block = nil
  }
}

extension OrderedNode {
  /// Copies the node's prefix from the beginning of `key`.
  func setPrefix(_ key: UnsafeRawBufferPointer) {
    guard prefixLength > 0 else { return }
    let start = base + (Self.byteCount &- prefixLength)
    start.copyMemory(from: key.baseAddress.unsafelyUnwrapped, byteCount: prefixLength)
  }
}
