import PerdureFormat
import PerdureNumbers

/// Everything a reader needs to see one state of the store: an immutable block of plain words.
///
/// The writer makes one for each commit; readers reach it through a pin (`PinTable`). Freeing
/// follows the rule of `NodeArena`: a root is freed when it is no longer the newest, and no pin
/// holds it.
///
/// It is read in place, field by field, and never copied as a whole: the committer writes a field
/// of its own while readers read the others.
struct Root: ~Copyable {
  /// The arena's version that this root was published with.
  var version: UInt64
  /// The last commit that it holds.
  var sequence: UInt64
  /// When a newer root took its place; 0 while it is the newest. The committer's; readers do not
  /// look at it.
  var replacedNanoseconds: UInt64 = 0
  /// The end of the log at that time.
  var end: LogPosition
  var segments: UnsafeMutablePointer<SegmentTable.Entry>
  var keyspaceCount: Int
  /// By keyspace id.
  var keyspaces: UnsafeMutablePointer<KeyspaceRoot>
  var indexCount: Int
  /// By index id.
  var indexes: UnsafeMutablePointer<OrderedTree>
  /// By index id: read before a tree is used.
  var indexMarks: UnsafeMutablePointer<IndexMark>

  /// A root with empty trees, in one block of memory: every commit makes one.
  static func allocate(keyspaceCount: Int, indexCount: Int) -> UnsafeMutablePointer<Root> {
    let keyspacesOffset = MemoryLayout<Root>.stride
    let indexesOffset = keyspacesOffset + keyspaceCount * MemoryLayout<KeyspaceRoot>.stride
    let marksOffset = indexesOffset + indexCount * MemoryLayout<OrderedTree>.stride
    let block = UnsafeMutableRawPointer.allocate(
      byteCount: marksOffset + indexCount * MemoryLayout<IndexMark>.stride, alignment: 16)
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
        keyspaces: keyspaces, indexCount: indexCount, indexes: indexes, indexMarks: indexMarks))
  }

  /// Takes the marks of the catalog's keyspaces from this number on, and of its indexes, which may
  /// be removed and defined again.
  mutating func mark(_ catalog: Catalog, keyspacesFrom firstKeyspace: Int = 0) {
    for id in firstKeyspace..<keyspaceCount { keyspaces[id].mark = catalog.keyspaces[id].mark }
    for id in 0..<indexCount {
      let entry = catalog.indexes[id]
      indexMarks[id].mark = entry.index.mark
      indexMarks[id].sums = entry.definition.source.extraction?.kind?.radix
    }
  }

  /// Takes note of the indexes whose trees are not what their definitions give.
  mutating func markUnavailable(_ ids: Set<UInt32>) {
    for id in 0..<indexCount { indexMarks[id].isUnavailable = ids.contains(UInt32(id)) }
  }

  /// The same root. Trees that led into a file lead nowhere; their counts stay. After a walk, the
  /// caller checks whether the file is damaged (FN3 in FileNodes.swift).
  static func withoutNodes(_ root: UnsafeMutablePointer<Root>) -> UnsafeMutablePointer<Root> {
    let (keyspaceCount, indexCount) = (root.pointee.keyspaceCount, root.pointee.indexCount)
    let bare = allocate(keyspaceCount: keyspaceCount, indexCount: indexCount)
    bare.pointee.version = root.pointee.version
    bare.pointee.sequence = root.pointee.sequence
    bare.pointee.end = root.pointee.end
    bare.pointee.segments = root.pointee.segments
    for id in 0..<keyspaceCount {
      bare.pointee.keyspaces[id] = root.pointee.keyspaces[id]
      bare.pointee.keyspaces[id].dense.letGoOfNodes()
      bare.pointee.keyspaces[id].ordered.letGoOfNodes()
    }
    for id in 0..<indexCount {
      bare.pointee.indexMarks[id] = root.pointee.indexMarks[id]
      bare.pointee.indexes[id] = root.pointee.indexes[id]
      bare.pointee.indexes[id].letGoOfNodes()
    }
    return bare
  }

  static func free(_ root: UnsafeMutablePointer<Root>) { UnsafeMutableRawPointer(root).deallocate() }
}

extension UnsafeMutablePointer<Root> {
  /// The tree of an index; empty if the index came later than this root.
  func tree(of index: DerivedIndex) -> OrderedTree {
    Int(index.id) < pointee.indexCount ? pointee.indexes[Int(index.id)] : OrderedTree()
  }

  /// The index of a keyspace; empty if the keyspace came later than this root.
  func trees(of keyspace: Keyspace) -> KeyspaceRoot {
    Int(keyspace.id) < pointee.keyspaceCount ? pointee.keyspaces[Int(keyspace.id)] : KeyspaceRoot()
  }
}

/// A root's data about a derived index.
struct IndexMark {
  /// That of the handles that readers may name it by; 0 if it was removed.
  var mark: UInt64 = 0
  /// The radix of its sums, if it has sums.
  var sums: ExactSum.Radix?
  /// Whether it was not maintained when the root was made.
  var isUnavailable = false
}

/// The index of one keyspace; which of the two is used follows from the keyspace's kind.
struct KeyspaceRoot {
  /// That of the keyspace, in a root that readers see.
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
