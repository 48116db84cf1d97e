import PerdureFormat

// The conditions that a node of an index file must meet before any reference in it is followed. The
// bytes of the node can be arbitrary.
//
// The node is in the file and in its own slot, and its checksum is correct. Its class, level,
// number of entries and tag match its parent or the root block. Every offset and length in it stays
// inside the node, and its children are in the file. The blocks of long keys are complete and
// covered by its checksum. Entries that are addresses of records are address words of existing
// segments. The order of keys is not checked here. The checksum protects the order from damage, and
// the verification of the store finds errors of a writer.

/// The data that a parent has about its child, or a root block about its root.
struct ExpectedNode {
  var level: Int
  var below: CountWord

  init(level: Int, below: CountWord) {
    self.level = level
    self.below = below
  }

  /// For the root of a tree; nil for an empty tree.
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
  /// The last segment that an entry of a leaf may address; nil if entries are not addresses of
  /// records.
  let lastSegment: UInt64?
  /// False in tests that show which damage is found without checksums and tags.
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

  /// Checks the checksum, tag, slot, class and level of the node at `offset`, and returns the node.
  private func whole(
    at offset: Int, _ nodeClass: NodeClass, level: Int, byteCount: Int, tag: UInt32
  ) throws(FormatError) -> UnsafeMutableRawPointer {
    let bytes = try place(at: offset, unitCount: NodeSlot.unitCount(byteCount))
    let base = UnsafeMutableRawPointer(mutating: bytes.baseAddress.unsafelyUnwrapped)
    let header = NodeHeader(base)
    var checksum = NodeChecksum.of(bytes)
    if nodeClass == .orderedNode, OrderedNode(base).hasBlocks {
      checksum = try checksumIncludingBlocks(of: OrderedNode(base), at: offset, continuing: checksum)
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

  /// The offset of the target of a distance, in a node with a valid checksum. The target must be
  /// the start of a unit in the file. If the target is beyond the end of the file, the error has
  /// the target's offset.
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

  /// Checks an address word of a leaf: readers look up its segment without checking that it exists.
  @inline(__always)
  private func check(word: UInt64, at offset: Int) throws(FormatError) {
    guard let lastSegment else { return }
    let address = RecordAddress(rawValue: word)
    guard address.isLegal, address.segment <= lastSegment else { throw Self.illegal(offset) }
  }
}

// MARK: - The ordered tree

extension NodeCheck {
  /// Checks the content of an ordered node, and counts the entries below it.
  private func entryCount(of node: OrderedNode, at offset: Int) throws(FormatError) -> Int {
    // In a node with blocks, the layout was already checked when the checksum was computed.
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

  /// Checks the parts of ON3 on which memory safety depends.
  private func checkLayout(of node: OrderedNode, at offset: Int) throws(FormatError) {
    let heapEnd = OrderedNode.byteCount - node.prefixLength
    guard node.count > 0, node.prefixLength <= OrderedNode.inlineKeyLimit, node.heapStart <= heapEnd,
      OrderedNode.bodiesEnd(node.count, bodyByteCount: node.bodyByteCount) <= node.heapStart
    else { throw Self.illegal(offset) }
    for index in 0..<node.count {
      let heap = node.heapRange(index)
      let isFirst = index < node.firstKeyIndex
      // The offset of an empty rest may be in the gap.
      guard heap.isEmpty || heap.lowerBound >= node.heapStart && heap.upperBound <= heapEnd,
        isFirst ? node.suffixLength(index) == 0 && !node.isOutOfLine(index) : true,
        node.isOutOfLine(index)
          ? node.hasBlocks : node.keyLength(index) <= OrderedNode.inlineKeyLimit
      else { throw Self.illegal(offset) }
    }
  }

  /// Checks the blocks of a node whose layout was not checked yet, and continues the node's
  /// checksum over the checksums of the blocks.
  func checksumIncludingBlocks(
    of node: OrderedNode, at offset: Int, continuing checksum: UInt32
  ) throws(FormatError) -> UInt32 {
    try checkLayout(of: node, at: offset)
    var checksum = checksum
    for index in 0..<node.count where node.isOutOfLine(index) {
      let length = node.keyLength(index)
      let block: UnsafeMutableRawPointer
      // The damage may be in the block or in the distance to the block, so the error names the
      // node.
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
  /// Checks the content of a dense node, and counts the entries below it.
  private func entryCount(of node: DenseNode, at offset: Int) throws(FormatError) -> Int {
    // An id has 64 bits, so the eleventh level uses only four of them.
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
