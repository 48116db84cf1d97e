import PerdureFormat

/// Reads all of a checkpoint's trees in an index file. It checks every node (`NodeCheck`) before it
/// follows any reference in the node. It checks that no two nodes share a unit, and counts the live
/// bytes of the records that the entries address.
///
/// Walking a tree does not need this check of the whole file (FileNodes.swift). The check is used
/// to find the free units of the file, and to verify a store.
struct NodeVerification: ~Copyable {
  private let file: UnsafeRawBufferPointer
  private let lastSegment: UInt64
  /// The units of the nodes reached so far.
  private(set) var reached: SlotMap
  /// The number of bytes of the records that the entries address, by segment number. The bytes are
  /// counted in the same way as in `SegmentUsage`.
  private var liveBytes = PagedTable<UInt64>(0)

  /// - Parameter file: The mapped file. Its first unit belongs to its header.
  /// - Parameter lastSegment: No entry may be the address of a record in a later segment.
  init(of file: UnsafeRawBufferPointer, lastSegment: UInt64) {
    self.file = file
    self.lastSegment = lastSegment
    reached = SlotMap(unitCount: file.count / NodeSlot.unitByteCount)
    if file.count >= NodeSlot.unitByteCount { _ = reached.claim(.none, unitCount: 1) }
  }

  /// Claims the run of units of a node or of a root block. If units are beyond the end of the file,
  /// the error has the offset of its end.
  mutating func claim(_ slot: NodeSlot, unitCount: Int) throws(FormatError) {
    guard slot.offset + unitCount * NodeSlot.unitByteCount <= file.count else {
      throw FormatError(.incomplete, in: "index file", at: file.count)
    }
    guard reached.claim(slot, unitCount: unitCount) else {
      throw FormatError(.illegalField, in: "index file", at: slot.offset)
    }
  }

  /// - Parameter leadsToRecords: Whether entries are addresses of records.
  mutating func verify(ordered image: TreeImage, leadsToRecords: Bool) throws(FormatError) {
    guard let root = try ExpectedNode(root: image, heightLimit: OrderedTree.heightLimit) else { return }
    let check = NodeCheck(file: file, lastSegment: leadsToRecords ? lastSegment : nil)
    try verifyOrdered(at: image.slot.offset, root, check)
    let node = OrderedNode(base(at: image.slot.offset))
    guard node.isLeaf || node.count >= 2 else { throw NodeCheck.illegal(image.slot.offset) }
  }

  mutating func verify(dense image: TreeImage, leadsToRecords: Bool) throws(FormatError) {
    guard let root = try ExpectedNode(root: image, heightLimit: DenseTable.heightLimit) else { return }
    let check = NodeCheck(file: file, lastSegment: leadsToRecords ? lastSegment : nil)
    try verifyDense(at: image.slot.offset, root, check)
  }

  /// Checks that the counts of live bytes equal the bytes of the records that the trees address.
  /// SU1
  func check(_ usage: SegmentUsageTable) throws(FormatError) {
    let isRight =
      usage.counted.allSatisfy { $0.usage.liveBytes == liveBytes[Int($0.segment)] }
      && liveBytes.known.allSatisfy { usage[UInt64($0.number)].liveBytes == $0.element }
    guard isRight else { throw FormatError(.illegalField, in: "segment usage", at: 16) }
  }

  private func base(at offset: Int) -> UnsafeMutableRawPointer {
    UnsafeMutableRawPointer(mutating: file.baseAddress.unsafelyUnwrapped) + offset
  }

  private mutating func count(_ word: UInt64) {
    let address = RecordAddress(rawValue: word)
    liveBytes[Int(address.segment)] += UInt64(address.recordLengthMax)
  }

  private mutating func verifyOrdered(
    at offset: Int, _ expected: ExpectedNode, _ check: NodeCheck
  ) throws(FormatError) {
    try check.node(at: offset, .orderedNode, expected)
    let node = OrderedNode(base(at: offset))
    try claim(NodeHeader(node.base).slot, unitCount: NodeSlot.unitCount(OrderedNode.byteCount))
    for index in 0..<node.count {
      if let block = node.block(index) {
        let header = NodeHeader(block)
        try claim(header.slot, unitCount: NodeSlot.unitCount(header.fileByteCount))
      }
      if !node.isLeaf {
        let place = try check.target(of: Int(truncatingIfNeeded: node.word(index)), from: offset)
        let child = ExpectedNode(level: expected.level - 1, below: node.countWord(index))
        try verifyOrdered(at: place, child, check)
      } else if check.lastSegment != nil {
        count(node.word(index))
      }
    }
  }

  private mutating func verifyDense(
    at offset: Int, _ expected: ExpectedNode, _ check: NodeCheck
  ) throws(FormatError) {
    let nodeClass: NodeClass = expected.level == 0 ? .denseLeaf : .denseInner
    try check.node(at: offset, nodeClass, expected)
    let node = DenseNode(base(at: offset))
    try claim(NodeHeader(node.base).slot, unitCount: NodeSlot.unitCount(nodeClass.byteCount))
    for way in 0..<DenseNode.slotCount where node.word(way) != 0 {
      if expected.level == 0 {
        if check.lastSegment != nil { count(node.word(way)) }
      } else {
        let place = try check.target(of: Int(truncatingIfNeeded: node.word(way)), from: offset)
        let child = ExpectedNode(level: expected.level - 1, below: node.countWord(way))
        try verifyDense(at: place, child, check)
      }
    }
  }
}
