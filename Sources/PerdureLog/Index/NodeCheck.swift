import PerdureFormat

// What has to hold for a node of an index file before anything in it is followed, whatever the bytes.
//
// It lies in the file; its checksum is right, and it stands in its own slot; it has the class, the level, the
// number of entries and the tag that its parent, or the root block, says. Every offset and length in it stays
// inside of it, its children lie in the file, the blocks of long keys are whole and those that it was written
// with (its checksum goes on over theirs); and where entries lead to records, each is an address word of a
// segment that is there to be asked. The order of keys is the checksum's business: only a writer that was
// wrong could break it, and the verification of the store notices that.

/// What a parent says of its child, or a root block of a root.
struct ExpectedNode {
  var level: Int
  var below: CountWord

  init(level: Int, below: CountWord) {
    self.level = level
    self.below = below
  }

  /// Of the root of a tree; nil for an empty tree.
  init?(root image: TreeImage, heightLimit: Int) throws(FormatError) {
    if image.isEmpty { return nil }
    guard image.slot != .none, (1...heightLimit).contains(image.height), image.count > 0 else {
      throw NodeCheck.illegal(image.slot.offset)
    }
    self.init(level: image.height - 1, below: CountWord(count: image.count, tag: image.tag))
  }
}

/// Checks single nodes of a mapped index file.
struct NodeCheck {
  let file: UnsafeRawBufferPointer
  /// The leaves' entries lead to records, of segments up to this one; nil: to something else.
  let lastSegment: UInt64?
  /// False for who wants to know that it is noticed when checksums and tags are not looked at.
  var verifiesChecksum = true

  static func illegal(_ offset: Int) -> FormatError {
    FormatError(.illegalField, in: "index node", at: offset)
  }

  func node(at offset: Int, _ nodeClass: NodeClass, _ expected: ExpectedNode) throws(FormatError) {
    let base = try whole(
      at: offset, nodeClass, level: expected.level, byteCount: nodeClass.byteCount, tag: expected.below.tag)
    let found =
      nodeClass == .orderedNode
      ? try entryCount(of: OrderedNode(base), at: offset) : try entryCount(of: DenseNode(base), at: offset)
    guard found == expected.below.count else { throw Self.illegal(offset) }
  }

  /// A node whose bytes belong together and stand where they should.
  private func whole(
    at offset: Int, _ nodeClass: NodeClass, level: Int, byteCount: Int, tag: UInt32
  ) throws(FormatError) -> UnsafeMutableRawPointer {
    let bytes = try place(at: offset, unitCount: NodeSlot.unitCount(byteCount))
    let base = UnsafeMutableRawPointer(mutating: bytes.baseAddress.unsafelyUnwrapped)
    let header = NodeHeader(base)
    var checksum = NodeChecksum.of(bytes)
    if nodeClass == .orderedNode, OrderedNode(base).hasBlocks {
      checksum = try naming(blocksOf: OrderedNode(base), at: offset, continuing: checksum)
    }
    guard !verifiesChecksum || header.stamp == NodeSlot.fileStampBit | UInt64(checksum) else {
      throw FormatError(.wrongChecksum, in: "index node", at: offset)
    }
    guard header.slot.offset == offset,
      !verifiesChecksum || tag == 0 || tag == CountWord.tag(of: checksum)
    else { throw FormatError(.misplaced, in: "index node", at: offset) }
    guard bytes[13] == nodeClass.rawValue, header.level == level else { throw Self.illegal(offset) }
    return base
  }

  private func place(at offset: Int, unitCount: Int) throws(FormatError) -> UnsafeRawBufferPointer {
    let end = offset.addingReportingOverflow(unitCount * NodeSlot.unitByteCount)
    guard offset > 0, offset % NodeSlot.unitByteCount == 0, !end.overflow, end.partialValue <= file.count
    else { throw FormatError(.incomplete, in: "index node", at: offset) }
    return UnsafeRawBufferPointer(rebasing: file[offset..<end.partialValue])
  }

  /// Where a distance leads that stands in a node whose checksum is right: into the file, to the beginning of a unit.
  /// What would be behind the end is not there any more, and is what the error names.
  func target(of distance: Int, from offset: Int) throws(FormatError) -> Int {
    let target = offset.addingReportingOverflow(distance)
    guard !target.overflow, target.partialValue > 0, target.partialValue % NodeSlot.unitByteCount == 0 else {
      throw Self.illegal(offset)
    }
    guard target.partialValue < file.count else {
      throw FormatError(.incomplete, in: "index node", at: target.partialValue)
    }
    return target.partialValue
  }

