import PerdureFormat

// Trees in a mapped index file. They are walked as they lie there, so before the first walk every node that
// an image reaches is checked, each before anything in it is followed: whatever the bytes, this gives an
// error and not a stray pointer, and afterwards the trees can be used without further checks.
//
// Checked of a node: it lies in the file, in units that no other node has; checksum and slot; class and
// level; that every offset and length in it stays inside; that children are one level lower and hold as
// many entries as is said beside them; where entries lead to records, that each is an address word, of a
// segment that is there to be asked. The order of keys is the checksum's business: only a writer that was
// wrong could break it, and the verification of the store notices that.

extension TreeImage {
  fileprivate func root(in file: UnsafeRawPointer) -> UnsafeMutableRawPointer? {
    slot == .none ? nil : UnsafeMutableRawPointer(mutating: file) + slot.offset
  }
}

extension OrderedTree {
  /// The tree that an image describes, in place. The image was verified.
  init(_ image: TreeImage, in file: UnsafeRawPointer) {
    self.init(root: image.root(in: file), height: image.height, count: image.count)
  }
}

extension DenseTable {
  /// The table that an image describes, in place. The image was verified.
  init(_ image: TreeImage, in file: UnsafeRawPointer) {
    self.init(root: image.root(in: file), height: image.height, count: image.count)
  }
}

/// Checks the trees of an index file and notes which units they take.
struct NodeVerification: ~Copyable {
  private let file: UnsafeRawBufferPointer
  /// The units of what was reached so far.
  private(set) var reached: SlotMap
  /// The sum over all nodes that were reached.
  private(set) var sum = NodeSum()
  /// By the first unit of a node that was reached: its checksum.
  private(set) var checksums: [UInt32]
  /// Of the tree that is being verified.
  private var lastSegment: UInt64?
  /// By segment number: bytes of the records that entries lead to, as `SegmentUsage` counts them.
  private var liveBytes: [UInt64] = []

  /// - Parameter file: The mapped file. Its first unit belongs to its header.
  init(of file: UnsafeRawBufferPointer) {
    self.file = file
    reached = SlotMap(unitCount: file.count / NodeSlot.unitByteCount)
    checksums = [UInt32](repeating: 0, count: file.count / NodeSlot.unitByteCount)
    if file.count >= NodeSlot.unitByteCount { _ = reached.claim(.none, unitCount: 1) }
  }

  /// Takes units that are no node, as those of a root block.
  mutating func claim(_ slot: NodeSlot, unitCount: Int) throws(FormatError) {
    guard reached.claim(slot, unitCount: unitCount) else {
      throw FormatError(.illegalField, in: "index file", at: slot.offset)
    }
  }

  /// - Parameter lastSegment: The entries lead to records, of segments up to this one; nil: to something
  ///   else.
  mutating func verify(ordered image: TreeImage, lastSegment: UInt64?) throws(FormatError) {
    guard try hasRoot(image, heightLimit: OrderedTree.heightLimit) else { return }
    expectRecords(upTo: lastSegment)
    let node = try orderedNode(at: image.slot.offset, level: image.height - 1)
    guard node.isLeaf || node.count >= 2 else { throw Self.illegal(image.slot.offset) }
    try check(count: try verify(node, at: image.slot.offset), is: image.count, at: image.slot.offset)
  }

  /// - Parameter lastSegment: As for `verify(ordered:lastSegment:)`.
  mutating func verify(dense image: TreeImage, lastSegment: UInt64?) throws(FormatError) {
    guard try hasRoot(image, heightLimit: DenseTable.heightLimit) else { return }
    expectRecords(upTo: lastSegment)
    let count = try verifyDense(at: image.slot.offset, level: image.height - 1)
    try check(count: count, is: image.count, at: image.slot.offset)
  }

  private func hasRoot(_ image: TreeImage, heightLimit: Int) throws(FormatError) -> Bool {
    if image == TreeImage() { return false }
    guard image.slot != .none, (1...heightLimit).contains(image.height), image.count > 0 else {
      throw Self.illegal(image.slot.offset)
    }
    return true
  }

  private func check(count: Int, is expected: Int, at offset: Int) throws(FormatError) {
    guard count == expected else { throw Self.illegal(offset) }
  }

  private mutating func expectRecords(upTo lastSegment: UInt64?) {
    self.lastSegment = lastSegment
    let missing = lastSegment.map { Int($0) + 1 - liveBytes.count } ?? 0
    if missing > 0 { liveBytes.append(contentsOf: repeatElement(0, count: missing)) }
  }

  /// Checks that the counts of live bytes are those of the records that the trees lead to. U1
  func check(_ usage: SegmentUsageTable) throws(FormatError) {
    for segment in 0..<max(liveBytes.count, usage.count) {
      let found = segment < liveBytes.count ? liveBytes[segment] : 0
      guard usage[UInt64(segment)].liveBytes == found else {
        throw FormatError(.illegalField, in: "segment usage", at: 16)
      }
    }
  }

