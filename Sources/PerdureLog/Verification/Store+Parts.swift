import PerdureFormat

// One part of an open store at a time, read as opening, compaction and verification read all of it: for who wants
// to know of each single byte that damage to it is noticed, and cannot open the store for each.

/// A node of the index file that the checkpoint reaches which the store was opened with.
package struct IndexPage: Sendable {
  /// The bytes of its units.
  package let range: Range<Int>
  /// Those of the blocks of its long keys.
  package fileprivate(set) var blocks: [Range<Int>] = []
  fileprivate let nodeClass: NodeClass
  fileprivate let expected: ExpectedNode
  fileprivate let lastSegment: UInt64?
}

extension Store {
  /// The numbers of the segments that the log is in, ascending.
  package var segmentNumbers: [UInt64] {
    get throws { try engine.looking { $0.segments.segments.keys.sorted() } }
  }

  /// Reads and verifies one frame, as who goes through the log does.
  ///
  /// - Parameter offset: Where it begins in its segment's file, or in what the file's groups unpack to.
  /// - Throws: `StoreError` with code `.corruption`.
  package func readFrame(at offset: Int, ofSegment number: UInt64) throws {
    try engine.looking { state in
      guard let segment = state.segments.segments[number] else { return }
      let end = number == state.end.segment ? Int(state.end.offset) : state.segments.entries[Int(number)].end
      try LogScan.visitFrame(of: segment, at: offset, upTo: end, state.storeID)
    }
  }

  /// All nodes of the checkpoint that the store was opened with; none without one.
  package func indexPages() throws -> [IndexPage] {
    guard let checkpoint = engine.checkpoint else { return [] }
    var walk = IndexPageWalk(file: checkpoint.nodes.file)
    let lastSegment = checkpoint.root.end.segment
    for trees in checkpoint.root.keyspaces {
      try walk.visit(dense: TreeImage(trees.dense), lastSegment)
      try walk.visit(ordered: TreeImage(trees.ordered), lastSegment)
    }
    for index in checkpoint.root.indexes { try walk.visit(ordered: TreeImage(index.tree), nil) }
    return walk.pages
  }

  /// Checks a node as everybody does who comes to it first.
  ///
  /// - Throws: `StoreError` with code `.corruption`.
  package func check(_ page: IndexPage) throws(StoreError) {
    guard let checkpoint = engine.checkpoint else { return }
    let check = NodeCheck(file: checkpoint.nodes.file, lastSegment: page.lastSegment)
    do { try check.node(at: page.range.lowerBound, page.nodeClass, page.expected) } catch {
      let name = StoreFileName.index(checkpoint.reference.indexFile).string
      throw StoreError(.corruption, "\(error)", at: "\(name), byte \(error.offset)")
    }
  }
}

/// From the roots to every node, each checked before anything in it is followed.
private struct IndexPageWalk {
  let file: UnsafeRawBufferPointer
  var pages: [IndexPage] = []

  mutating func visit(dense image: TreeImage, _ lastSegment: UInt64?) throws(FormatError) {
    guard let root = try ExpectedNode(root: image, heightLimit: DenseTable.heightLimit) else { return }
    try visitDense(at: image.slot.offset, root, NodeCheck(file: file, lastSegment: lastSegment))
  }

  mutating func visit(ordered image: TreeImage, _ lastSegment: UInt64?) throws(FormatError) {
    guard let root = try ExpectedNode(root: image, heightLimit: OrderedTree.heightLimit) else { return }
    try visitOrdered(at: image.slot.offset, root, NodeCheck(file: file, lastSegment: lastSegment))
  }

  private func base(at offset: Int) -> UnsafeMutableRawPointer {
    UnsafeMutableRawPointer(mutating: file.baseAddress.unsafelyUnwrapped) + offset
  }

  private func units(_ node: UnsafeMutableRawPointer, _ byteCount: Int) -> Range<Int> {
    let start = NodeHeader(node).slot.offset
    return start..<(start + NodeSlot.unitCount(byteCount) * NodeSlot.unitByteCount)
  }

  private mutating func visitDense(
    at offset: Int, _ expected: ExpectedNode, _ check: NodeCheck
  ) throws(FormatError) {
    let nodeClass: NodeClass = expected.level == 0 ? .denseLeaf : .denseInner
    try check.node(at: offset, nodeClass, expected)
    let node = DenseNode(base(at: offset))
    pages.append(
      IndexPage(
        range: units(node.base, nodeClass.byteCount), nodeClass: nodeClass, expected: expected,
        lastSegment: check.lastSegment))
    guard expected.level > 0 else { return }
    for way in 0..<DenseNode.slotCount where node.word(way) != 0 {
      let place = try check.target(of: Int(truncatingIfNeeded: node.word(way)), from: offset)
      try visitDense(at: place, ExpectedNode(level: expected.level - 1, below: node.countWord(way)), check)
    }
  }

  private mutating func visitOrdered(
    at offset: Int, _ expected: ExpectedNode, _ check: NodeCheck
  ) throws(FormatError) {
    try check.node(at: offset, .orderedNode, expected)
    let node = OrderedNode(base(at: offset))
    var page = IndexPage(
      range: units(node.base, OrderedNode.byteCount), nodeClass: .orderedNode, expected: expected,
      lastSegment: check.lastSegment)
    for index in 0..<node.count {
      if let block = node.block(index) { page.blocks.append(units(block, NodeHeader(block).fileByteCount)) }
    }
    pages.append(page)
    guard !node.isLeaf else { return }
    for index in 0..<node.count {
      let place = try check.target(of: Int(truncatingIfNeeded: node.word(index)), from: offset)
      try visitOrdered(
        at: place, ExpectedNode(level: expected.level - 1, below: node.countWord(index)), check)
    }
  }
}
