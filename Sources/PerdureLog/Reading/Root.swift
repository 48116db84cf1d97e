import PerdureFormat
import PerdureNumbers

/// Everything that a reader needs to see one state of the store: an immutable block of plain words.
///
/// The writer creates a root for each commit. Readers access it through a pin (`PinTable`). It is
/// freed by the rule of `NodeArena`: when it is no longer the newest root, and no pin holds it.
///
/// It is read in place, field by field, and never copied as a whole: the committer writes one field
/// while readers read the others.
struct Root: ~Copyable {
  /// The arena's version with which this root was published.
  var version: UInt64
  /// The sequence number of the last commit in this root.
  var sequence: UInt64
  /// The time at which a newer root replaced this one; 0 while it is the newest. Only the committer
  /// reads and writes this field.
  var replacedNanoseconds: UInt64 = 0
  /// The end of the log when the root was made.
  var end: LogPosition
  var segments: UnsafeMutablePointer<SegmentTable.Entry>
  var keyspaceCount: Int
  /// The trees of the keyspaces, by keyspace id.
  var keyspaces: UnsafeMutablePointer<KeyspaceRoot>
  var indexCount: Int
  /// The trees of the derived indexes, by index id.
  var indexes: UnsafeMutablePointer<OrderedTree>
  /// The data about the derived indexes, by index id. Readers check it before they use a tree.
  var indexMarks: UnsafeMutablePointer<IndexMark>
  /// The number of keyspaces for which the root has memory.
  let keyspaceCapacity: Int
  /// The position up to which the root contains all noted changes. RC2
  var changesSeen = RootChanges.unknown

  /// Allocates a root with empty trees, in one block of memory because every commit makes a root.
  ///
  /// - Parameter keyspaceCapacity: The number of keyspaces to have memory for; nil for
  ///   `keyspaceCount`. Memory that no keyspace uses is not written, so that it costs no pages.
  static func allocate(
    keyspaceCount: Int, indexCount: Int, keyspaceCapacity: Int? = nil
  ) -> UnsafeMutablePointer<Root> {
    let keyspaceCapacity = keyspaceCapacity ?? keyspaceCount
    let keyspacesOffset = MemoryLayout<Root>.stride
    let indexesOffset = keyspacesOffset + keyspaceCapacity * MemoryLayout<KeyspaceRoot>.stride
    let marksOffset = indexesOffset + indexCount * MemoryLayout<OrderedTree>.stride
    let block = UnsafeMutableRawPointer.allocate(
      byteCount: byteCount(keyspaceCapacity: keyspaceCapacity, indexCount: indexCount), alignment: 16)
    let keyspaces = (block + keyspacesOffset).initializeMemory(
      as: KeyspaceRoot.self, repeating: KeyspaceRoot(), count: keyspaceCount)
    let indexes = (block + indexesOffset).initializeMemory(
      as: OrderedTree.self, repeating: OrderedTree(), count: indexCount)
    let indexMarks = (block + marksOffset).initializeMemory(
      as: IndexMark.self, repeating: IndexMark(), count: indexCount)
    let noSegments = UnsafeMutablePointer<SegmentTable.Entry>(bitPattern: 8).unsafelyUnwrapped
    return block.initializeMemory(
      as: Root.self,
      to: Root(
        version: 0, sequence: 0, end: .start, segments: noSegments, keyspaceCount: keyspaceCount,
        keyspaces: keyspaces, indexCount: indexCount, indexes: indexes, indexMarks: indexMarks,
        keyspaceCapacity: keyspaceCapacity))
  }

  /// The length of a root's memory.
  static func byteCount(keyspaceCapacity: Int, indexCount: Int) -> Int {
    MemoryLayout<Root>.stride + keyspaceCapacity * MemoryLayout<KeyspaceRoot>.stride
      + indexCount * (MemoryLayout<OrderedTree>.stride + MemoryLayout<IndexMark>.stride)
  }

  /// Whether this root has the same memory layout as `other`.
  func hasLayout(of other: borrowing Root) -> Bool {
    keyspaceCapacity == other.keyspaceCapacity && indexCount == other.indexCount
  }

  /// Copies marks from the catalog. It copies the marks of the keyspaces with ids of
  /// `firstKeyspace` or more. It copies the marks of all indexes, because an index may be removed
  /// and defined again.
  mutating func mark(_ catalog: Catalog, keyspacesFrom firstKeyspace: Int = 0) {
    for id in firstKeyspace..<keyspaceCount { keyspaces[id].mark = catalog.keyspaces[id].mark }
    for id in 0..<indexCount {
      let entry = catalog.indexes[id]
      indexMarks[id].mark = entry.index.mark
      indexMarks[id].sums = entry.definition.source.extraction?.kind?.radix
    }
  }

  /// Marks the indexes whose trees do not match their definitions.
  mutating func markUnavailable(_ ids: Set<UInt32>) {
    for id in 0..<indexCount { indexMarks[id].isUnavailable = ids.contains(UInt32(id)) }
  }

