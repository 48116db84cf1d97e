// A node of the ordered tree, leaf or inner. It is a slotted page that stores the common prefix
// once.
//
//   offset        bytes        meaning
//   0             14           header
//   14            2            n, the number of entries
//   16            2            prefix length p
//   18            2            heap start
//   20            2            dead bytes in the heap
//   22            1            number of successive insertions at the end of the node
//   23            1            1 if an entry has had a key out of line since the last rebuild
//   24            4 m          heads; m is n rounded up to a multiple of eight
//   24 + 4 m      12 n / 20 n  bodies, leaf / inner
//   ...                        gap
//   heap start    ...          heap: rests of keys
//   size - p      p            prefix, shared by all keys of the node
//
// A key consists of prefix and suffix. The first four bytes of the suffix are the head, a
// big-endian number padded with zeros. The other bytes are the rest. So a search reads two cache
// lines of heads and one rest.
//
//   body    offset of the rest (2, highest bit: out of line), length of the suffix (2), word (8),
//           and in an inner node the entries below (8, CountWord.swift)
//
// The word is the payload in a leaf, and the child in an inner node. A key longer than
// `inlineKeyLimit` is stored whole in a block, and its rest is a reference to the block. References
// to children and blocks are distances from the node. So the bytes of a node are valid both in
// memory and in a mapped index file (NodeWriter.swift). Code that copies a node to another address
// rebases the distances.
//
// Invariants
//  ON1  Keys ascend strictly. Heads match their keys.
//  ON2  An entry has a block if and only if its key is longer than `inlineKeyLimit`. No two entries
//       of a version have the same block.
//  ON3  24 + 4 m + n body <= heap start <= size - p. The rests of all entries and the dead bytes
//       fill the heap exactly.

/// A view of one node of an ordered tree.
struct OrderedNode {
  /// The size of a node. It was compared with 512 bytes in a tree of a million 16-byte keys. With
  /// 1024 bytes, the tree needs one level less and 6 % less memory. Lookups are a sixth faster, and
  /// insertions a fifth faster. A version with a single change costs the same, although it copies
  /// larger nodes.
  static let byteCount = 1024
  /// The maximum length of a key stored in a node, and of a prefix. A node has space for four such
  /// keys.
  static let inlineKeyLimit = 200
  /// The size of a buffer for an inline key, with extra space for stores of whole words.
  static let keyBufferByteCount = 256

  static let headsOffset = 24
  static let headByteCount = 4
  static let leafBodyByteCount = 12
  static let innerBodyByteCount = 20
  static let blockReferenceByteCount = 8

  static let outOfLineBit: UInt16 = 0x8000

  let base: UnsafeMutableRawPointer

  @inline(__always)
  init(_ base: UnsafeMutableRawPointer) { self.base = base }

  static func make(level: Int, in arena: NodeArena) -> OrderedNode {
    let node = OrderedNode(arena.allocate(.orderedNode, level: level))
    node.reset(prefixLength: 0)
    return node
  }

  /// Makes the node empty, with space for a prefix.
  func reset(prefixLength: Int) {
    count = 0
    self.prefixLength = prefixLength
    heapStart = Self.byteCount &- prefixLength
    deadByteCount = 0
    endRun = 0
    hasBlocks = false
  }
}

// MARK: - Header

extension OrderedNode {
  @inline(__always)
  var level: Int { NodeHeader(base).level }

  @inline(__always)
  var isLeaf: Bool { level == 0 }

  @inline(__always)
  private func short(_ offset: Int) -> Int { Int(base.load(fromByteOffset: offset, as: UInt16.self)) }

  @inline(__always)
  private func setShort(_ offset: Int, _ value: Int) {
    base.storeBytes(of: UInt16(truncatingIfNeeded: value), toByteOffset: offset, as: UInt16.self)
  }

  var count: Int {
    @inline(__always) get { short(14) }
    nonmutating set { setShort(14, newValue) }
  }

  var prefixLength: Int {
    @inline(__always) get { short(16) }
    nonmutating set { setShort(16, newValue) }
  }

  var heapStart: Int {
    @inline(__always) get { short(18) }
    nonmutating set { setShort(18, newValue) }
  }

  var deadByteCount: Int {
    @inline(__always) get { short(20) }
    nonmutating set { setShort(20, newValue) }
  }

  var endRun: Int {
    get { Int(base.load(fromByteOffset: 22, as: UInt8.self)) }
    nonmutating set { base.storeBytes(of: UInt8(min(newValue, 255)), toByteOffset: 22, as: UInt8.self) }
  }