  /// Checks what a leaf holds for a key: readers look its segment up without asking whether there is one.
  @inline(__always)
  private func check(word: UInt64, at offset: Int) throws(FormatError) {
    guard let lastSegment else { return }
    let address = RecordAddress(rawValue: word)
    guard address.isLegal, address.segment <= lastSegment else { throw Self.illegal(offset) }
  }
}

// MARK: - The ordered tree

extension NodeCheck {
  /// Checks what is in an ordered node, and counts what it says is below.
  private func entryCount(of node: OrderedNode, at offset: Int) throws(FormatError) -> Int {
    // With blocks that was done for the checksum.
    if !node.hasBlocks { try checkLayout(of: node, at: offset) }
    if node.isLeaf {
      for index in 0..<node.count { try check(word: node.word(index), at: offset) }
      return node.count
    }
    var sum = 0
    for index in 0..<node.count {
      _ = try target(of: Int(truncatingIfNeeded: node.word(index)), from: offset)
      sum &+= node.entryCount(index)
    }
    return sum
  }

  /// O3, as far as memory safety needs it.
  private func checkLayout(of node: OrderedNode, at offset: Int) throws(FormatError) {
    let heapEnd = OrderedNode.byteCount - node.prefixLength
    guard node.count > 0, node.prefixLength <= OrderedNode.inlineKeyLimit, node.heapStart <= heapEnd,
      OrderedNode.bodiesEnd(node.count, bodyByteCount: node.bodyByteCount) <= node.heapStart
    else { throw Self.illegal(offset) }
    for index in 0..<node.count {
      let heap = node.heapRange(index)
      let isFirst = index < node.firstKeyIndex
      // An entry without a rest may still name a place that was given back to the gap.
      guard heap.isEmpty || heap.lowerBound >= node.heapStart && heap.upperBound <= heapEnd,
        isFirst ? node.suffixLength(index) == 0 && !node.isOutOfLine(index) : true,
        node.isOutOfLine(index)
          ? node.hasBlocks : node.keyLength(index) <= OrderedNode.inlineKeyLimit
      else { throw Self.illegal(offset) }
    }
  }

  /// Checks the blocks of a node of which nothing is known yet, and continues its checksum over theirs.
  func naming(
    blocksOf node: OrderedNode, at offset: Int, continuing checksum: UInt32
  ) throws(FormatError) -> UInt32 {
    try checkLayout(of: node, at: offset)
    var checksum = checksum
    for index in 0..<node.count where node.isOutOfLine(index) {
      let length = node.keyLength(index)
      let block: UnsafeMutableRawPointer
      // Whether the block is damaged or the word that leads there nobody can say: the node is not whole.
      do {
        let place = try target(of: node.blockDistance(index), from: offset)
        block = try whole(at: place, .block, level: 0, byteCount: BlockView.bytesOffset + length, tag: 0)
      } catch {
        throw FormatError(error.reason, in: error.structure, at: offset)
      }
      guard length > OrderedNode.inlineKeyLimit, length <= OrderedTree.keyByteCountLimit,
        BlockView(block).length == length
      else { throw Self.illegal(offset) }
      checksum = NodeChecksum.naming(NodeHeader(block).fileChecksum, continuing: checksum)
    }
    return checksum
  }
}

// MARK: - The dense table

extension NodeCheck {
  /// Checks what is in a dense node, and counts what it says is below.
  private func entryCount(of node: DenseNode, at offset: Int) throws(FormatError) -> Int {
    // Ids have 64 bits: the eleventh level has four of them.
    let ways = node.level == DenseTable.heightLimit - 1 ? 16 : DenseNode.slotCount
    guard node.presence != 0, ways == DenseNode.slotCount || node.presence >> UInt64(ways) == 0 else {
      throw Self.illegal(offset)
    }
    let isLeaf = node.level == 0
    var sum = 0
    for way in 0..<DenseNode.slotCount {
      let word = node.word(way)
      guard (node.presence >> UInt64(way) & 1 == 1) == (word != 0) else { throw Self.illegal(offset) }
      if word == 0 { continue }
      if isLeaf {
        try check(word: word, at: offset)
      } else {
        _ = try target(of: Int(truncatingIfNeeded: word), from: offset)
      }
      sum &+= isLeaf ? 1 : node.count(way)
    }
    return sum
  }
}