  /// A copy of the root in which every tree that may have nodes in a file is empty, but keeps its
  /// count. The file counts as damaged then (`Engine.protect`), so reads of these trees throw (FN3
  /// in FileNodes.swift).
  static func withoutNodes(_ root: UnsafeMutablePointer<Root>) -> UnsafeMutablePointer<Root> {
    let (keyspaceCount, indexCount) = (root.pointee.keyspaceCount, root.pointee.indexCount)
    let bare = allocate(keyspaceCount: keyspaceCount, indexCount: indexCount)
    bare.pointee.version = root.pointee.version
    bare.pointee.sequence = root.pointee.sequence
    bare.pointee.end = root.pointee.end
    bare.pointee.segments = root.pointee.segments
    for id in 0..<keyspaceCount {
      bare.pointee.keyspaces[id] = root.pointee.keyspaces[id]
      bare.pointee.keyspaces[id].dense.releaseNodes()
      bare.pointee.keyspaces[id].ordered.releaseNodes()
    }
    for id in 0..<indexCount {
      bare.pointee.indexMarks[id] = root.pointee.indexMarks[id]
      bare.pointee.indexes[id] = root.pointee.indexes[id]
      bare.pointee.indexes[id].releaseNodes()
    }
    return bare
  }

  /// The root of snapshots that are not in use. Snapshot+Reuse.swift, SR3
  // `nonisolated(unsafe)` is correct here: the root is never changed or freed.
  nonisolated(unsafe) static let none = allocate(keyspaceCount: 0, indexCount: 0)

  static func free(_ root: UnsafeMutablePointer<Root>) { UnsafeMutableRawPointer(root).deallocate() }
}

extension UnsafeMutablePointer<Root> {
  /// The tree of an index; empty if the index is newer than this root.
  func tree(of index: DerivedIndex) -> OrderedTree {
    Int(index.id) < pointee.indexCount ? pointee.indexes[Int(index.id)] : OrderedTree()
  }

  /// The trees of a keyspace; empty if the keyspace is newer than this root.
  func trees(of keyspace: Keyspace) -> KeyspaceRoot {
    Int(keyspace.id) < pointee.keyspaceCount ? pointee.keyspaces[Int(keyspace.id)] : KeyspaceRoot()
  }
}

/// A root's data about a derived index.
struct IndexMark {
  /// The mark that handles of the index must have; 0 if the index was removed.
  var mark: UInt64 = 0
  /// The radix of its sums, if it has sums.
  var sums: ExactSum.Radix?
  /// Whether it was not maintained when the root was made.
  var isUnavailable = false
}

/// The trees of one keyspace. The keyspace's kind determines which tree is used.
struct KeyspaceRoot {
  /// The mark of the keyspace, in a root that readers see.
  var mark: UInt64 = 0
  var dense = DenseTable()
  var ordered = OrderedTree()

  func word(for key: UnsafeRawBufferPointer, _ kind: KeyspaceKind) -> UInt64? {
    switch kind {
    case .dense: dense.get(key.integer(at: 0))
    case .bytes: ordered.get(key)
    }
  }

  mutating func put(_ key: UnsafeRawBufferPointer, _ kind: KeyspaceKind, _ word: UInt64, in arena: NodeArena)
    -> UInt64?
  {
    switch kind {
    case .dense: dense.put(key.integer(at: 0), word, in: arena)
    case .bytes: ordered.put(key, word, in: arena)
    }
  }

  mutating func remove(_ key: UnsafeRawBufferPointer, _ kind: KeyspaceKind, in arena: NodeArena) -> UInt64? {
    switch kind {
    case .dense: dense.remove(key.integer(at: 0), in: arena)
    case .bytes: ordered.remove(key, in: arena)
    }
  }

  func count(_ kind: KeyspaceKind) -> Int {
    switch kind {
    case .dense: dense.count
    case .bytes: ordered.count
    }
  }
}

extension Root {
  /// Whether all entries equal the entries of another root. Debug builds use it to check RC2. For
  /// long roots it returns true without a comparison, because comparing takes time for each entry.
  func hasEntries(of other: borrowing Root) -> Bool {
    if keyspaceCount != other.keyspaceCount || indexCount != other.indexCount { return false }
    if keyspaceCount + indexCount > 1 << 10 { return true }
    return (0..<keyspaceCount).allSatisfy { keyspaces[$0].isIdentical(to: other.keyspaces[$0]) }
      && (0..<indexCount).allSatisfy { indexes[$0].isIdentical(to: other.indexes[$0]) }
  }
}

extension KeyspaceRoot {
  fileprivate func isIdentical(to other: KeyspaceRoot) -> Bool {
    mark == other.mark && ordered.isIdentical(to: other.ordered) && dense.root == other.dense.root
      && dense.height == other.dense.height && dense.count == other.dense.count
  }
}

extension OrderedTree {
  fileprivate func isIdentical(to other: OrderedTree) -> Bool {
    root == other.root && height == other.height && count == other.count
  }
}
