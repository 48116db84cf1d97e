// Checks whether two versions agree on a range of keys. Two cursors, one in each version, advance
// in parallel. If both are before the same node, both skip it. If both are at the same index of the
// same node, both skip the rest of that node. So the cost depends on the differences, not on the
// length of the range.

extension OrderedTree {
  /// Whether `old` and `new` have the same keys with the same payloads in `range`.
  ///
  /// Both must be versions of one tree, because nodes with the same address count as equal.
  static func isUnchanged(in range: RawKeyRange, from old: OrderedTree, to new: OrderedTree) -> Bool {
    if old.root == new.root { return true }
    var left = SubtreeWalk(old, from: range.lower)
    var right = SubtreeWalk(new, from: range.lower)
    while true {
      if left.skipShared(with: &right) { continue }
      let leftEnds = left.isBehind(range.upper)
      let rightEnds = right.isBehind(range.upper)
      if leftEnds, rightEnds { return true }
      if !leftEnds, left.isBeforeNode, rightEnds || left.level >= right.level {
        left.descend()
      } else if !rightEnds, right.isBeforeNode {
        right.descend()
      } else if leftEnds || rightEnds || !left.isEqualEntry(&right) {
        return false
      } else {
        left.advance()
        right.advance()
      }
    }
  }
}

/// A cursor in one version of the tree. The next item is a subtree or an entry. The cursor can
/// enter a subtree or skip it.
private struct SubtreeWalk: ~Copyable {
  private struct Step {
    var node: OrderedNode
    var index: Int
  }

  /// The path from the root. The cursor is before entry `index` of the last node.
  private let path: UnsafeMutablePointer<Step>
  private var depth = 0
  private let keyBuffer: UnsafeMutableRawPointer
  private let file: FileNodes

  /// Positions the cursor before the first entry whose key is not less than `key`.
  init(_ tree: OrderedTree, from key: UnsafeRawBufferPointer) {
    path = .allocate(capacity: OrderedTree.heightLimit)
    keyBuffer = .allocate(byteCount: OrderedNode.keyBufferByteCount, alignment: 16)
    file = tree.file
    guard let root = tree.root else { return }
    var node = OrderedNode(root)
    while !node.isLeaf {
      let index = node.childIndex(for: key)
      push(node, index)
      node = OrderedNode(node.child(index, in: file))
    }
    push(node, node.search(key).index)
    leaveFinishedNodes()
  }

  deinit {
    path.deallocate()
    keyBuffer.deallocate()
  }

  private var top: Step { path[depth &- 1] }

  private mutating func push(_ node: OrderedNode, _ index: Int) {
    path[depth] = Step(node: node, index: index)
    depth &+= 1
  }

  /// The level of the current node; the next subtree or entry is one level below. -1 at the end.
  var level: Int { depth == 0 ? -1 : top.node.level }

  var isBeforeNode: Bool { depth > 0 && !top.node.isLeaf }

  mutating func descend() { push(OrderedNode(top.node.child(top.index, in: file)), 0) }

  /// Skips the next subtree or entry.
  mutating func advance() {
    path[depth &- 1].index &+= 1
    leaveFinishedNodes()
  }

  /// Removes finished nodes from the end of the path. In each step of the path, `index` is that of
  /// the child in the next step. When this child is finished, `index` advances to the next child.
  private mutating func leaveFinishedNodes() {
    while depth > 0, top.index == top.node.count {
      depth &-= 1
      if depth > 0 { path[depth &- 1].index &+= 1 }
    }
  }

  /// Skips the part that both cursors share: the rest of a node, or a whole subtree. Returns false
  /// if the cursors are not at a shared part.
  mutating func skipShared(with other: inout SubtreeWalk) -> Bool {
    guard depth > 0, other.depth > 0 else { return false }
    if top.node.base == other.top.node.base, top.index == other.top.index {
      finishNode()
      other.finishNode()
      return true
    }
    guard isBeforeNode, other.isBeforeNode else { return false }
    guard top.node.childAddress(top.index) == other.top.node.childAddress(other.top.index) else {
      return false
    }
    advance()
    other.advance()
    return true
  }

  private mutating func finishNode() {
    path[depth &- 1].index = top.node.count
    leaveFinishedNodes()
  }

  /// False if a key that is less than `bound` may follow; true at the end of the tree.
  mutating func isBehind(_ bound: UnsafeRawBufferPointer?) -> Bool {
    guard depth > 0 else { return true }
    guard let bound else { return false }
    return KeyBytes.compare(top.node.key(top.index, in: keyBuffer), bound) >= 0
  }

  mutating func isEqualEntry(_ other: inout SubtreeWalk) -> Bool {
    guard top.node.word(top.index) == other.top.node.word(other.top.index) else { return false }
    let key = top.node.key(top.index, in: keyBuffer)
    return KeyBytes.compare(key, other.top.node.key(other.top.index, in: other.keyBuffer)) == 0
  }
}