  /// Whether an entry may have its key out of line. If not, no search for blocks is needed.
  var hasBlocks: Bool {
    @inline(__always) get { base.load(fromByteOffset: 23, as: UInt8.self) != 0 }
    nonmutating set { base.storeBytes(of: newValue ? 1 : 0, toByteOffset: 23, as: UInt8.self) }
  }

  @inline(__always)
  var bodyByteCount: Int { isLeaf ? Self.leafBodyByteCount : Self.innerBodyByteCount }

  @inline(__always)
  var prefix: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: base + (Self.byteCount &- prefixLength), count: prefixLength)
  }

  /// The number of free bytes between bodies and heap.
  @inline(__always)
  var gapByteCount: Int { heapStart &- Self.bodiesEnd(count, bodyByteCount: bodyByteCount) }

  /// The offset of the bodies of `count` entries. The space for heads grows in steps of eight
  /// heads, so that the bodies seldom move.
  @inline(__always)
  static func bodiesOffset(_ count: Int) -> Int { headsOffset &+ ((count &+ 7) & ~7) &* headByteCount }

  /// The offset at which the bodies of `count` entries end.
  @inline(__always)
  static func bodiesEnd(_ count: Int, bodyByteCount: Int) -> Int {
    bodiesOffset(count) &+ count &* bodyByteCount
  }

  /// The number of bytes in use.
  var usedByteCount: Int { Self.byteCount &- gapByteCount &- deadByteCount }

  /// The index of the first entry with a key: an inner node's first entry has none (OT3).
  @inline(__always)
  var firstKeyIndex: Int { isLeaf ? 0 : 1 }
}

// MARK: - Entries

extension OrderedNode {
  @inline(__always)
  func head(_ index: Int) -> UInt32 {
    base.load(fromByteOffset: Self.headsOffset &+ index &* 4, as: UInt32.self)
  }

  func setHead(_ index: Int, _ head: UInt32) {
    base.storeBytes(of: head, toByteOffset: Self.headsOffset &+ index &* 4, as: UInt32.self)
  }

  @inline(__always)
  func body(_ index: Int) -> UnsafeMutableRawPointer {
    base + (Self.bodiesOffset(count) &+ index &* bodyByteCount)
  }

  @inline(__always)
  func word(_ index: Int) -> UInt64 { body(index).loadUnaligned(fromByteOffset: 4, as: UInt64.self) }

  func setWord(_ index: Int, _ word: UInt64) {
    body(index).storeBytes(of: word, toByteOffset: 4, as: UInt64.self)
  }

  /// The address of an entry's child, in an inner node. It may be compared or prefetched, but the
  /// child must not be read (FN1).
  @inline(__always)
  func childAddress(_ index: Int) -> UnsafeMutableRawPointer {
    base + Int(truncatingIfNeeded: word(index))
  }

  /// The child of an inner node's entry, checked if it is in the file.
  @inline(__always)
  func child(_ index: Int, in file: FileNodes) -> UnsafeMutableRawPointer {
    file.checked(childAddress(index), at: index, of: self)
  }

  /// The word of an entry, for use in another node: the payload, or the child's address.
  @inline(__always)
  func entryWord(_ index: Int) -> UInt64 {
    isLeaf ? word(index) : UInt64(UInt(bitPattern: childAddress(index)))
  }

  /// The number of entries below an entry of an inner node.
  @inline(__always)
  func entryCount(_ index: Int) -> Int { countWord(index).count }

  @inline(__always)
  func countWord(_ index: Int) -> CountWord {
    CountWord(rawValue: body(index).loadUnaligned(fromByteOffset: 12, as: UInt64.self))
  }

  func setCountWord(_ index: Int, _ below: CountWord) {
    body(index).storeBytes(of: below.rawValue, toByteOffset: 12, as: UInt64.self)
  }

  func setChild(_ index: Int, _ child: UnsafeMutableRawPointer, _ below: CountWord) {
    setWord(index, distance(to: child))
    setCountWord(index, below)
  }

  /// Sets the child of an entry. The child is in memory or was checked, so its tag is 0. OT6
  func setChild(_ index: Int, _ child: UnsafeMutableRawPointer, entryCount: Int) {
    setChild(index, child, CountWord(count: entryCount))
  }

  /// The number of entries of the subtree that are before entry `index` of this node.
  func entryCount(below index: Int) -> Int {
    if isLeaf { return index }
    var sum = 0
    for slot in 0..<index { sum &+= entryCount(slot) }
    return sum
  }

  /// The number of entries of the subtree.
  var totalEntryCount: Int { entryCount(below: count) }

  @inline(__always)
  func suffixLength(_ index: Int) -> Int {
    Int(body(index).loadUnaligned(fromByteOffset: 2, as: UInt16.self))
  }

