import PerdureFormat

// The sum over all nodes that a checkpoint reaches, without a walk over them.
//
// The index file keeps the sum over a set of nodes: those that have a place in it, and that the root of one
// version reaches (`summedVersion`). From one checkpoint's root to the next the set changes in two ways:
// nodes leave it because a version in between retired them, and nodes come into it when they are written.
//
// Invariants
//  M1  A node that has a place leaves the set by being retired, and in no other way: trees are emptied
//      through the arena too. Retired nodes wait in the arena's queue or are freed, and both say in which
//      version they were retired. So what has left since version v is what was retired after v; what was
//      retired before was not in the set. (A node may be retired while it is being written: it gets its
//      place all the same, and leaves.)
//  M2  A node is added when its bytes were taken (NodeWriter, W1), also if the checkpoint fails or is
//      cancelled later: the version of the set is that of the root which was being written.
//  M3  A node is taken away with the checksum that it was written with: its units are not used again
//      before, because they wait for two more superblocks (SlotAllocator, A2).
//  M4  Trees of indexes that nothing maintains are not in the checkpoint, but some of their nodes may have
//      places, and count again when the index is whole again. They are in the set, and taken away from its
//      sum for the checkpoint. Most such trees are empty.
//  M5  Whenever the version is not known (after opening, when nodes of trees that nobody uses have places,
//      or when a checkpoint was given up before it came here) the set is walked over once.

extension CheckpointWriter {
  /// The version of which the sum is known, which is not known any more until the source that is made with
  /// it comes to be written. M5
  mutating func takeSummedVersion() -> UInt64? {
    defer { summedVersion = nil }
    return summedVersion
  }

  /// The nodes that have left. M1, M3
  mutating func takeAway(_ source: CheckpointSource, from file: IndexFile) {
    guard let left = source.left else { return }
    for slot in left { file.takeAway(slot) }
    summedVersion = source.root.pointee.version
  }

  /// Over all nodes of trees that were written.
  mutating func sum(of source: CheckpointSource, in file: IndexFile) -> NodeSum {
    let root = source.root.pointee
    if summedVersion == nil {
      file.sum = Self.walk(source, in: file) { _ in true }
      summedVersion = root.version
    }
    var sum = file.sum
    for id in source.untrusted {
      let tree = Int(id) < root.indexCount ? root.indexes[Int(id)] : OrderedTree()
      tree.forEachSlot { file.remove($0, from: &sum) }
    }
    assert(sum == Self.walk(source, in: file) { !source.untrusted.contains($0) }, "M1 to M4")
    return sum
  }

  /// - Parameter isCounted: Whether the nodes of an index count.
  private static func walk(
    _ source: CheckpointSource, in file: IndexFile, _ isCounted: (UInt32) -> Bool
  ) -> NodeSum {
    var sum = NodeSum()
    let root = source.root.pointee
    for keyspace in source.catalog.keyspaces {
      let trees = root.trees(of: keyspace)
      trees.dense.forEachSlot { file.add($0, to: &sum) }
      trees.ordered.forEachSlot { file.add($0, to: &sum) }
    }
    for entry in source.catalog.indexes where isCounted(entry.index.id) {
      root.tree(of: entry.index).forEachSlot { file.add($0, to: &sum) }
    }
    return sum
  }
}