  /// Checks what a leaf holds for a key: readers look its segment up without asking whether there is one.
  @inline(__always)
  private mutating func check(word: UInt64, at offset: Int) throws(FormatError) {
    guard let lastSegment else { return }
    let address = RecordAddress(rawValue: word)
    guard address.isLegal, address.segment <= lastSegment else { throw Self.illegal(offset) }
    liveBytes[Int(address.segment)] += UInt64(address.recordLengthMax)
  }

  private static func illegal(_ offset: Int) -> FormatError {
    FormatError(.illegalField, in: "index node", at: offset)
  }
}

// MARK: - Nodes

extension NodeVerification {
  /// The header of a node that is whole, and where it should be.
  private mutating func node(
    at offset: Int, _ nodeClass: NodeClass, level: Int, byteCount: Int
  ) throws(FormatError) -> UnsafeMutableRawPointer {
    let unitCount = NodeSlot.unitCount(byteCount)
    let end = offset.addingReportingOverflow(unitCount * NodeSlot.unitByteCount)
    guard offset > 0, offset % NodeSlot.unitByteCount == 0, !end.overflow, end.partialValue <= file.count
    else { throw FormatError(.incomplete, in: "index node", at: offset) }
    let bytes = UnsafeRawBufferPointer(rebasing: file[offset..<end.partialValue])
    let base = UnsafeMutableRawPointer(mutating: bytes.baseAddress.unsafelyUnwrapped)
    let header = NodeHeader(base)
    guard header.stamp == NodeSlot.fileStampBit | UInt64(NodeChecksum.of(bytes)) else {
      throw FormatError(.wrongChecksum, in: "index node", at: offset)
    }
    guard header.slot.offset == offset else { throw FormatError(.misplaced, in: "index node", at: offset) }
    guard bytes[13] == nodeClass.rawValue, header.level == level else { throw Self.illegal(offset) }
    try claim(header.slot, unitCount: unitCount)
    let checksum = UInt32(truncatingIfNeeded: header.stamp)
    sum.add(header.slot, checksum: checksum)
    checksums[Int(header.slot.number)] = checksum
    return base
  }

  private static func target(of distance: Int, from offset: Int) throws(FormatError) -> Int {
    let target = offset.addingReportingOverflow(distance)
    guard !target.overflow else { throw illegal(offset) }
    return target.partialValue
  }
}

// MARK: - The ordered tree

extension NodeVerification {
  private mutating func orderedNode(at offset: Int, level: Int) throws(FormatError) -> OrderedNode {
    let node = OrderedNode(
      try node(at: offset, .orderedNode, level: level, byteCount: OrderedNode.byteCount))
    try checkLayout(of: node, at: offset)
    return node
  }

  /// Checks what is below a node whose own layout is right.
  ///
  /// - Returns: How many entries there are.
  private mutating func verify(_ node: OrderedNode, at offset: Int) throws(FormatError) -> Int {
    if node.hasBlocks { try checkBlocks(of: node, at: offset) }
    if node.isLeaf {
      for index in 0..<node.count { try check(word: node.word(index), at: offset) }
      return node.count
    }
    var sum = 0
    for index in 0..<node.count {
      let place = try Self.target(of: Int(truncatingIfNeeded: node.word(index)), from: offset)
      let child = try orderedNode(at: place, level: node.level - 1)
      try check(count: try verify(child, at: place), is: node.entryCount(index), at: offset)
      sum += node.entryCount(index)
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

  private mutating func checkBlocks(of node: OrderedNode, at offset: Int) throws(FormatError) {
    for index in 0..<node.count where node.isOutOfLine(index) {
      let place = try Self.target(of: node.blockDistance(index), from: offset)
      let length = node.keyLength(index)
      let block = try self.node(at: place, .block, level: 0, byteCount: BlockView.bytesOffset + length)
      guard length > OrderedNode.inlineKeyLimit, BlockView(block).length == length else {
        throw Self.illegal(place)
      }
    }
  }
}

// MARK: - The dense table

extension NodeVerification {
  /// - Returns: How many entries there are.
  private mutating func verifyDense(at offset: Int, level: Int) throws(FormatError) -> Int {
    let isLeaf = level == 0
    let base = try node(
      at: offset, isLeaf ? .denseLeaf : .denseInner, level: level,
      byteCount: isLeaf ? DenseNode.leafByteCount : DenseNode.innerByteCount)
    let node = DenseNode(base)
    guard node.presence != 0 else { throw Self.illegal(offset) }
    for way in 0..<DenseNode.slotCount {
      guard (node.presence >> UInt64(way) & 1 == 1) == (node.word(way) != 0) else {
        throw Self.illegal(offset)
      }
    }
    if isLeaf {
      for way in 0..<DenseNode.slotCount where node.word(way) != 0 {
        try check(word: node.word(way), at: offset)
      }
      return node.presence.nonzeroBitCount
    }
    var sum = 0
    for way in 0..<DenseNode.slotCount where node.word(way) != 0 {
      let place = try Self.target(of: Int(truncatingIfNeeded: node.word(way)), from: offset)
      try check(count: try verifyDense(at: place, level: level - 1), is: node.count(way), at: offset)
      sum += node.count(way)
    }
    return sum
  }
}