  @inline(__always)
  func keyLength(_ index: Int) -> Int { prefixLength &+ suffixLength(index) }

  @inline(__always)
  func heapReference(_ index: Int) -> UInt16 { body(index).loadUnaligned(as: UInt16.self) }

  @inline(__always)
  func isOutOfLine(_ index: Int) -> Bool { heapReference(index) & Self.outOfLineBit != 0 }

  @inline(__always)
  func heapAddress(_ index: Int) -> UnsafeMutableRawPointer {
    base + Int(heapReference(index) & ~Self.outOfLineBit)
  }

  /// The bytes of an entry in the heap, as offsets in the node.
  func heapRange(_ index: Int) -> Range<Int> {
    let start = Int(heapReference(index) & ~Self.outOfLineBit)
    return start..<(start + heapByteCount(index))
  }

  /// The distance from the node to the block of an entry whose key is out of line.
  func blockDistance(_ index: Int) -> Int { heapAddress(index).loadUnaligned(as: Int.self) }

  /// The block of an entry whose key is out of line; nil if the key is in the node.
  func block(_ index: Int) -> UnsafeMutableRawPointer? {
    guard isOutOfLine(index) else { return nil }
    return base + blockDistance(index)
  }

  /// The bytes of the key after prefix and head. The address is meaningless if the suffix is not
  /// longer than a head.
  @inline(__always)
  func rest(_ index: Int) -> UnsafeRawPointer {
    let address = UnsafeRawPointer(heapAddress(index))
    guard isOutOfLine(index) else { return address }
    let block = base + address.loadUnaligned(as: Int.self)
    return UnsafeRawPointer(block + (BlockView.bytesOffset &+ prefixLength &+ Self.headByteCount))
  }

  /// The number of bytes of an entry in the heap.
  func heapByteCount(_ index: Int) -> Int {
    isOutOfLine(index)
      ? Self.blockReferenceByteCount : max(0, suffixLength(index) &- Self.headByteCount)
  }

  /// The whole key of an entry. It is in the entry's block, or is assembled in `buffer`, which has
  /// `keyBufferByteCount` bytes.
  func key(_ index: Int, in buffer: UnsafeMutableRawPointer) -> UnsafeRawBufferPointer {
    if index < firstKeyIndex { return UnsafeRawBufferPointer(start: nil, count: 0) }
    if let block = block(index) { return BlockView(block).bytes }
    let prefix = prefix
    if prefix.count > 0 {
      buffer.copyMemory(from: prefix.baseAddress.unsafelyUnwrapped, byteCount: prefix.count)
    }
    return key(index, behindPrefixIn: buffer)
  }

  /// Like `key(_:in:)`, for an inline key and a `buffer` that already begins with the node's
  /// prefix.
  @inline(__always)
  func key(_ index: Int, behindPrefixIn buffer: UnsafeMutableRawPointer) -> UnsafeRawBufferPointer {
    let prefixLength = prefixLength
    let suffixLength = suffixLength(index)
    buffer.storeBytes(of: head(index).bigEndian, toByteOffset: prefixLength, as: UInt32.self)
    if suffixLength > Self.headByteCount {
      let target = buffer + (prefixLength &+ Self.headByteCount)
      target.copyMemory(from: heapAddress(index), byteCount: suffixLength &- Self.headByteCount)
    }
    return UnsafeRawBufferPointer(start: buffer, count: prefixLength &+ suffixLength)
  }
}

// MARK: - References

extension OrderedNode {
  /// The distance from this node to another one. References are stored in this form.
  @inline(__always)
  func distance(to other: UnsafeMutableRawPointer) -> UInt64 {
    UInt64(bitPattern: Int64(other - base))
  }

  /// Corrects all distances after the node's bytes were copied from `origin`.
  func rebase(from origin: UnsafeMutableRawPointer) {
    let shift = origin - base
    forEachReference { $0.storeBytes(of: $0.loadUnaligned(as: Int.self) &+ shift, as: Int.self) }
  }

  /// Passes the address of each distance in the node to `body`. The addresses are not aligned.
  @inline(__always)
  func forEachReference(_ body: (UnsafeMutableRawPointer) throws -> Void) rethrows {
    if !isLeaf {
      // Computed once, so that the header is not read again for each entry.
      let first = self.body(0) + 4
      for index in 0..<count { try body(first + index &* Self.innerBodyByteCount) }
    }
    guard hasBlocks else { return }
    for index in firstKeyIndex..<max(count, firstKeyIndex) where isOutOfLine(index) {
      try body(heapAddress(index))
    }
  }
}
