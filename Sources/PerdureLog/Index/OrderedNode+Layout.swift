// Inserts entries into a node, and removes them.

/// An entry to insert into a node: its whole key, the block of the key if the key is out of line,
/// and its word. In an inner node the word is the child's address, and `below` has the entry count
/// below the child.
struct OrderedEntry {
  var key: UnsafeRawBufferPointer
  var block: UnsafeMutableRawPointer?
  var word: UInt64
  var below = CountWord(count: 0)
}

extension OrderedNode {
  /// The number of bytes that a key needs in the heap of a node with this prefix.
  @inline(__always)
  static func heapByteCount(keyLength: Int, prefixLength: Int) -> Int {
    keyLength > inlineKeyLimit
      ? blockReferenceByteCount : max(0, keyLength &- prefixLength &- headByteCount)
  }

  /// Writes head, body and rest of an entry at `index`. Heads and bodies must already have space
  /// for it.
  func fill(_ index: Int, with entry: OrderedEntry) {
    let prefixLength = prefixLength
    let length = Self.heapByteCount(keyLength: entry.key.count, prefixLength: prefixLength)
    let start = heapStart &- length
    precondition(gapByteCount >= length, "ON3: an entry does not fit")
    heapStart = start
    var reference = UInt16(truncatingIfNeeded: start)
    if let block = entry.block {
      reference |= Self.outOfLineBit
      base.storeBytes(of: block - base, toByteOffset: start, as: Int.self)
      hasBlocks = true
    } else if length > 0 {
      let rest = entry.key.baseAddress.unsafelyUnwrapped + (prefixLength &+ Self.headByteCount)
      (base + start).copyMemory(from: rest, byteCount: length)
    }
    setHead(index, KeyBytes.head(of: entry.key, from: prefixLength))
    let body = body(index)
    body.storeBytes(of: reference, as: UInt16.self)
    // An entry without a key (OT3) does not have the prefix either, so the difference can be
    // negative.
    let suffixLength = UInt16(truncatingIfNeeded: max(0, entry.key.count &- prefixLength))
    body.storeBytes(of: suffixLength, toByteOffset: 2, as: UInt16.self)
    if isLeaf {
      body.storeBytes(of: entry.word, toByteOffset: 4, as: UInt64.self)
    } else {
      let child = UnsafeMutableRawPointer(bitPattern: UInt(entry.word)).unsafelyUnwrapped
      body.storeBytes(of: distance(to: child), toByteOffset: 4, as: UInt64.self)
      body.storeBytes(of: entry.below.rawValue, toByteOffset: 12, as: UInt64.self)
    }
  }

  /// Makes space for an entry at `index` in heads and bodies. The gap must be large enough.
  func openPlace(at index: Int) {
    let count = count
    let bodySize = bodyByteCount
    let bodies = base + Self.bodiesOffset(count)
    let newBodies = base + Self.bodiesOffset(count &+ 1)
    // The tail is moved first, because it moves further up than the front.
    let tail = (count &- index) &* bodySize
    (newBodies + (index &+ 1) &* bodySize).copyMemory(from: bodies + index &* bodySize, byteCount: tail)
    if newBodies != bodies { newBodies.copyMemory(from: bodies, byteCount: index &* bodySize) }
    let headTail = base + (Self.headsOffset &+ index &* 4)
    (headTail + 4).copyMemory(from: headTail, byteCount: (count &- index) &* 4)
    self.count = count &+ 1
  }

  /// Removes the entry at `index`. The caller must free or reuse its block, if it has one.
  func removePlace(at index: Int) {
    let count = count
    let bodySize = bodyByteCount
    let length = heapByteCount(index)
    if Int(heapReference(index) & ~Self.outOfLineBit) == heapStart {
      heapStart = heapStart &+ length
    } else {
      deadByteCount = deadByteCount &+ length
    }
    let bodies = base + Self.bodiesOffset(count)
    let newBodies = base + Self.bodiesOffset(count &- 1)
    let following = count &- index &- 1
    let headTail = base + (Self.headsOffset &+ index &* 4)
    headTail.copyMemory(from: headTail + 4, byteCount: following &* 4)
    if newBodies != bodies { newBodies.copyMemory(from: bodies, byteCount: index &* bodySize) }
    let bodyTail = newBodies + index &* bodySize
    bodyTail.copyMemory(from: bodies + (index &+ 1) &* bodySize, byteCount: following &* bodySize)
    self.count = count &- 1
    if following > 0 { endRun = 0 }
  }
}
