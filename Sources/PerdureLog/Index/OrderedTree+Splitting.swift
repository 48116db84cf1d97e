// Splits full nodes. If a node grows at its end, a new last entry begins a new node. The full node
// stays unchanged, so ascending insertions produce no half-empty nodes. An entry that does not
// share the node's prefix is before or after all other keys. Such an entry is split off, so that
// the other entries keep the prefix. In all other cases both halves get about the same number of
// bytes.
//
// The keys of a half can have a longer common prefix than those of the full node. The longer prefix
// makes keys shorter, but not those that are out of line. If the half would not fit with it, the
// half keeps the prefix of the full node.
//
// The separator between leaves is the shortest string that separates them. The separator between
// inner nodes is the key that the right node's first entry loses (OT3).

extension Insertion {
  /// Keeps the old node unchanged, and makes the new entry the first entry of a right neighbour.
  static func splitOff(last entry: OrderedEntry, of node: OrderedNode, arena: NodeArena) -> Result {
    let last = node.key(node.count - 1, in: arena.scratch.firstKey)
    let right = OrderedNode.make(level: node.level, in: arena)
    right.reset(prefixLength: min(KeyBytes.commonPrefix(entry.key, last), OrderedNode.inlineKeyLimit))
    right.setPrefix(entry.key)
    right.endRun = node.endRun
    let length = writeSeparator(last, entry.key, isLeaf: node.isLeaf, arena: arena)
    var moved = entry
    if !node.isLeaf { discardKey(of: &moved, arena: arena) }
    right.append(moved)
    return Result(node: node.base, right: Right(node: right.base, separatorLength: length))
  }

  /// Splits `node`, with one more entry, into two nodes.
  static func split(
    _ node: OrderedNode, inserting entry: OrderedEntry, at index: Int, sharesPrefix: Bool, arena: NodeArena
  ) -> Result {
    let scratch = arena.scratch
    let list = OrderedEntryList(copyToScratch(node, arena: arena), inserting: entry, at: index)
    let middle = sharesPrefix ? list.middle(prefixLength: node.prefixLength) : index + 1
    let right = OrderedNode.make(level: node.level, in: arena)
    let (left, rest) = (0..<middle, middle..<list.count)
    let oldPrefix = node.prefixLength
    let leftPrefix = list.prefixLength(left, neighbour: middle, orShorter: oldPrefix, scratch: scratch)
    let rightPrefix = list.prefixLength(rest, neighbour: middle - 1, orShorter: oldPrefix, scratch: scratch)
    list.build(left, prefixLength: leftPrefix, into: node, scratch: scratch)
    list.build(rest, prefixLength: rightPrefix, into: right, scratch: scratch)

    let last = list.key(middle - 1, in: scratch.secondKey)
    var first = list.entry(middle, in: scratch.firstKey)
    let length = writeSeparator(last, first.key, isLeaf: node.isLeaf, arena: arena)
    if !node.isLeaf { discardKey(of: &first, arena: arena) }
    return Result(node: node.base, right: Right(node: right.base, separatorLength: length))
  }

  /// Removes the key of an entry that becomes the first of an inner node.
  private static func discardKey(of entry: inout OrderedEntry, arena: NodeArena) {
    if let block = entry.block { arena.discard(block) }
    entry.removeKey()
  }

  /// Writes the separator between two neighbours to the scratch.
  ///
  /// - Returns: Its length.
  private static func writeSeparator(
    _ last: UnsafeRawBufferPointer, _ first: UnsafeRawBufferPointer, isLeaf: Bool, arena: NodeArena
  ) -> Int {
    let length = isLeaf ? KeyBytes.commonPrefix(last, first) + 1 : first.count
    precondition(length <= first.count, "ON1: neighbours out of order")
    // `first` may be the separator that is already in the scratch, so the bytes may overlap.
    if length > 0 {
      arena.scratch.separator.copyMemory(from: first.baseAddress.unsafelyUnwrapped, byteCount: length)
    }
    return length
  }
}
