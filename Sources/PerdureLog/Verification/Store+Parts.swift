import PerdureFormat

// Reads one part of an open store at a time. Opening, compaction and verification read all parts.
// Tests use this to check that damage to every single byte is detected, because opening the store
// for each byte takes too long.

/// A node of the index file that is part of the checkpoint with which the store was opened.
package struct IndexPage: Sendable {
  /// The keyspace or the derived index that contains the node, by number.
  package enum Tree: Hashable, Sendable { case keyspace(UInt32), index(UInt32) }

  package let tree: Tree
  /// The first key below the node: a lookup of that key reads this node. For an index, it is the
  /// key that its extractor returned.
  package fileprivate(set) var key = Key.bytes([])
  /// The bytes of the node's units.
  package let range: Range<Int>
  /// The bytes of the blocks with its long keys.
  package fileprivate(set) var blocks: [Range<Int>] = []
  fileprivate let nodeClass: NodeClass
  fileprivate let expected: ExpectedNode
  fileprivate let lastSegment: UInt64?
  /// The number of entries in its tree that precede the entries below this node.
  fileprivate let entriesBefore: Int
}

extension Store {
  /// The numbers of the segments that contain the log, ascending.
  package var segmentNumbers: [UInt64] {
    get throws { try engine.readingState { $0.segments.segments.keys.sorted() } }
  }

  /// Reads and verifies one frame, in the same way as a read of the log. Does nothing if there is
  /// no such segment.
  ///
  /// - Parameter offset: The frame's offset in the segment's file. For a segment in groups, the
  ///   offset in its unpacked bytes.
  /// - Throws: `StoreError` with code `.corruption`, `.closed` or `.forked`.
  package func readFrame(at offset: Int, ofSegment number: UInt64) throws {
    try engine.readingState { state in
      guard let segment = state.segments.segments[number] else { return }
      let end = number == state.end.segment ? Int(state.end.offset) : state.segments.entries[Int(number)].end
      try LogScan.visitFrame(of: segment, at: offset, upTo: end, state.storeID)
    }
  }

  /// The number of nodes of the index file that were read since the store was opened.
  package var indexPagesRead: Int { engine.checkpoint?.nodes.readNodeCount ?? 0 }

  /// All nodes of the checkpoint with which the store was opened; empty without a checkpoint.
  package func indexPages() throws -> [IndexPage] {
    guard let checkpoint = engine.checkpoint else { return [] }
    var walk = IndexPageWalk(checkpoint.nodes)
    for (id, trees) in checkpoint.root.keyspaces.enumerated() {
      let tree = IndexPage.Tree.keyspace(UInt32(id))
      try walk.visit(dense: TreeImage(trees.dense), of: tree)
      try walk.visit(ordered: TreeImage(trees.ordered), of: tree)
    }
    for (id, index) in checkpoint.root.indexes.enumerated() {
      try walk.visit(ordered: TreeImage(index.tree), of: .index(UInt32(id)))
    }
    return walk.pages
  }

  /// Checks a node, in the same way as the node's first read.
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

/// Visits every node, from the roots down. Each node is checked before a reference in that node is
/// followed.
private struct IndexPageWalk {
  private let nodes: MappedNodes
  private(set) var pages: [IndexPage] = []
  private var tree = IndexPage.Tree.keyspace(0)
  /// The number of entries of the tree that were passed.
  private var passed = 0

  init(_ nodes: MappedNodes) { self.nodes = nodes }

  mutating func visit(dense image: TreeImage, of tree: IndexPage.Tree) throws(FormatError) {
    guard let root = try ExpectedNode(root: image, heightLimit: DenseTable.heightLimit) else { return }
    (self.tree, passed) = (tree, 0)
    let check = NodeCheck(file: nodes.file, lastSegment: nodes.lastSegment)
    _ = try visitDense(at: image.slot.offset, root, from: 0, check)
  }

  mutating func visit(ordered image: TreeImage, of tree: IndexPage.Tree) throws(FormatError) {
    guard let root = try ExpectedNode(root: image, heightLimit: OrderedTree.heightLimit) else { return }
    (self.tree, passed) = (tree, 0)
    let first = pages.count
    var (lastSegment, isIndex) = (nodes.lastSegment as UInt64?, false)
    if case .index = tree { (lastSegment, isIndex) = (nil, true) }
    let check = NodeCheck(file: nodes.file, lastSegment: lastSegment)
    try visitOrdered(at: image.slot.offset, root, check)
    var cursor = OrderedCursor(try OrderedTree(image, in: isIndex ? nodes.entries : nodes.records))
    var rank = -1
    for page in first..<pages.count {
      while rank < pages[page].entriesBefore, cursor.next() { rank += 1 }
      pages[page].key = .bytes(Array(isIndex ? IndexKey.key(in: cursor.key) : cursor.key))
    }
  }

  private func base(at offset: Int) -> UnsafeMutableRawPointer {
    UnsafeMutableRawPointer(mutating: nodes.file.baseAddress.unsafelyUnwrapped) + offset
  }

  private func units(_ node: UnsafeMutableRawPointer, _ byteCount: Int) -> Range<Int> {
    let start = NodeHeader(node).slot.offset
    return start..<(start + NodeSlot.unitCount(byteCount) * NodeSlot.unitByteCount)
  }

  private func page(
    _ node: UnsafeMutableRawPointer, _ nodeClass: NodeClass, _ expected: ExpectedNode, _ check: NodeCheck
  ) -> IndexPage {
    IndexPage(
      tree: tree, range: units(node, nodeClass.byteCount), nodeClass: nodeClass, expected: expected,
      lastSegment: check.lastSegment, entriesBefore: passed)
  }

  /// Returns the first id below the node.
  ///
  /// - Parameter id: The lowest id that can be below the node.
  private mutating func visitDense(
    at offset: Int, _ expected: ExpectedNode, from id: UInt64, _ check: NodeCheck
  ) throws(FormatError) -> UInt64 {
    let nodeClass: NodeClass = expected.level == 0 ? .denseLeaf : .denseInner
    try check.node(at: offset, nodeClass, expected)
    let node = DenseNode(base(at: offset))
    let page = pages.count
    pages.append(self.page(node.base, nodeClass, expected, check))
    var first: UInt64?
    for way in 0..<DenseNode.slotCount where node.word(way) != 0 {
      let least = id | UInt64(way) << UInt64(6 * expected.level)
      if expected.level == 0 {
        passed += 1
        first = first ?? least
        continue
      }
      let place = try check.target(of: Int(truncatingIfNeeded: node.word(way)), from: offset)
      let below = ExpectedNode(level: expected.level - 1, below: node.countWord(way))
      let found = try visitDense(at: place, below, from: least, check)
      first = first ?? found
    }
    pages[page].key = .id(first ?? id)
    return first ?? id
  }

  private mutating func visitOrdered(
    at offset: Int, _ expected: ExpectedNode, _ check: NodeCheck
  ) throws(FormatError) {
    try check.node(at: offset, .orderedNode, expected)
    let node = OrderedNode(base(at: offset))
    var page = page(node.base, .orderedNode, expected, check)
    for index in 0..<node.count {
      if let block = node.block(index) { page.blocks.append(units(block, NodeHeader(block).fileByteCount)) }
    }
    pages.append(page)
    guard !node.isLeaf else {
      passed += node.count
      return
    }
    for index in 0..<node.count {
      let place = try check.target(of: Int(truncatingIfNeeded: node.word(index)), from: offset)
      try visitOrdered(
        at: place, ExpectedNode(level: expected.level - 1, below: node.countWord(index)), check)
    }
  }
}
