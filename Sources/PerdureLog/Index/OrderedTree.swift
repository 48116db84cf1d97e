// A map from byte strings to words, ordered bytewise. It is a copy-on-write B+tree with small nodes
// (OrderedNode.swift). It stores the number of entries below each child, so that one descent finds
// positions and sizes of ranges.
//
// The value contains the root, so a copy of the value is a snapshot. Changes go through the arena,
// which decides whether a node is written in place or copied (NodeArena.swift, NA1 to NA5).
//
// Invariants, in addition to ON1 to ON3 of the node
//  OT1  height == 0 if and only if the tree is empty. All leaves are at level 0, and the level of
//       the root is one less than the height.
//  OT2  The key of entry i > 0 of an inner node is a separator. Keys below child i - 1 are less
//       than the separator. Keys below child i are not.
//  OT3  The first entry of an inner node has no key. Its child contains all keys less than the
//       first separator.
//  OT4  The count beside a child is the number of entries below it. `count` is the number of
//       entries of the whole tree.
//  OT5  No node is empty; a root that is an inner node has two children or more.

/// A copy-on-write ordered map from byte strings to words.
// Unchecked, because of the pointer: the memory it reaches is never written after its version is
// published. The engine frees it only when no reader has that version pinned (NA2, NA3).
struct OrderedTree: @unchecked Sendable {
  /// The longest key, in bytes.
  static let keyByteCountLimit = 65_535

  /// A limit of the height. No tree reaches it, because a root is split only when it has at least
  /// four children.
  static let heightLimit = 32

  var root: UnsafeMutableRawPointer?
  var height = 0
  var count = 0
  /// The mapped file that may contain nodes of the tree. All other nodes are in the arena's memory.
  var file = FileNodes.none

  /// Drops the root if some nodes may be in a mapped file; the count stays unchanged.
  mutating func releaseNodes() { if file.hasFile { (root, height) = (nil, 0) } }

  /// The payload of `key`, nil if there is no such entry.
  ///
  /// - Complexity: O(log n).
  func get(_ key: UnsafeRawBufferPointer) -> UInt64? {
    guard let leaf = leaf(for: key) else { return nil }
    let place = leaf.search(key)
    return place.isFound ? leaf.word(place.index) : nil
  }

  /// The leaf whose key range includes `key`; nil if the tree is empty.
  @inline(__always)
  func leaf(for key: UnsafeRawBufferPointer) -> OrderedNode? {
    guard let root else { return nil }
    var node = OrderedNode(root)
    var level = height &- 1
    while level > 0 {
      node = OrderedNode(node.child(node.childIndex(for: key), in: file))
      node.prefetch()
      level &-= 1
    }
    return node
  }
}
