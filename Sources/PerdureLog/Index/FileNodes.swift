import PerdureFileIO
import PerdureFormat
import Synchronization

// Nodes in a mapped index file, each checked at its first use.
//
// The cost of opening must not depend on the length of the index, so opening reads only the root
// block. Code that moves from a node to a child calls this type. A bit for each unit of the file
// records that the node there was checked. The check needs the parent's data about the child
// (level, entries, tag: CountWord.swift). So a tree is bound to its root block node by node, and an
// unchecked node is never read.
//
// Code that walks trees cannot throw errors, and a damaged node must not cause a wrong result. So
// damage is recorded for the whole file before the walk continues. The walk gets a substitute: a
// node in memory that can be walked and changed safely, and whose children are also substitutes.
// After a walk the caller checks `isDamaged` before it uses the result.
//
// Invariants
//  FN1  A node in the file is read only after it was checked. The nodes on the path to it were
//       checked before, or are in memory and have replaced checked nodes.
//  FN2  `isDamaged` is set before a substitute is returned, and stays set.
//  FN3  `isDamaged` is read after each walk. Before that, no result of the walk leaves the engine,
//       is written to a file or is published.
//
// Any thread may call these functions. Two threads that check the same node get the same result.

/// The mapped index file that may contain nodes of a tree; or no file.
///
/// The value is only a pointer, so that trees stay plain values. The `MappedNodes` to which it
/// points must live as long as the pointer is used.
// Unchecked, because of the pointer: its target is constant or atomic.
struct FileNodes: @unchecked Sendable {
  /// The value for trees that have no node in a file.
  static let none = FileNodes(nil)

  private let checks: UnsafePointer<NodeChecks>?

  fileprivate init(_ checks: UnsafePointer<NodeChecks>?) { self.checks = checks }

  /// Whether nodes may be in a mapped file.
  var hasFile: Bool { checks != nil }

  /// Whether a node's address is in the file; its content is not checked.
  @inline(__always)
  func contains(_ node: UnsafeMutableRawPointer) -> Bool {
    guard let checks else { return false }
    return UInt(bitPattern: node) &- checks.pointee.start < checks.pointee.byteCount
  }

  /// Whether a walk reached a node that failed its check (FN2), or `noteDamage` was called.
  @inline(__always)
  var isDamaged: Bool {
    guard let checks else { return false }
    return checks.pointee.isDamaged
  }

  /// Whether a child of an ordered node may be read without a check, because it is in memory or was
  /// checked before. Prefetching uses this: it must not report damage in nodes that no read needs.
  /// FN1
  @inline(__always)
  func isKnown(_ child: UnsafeMutableRawPointer, of parent: OrderedNode) -> Bool {
    guard let checks, contains(child) else { return true }
    return checks.pointee.isChecked(child, as: .orderedNode, level: parent.level &- 1)
  }

  /// A child of an ordered node, checked if it is in the file. FN1
  @inline(__always)
  func checked(
    _ child: UnsafeMutableRawPointer, at index: Int, of parent: OrderedNode
  ) -> UnsafeMutableRawPointer {
    guard let checks, contains(child) else { return child }
    let level = parent.level &- 1
    if checks.pointee.isChecked(child, as: .orderedNode, level: level) { return child }
    let expected = ExpectedNode(level: level, below: parent.countWord(index))
    return checks.pointee.check(child, .orderedNode, expected)
  }

  /// A child of a dense node, checked if it is in the file. FN1
  @inline(__always)
  func checked(
    _ child: UnsafeMutableRawPointer, at slot: Int, of parent: DenseNode
  ) -> UnsafeMutableRawPointer {
    guard let checks, contains(child) else { return child }
    let level = parent.level &- 1
    let nodeClass: NodeClass = level == 0 ? .denseLeaf : .denseInner
    if checks.pointee.isChecked(child, as: nodeClass, level: level) { return child }
    let expected = ExpectedNode(level: level, below: parent.countWord(slot))
    return checks.pointee.check(child, nodeClass, expected)
  }

  /// The root of a tree in the file, after its check; nil for an empty tree.
  ///
  /// - Throws: `FormatError` if the root is damaged or differs from the image. In that case no
  ///   damage is recorded.
  fileprivate func root(
    _ image: TreeImage, _ nodeClass: NodeClass, heightLimit: Int
  ) throws(FormatError) -> UnsafeMutableRawPointer? {
    guard let checks, let expected = try ExpectedNode(root: image, heightLimit: heightLimit) else {
      return nil
    }
    return try checks.pointee.root(at: image.slot, nodeClass, expected)
  }

  /// The slot of a node in the file.
  func slot(of node: UnsafeMutableRawPointer) -> NodeSlot {
    guard let checks else { return .none }
    let unit = (UInt(bitPattern: node) &- checks.pointee.start) / UInt(NodeSlot.unitByteCount)
    return NodeSlot(number: UInt32(truncatingIfNeeded: unit))
  }

  /// The tag of a checked node in the file.
  func tag(of node: UnsafeMutableRawPointer) -> UInt32 {
    CountWord.tag(of: NodeHeader(node).fileChecksum)
  }
}

extension OrderedTree {
  /// The tree that an image describes. Its nodes stay in the file.
  ///
  /// - Throws: `FormatError` if the root is damaged or differs from the image.
  init(_ image: TreeImage, in file: FileNodes) throws(FormatError) {
    let root = try file.root(image, .orderedNode, heightLimit: Self.heightLimit)
    self.init(root: root, height: image.height, count: image.count, file: file)
  }
}

extension DenseTable {
  /// The table that an image describes. Its nodes stay in the file.
  ///
  /// - Throws: `FormatError` if the root is damaged or differs from the image.
  init(_ image: TreeImage, in file: FileNodes) throws(FormatError) {
    let nodeClass: NodeClass = image.height == 1 ? .denseLeaf : .denseInner
    let root = try file.root(image, nodeClass, heightLimit: Self.heightLimit)
    self.init(root: root, height: image.height, count: image.count, file: file)
  }
}

/// Records which nodes of one mapped file were checked, and whether a check failed.
private struct NodeChecks: ~Copyable {
  let start: UInt
  let byteCount: UInt
  private let check: NodeCheck
  /// One bit for each unit: whether the node that begins there was checked. Trees of record
  /// addresses and trees of derived indexes have separate bits.
  private let bits: UnsafeMutablePointer<Atomic<UInt64>>
  // `unowned(unsafe)` is correct here: `MappedNodes` owns both this value and the damage.
  private unowned(unsafe) let damage: NodeDamage
  private let damageFlag: UnsafeMutablePointer<Atomic<Bool>>

  init(
    _ check: NodeCheck, _ bits: UnsafeMutablePointer<Atomic<UInt64>>, _ damage: NodeDamage,
    _ damageFlag: UnsafeMutablePointer<Atomic<Bool>>
  ) {
    self.check = check
    self.bits = bits
    self.damage = damage
    self.damageFlag = damageFlag
    start = UInt(bitPattern: check.file.baseAddress)
    byteCount = UInt(check.file.count)
  }

  @inline(__always)
  var isDamaged: Bool { damageFlag.pointee.load(ordering: .acquiring) }

  @inline(__always)
  private func unit(of node: UnsafeMutableRawPointer) -> UInt {
    (UInt(bitPattern: node) &- start) / UInt(NodeSlot.unitByteCount)
  }

  /// Whether a node was checked and has this class and level. In a forged file two parents may have
  /// the same child, so the class and the level are compared each time.
  @inline(__always)
  func isChecked(_ node: UnsafeMutableRawPointer, as nodeClass: NodeClass, level: Int) -> Bool {
    let unit = unit(of: node)
    guard bits[Int(bitPattern: unit &>> 6)].load(ordering: .relaxed) &>> UInt64(unit & 63) & 1 == 1 else {
      return false
    }
    return NodeHeader(node).levelAndClass == NodeHeader.levelAndClass(nodeClass, level: level)
  }

  /// Returns the node, or a substitute if the node fails its check. FN2
  @inline(never)
  func check(
    _ node: UnsafeMutableRawPointer, _ nodeClass: NodeClass, _ expected: ExpectedNode
  ) -> UnsafeMutableRawPointer {
    let offset = Int(bitPattern: UInt(bitPattern: node) &- start)
    do throws(FormatError) {
      try check.node(at: offset, nodeClass, expected)
    } catch {
      let substitute = damage.substitute(for: nodeClass, level: expected.level, error)
      damageFlag.pointee.store(true, ordering: .releasing)
      return substitute
    }
    note(node)
    return node
  }

  func root(
    at slot: NodeSlot, _ nodeClass: NodeClass, _ expected: ExpectedNode
  ) throws(FormatError) -> UnsafeMutableRawPointer {
    try check.node(at: slot.offset, nodeClass, expected)
    let start = UnsafeMutableRawPointer(mutating: check.file.baseAddress.unsafelyUnwrapped)
    note(start + slot.offset)
    return start + slot.offset
  }

  private func note(_ node: UnsafeMutableRawPointer) {
    let unit = unit(of: node)
    bits[Int(bitPattern: unit &>> 6)].bitwiseOr(1 &<< UInt64(unit & 63), ordering: .relaxed)
  }
}

/// The nodes of one mapped index file, retained while trees in it are walked.
// Unchecked, because of the pointers: their targets are allocated in init, freed in deinit, and
// atomic.
final class MappedNodes: @unchecked Sendable {
  /// The nodes of trees whose entries are addresses of records.
  let records: FileNodes
  /// The nodes of trees of derived indexes.
  let entries: FileNodes
  let damage = NodeDamage()
  let file: UnsafeRawBufferPointer
  let lastSegment: UInt64
  private let checks: UnsafeMutablePointer<NodeChecks>
  /// Reserved zeroed memory for the bits. Only touched pages use memory. The file can be much
  /// longer than its used part.
  private let bits: ReservedMemory
  private let bitWordCount: Int
  private let damageFlag: UnsafeMutablePointer<Atomic<Bool>>

  /// - Parameter file: The mapped file. It must outlive this object.
  /// - Parameter lastSegment: The last segment of the log. No entry is the address of a record in a
  ///   later segment.
  /// - Throws: `FileIOError` with code `.outOfMemory`.
  init(
    _ file: UnsafeRawBufferPointer, lastSegment: UInt64, verifiesChecksums: Bool = true
  ) throws(FileIOError) {
    self.file = file
    self.lastSegment = lastSegment
    bitWordCount = file.count / NodeSlot.unitByteCount / 64 + 1
    self.bits = try ReservedMemory(
      byteCount: 2 * bitWordCount * MemoryLayout<Atomic<UInt64>>.stride, for: "checks of the index")
    let bits = self.bits.base.bindMemory(to: Atomic<UInt64>.self, capacity: 2 * bitWordCount)
    damageFlag = .allocate(capacity: 1)
    damageFlag.initialize(to: Atomic(false))
    checks = .allocate(capacity: 2)
    let toRecords = NodeCheck(
      file: file, lastSegment: lastSegment, verifiesChecksum: verifiesChecksums)
    let toEntries = NodeCheck(file: file, lastSegment: nil, verifiesChecksum: verifiesChecksums)
    checks.initialize(to: NodeChecks(toRecords, bits, damage, damageFlag))
    (checks + 1).initialize(to: NodeChecks(toEntries, bits + bitWordCount, damage, damageFlag))
    records = FileNodes(checks)
    entries = FileNodes(checks + 1)
  }

  deinit {
    checks.deinitialize(count: 2)
    checks.deallocate()
    damageFlag.deinitialize(count: 1)
    damageFlag.deallocate()
  }

  var isDamaged: Bool { records.isDamaged }

  /// The number of nodes that passed their check, including the roots. O(n) for a file of n units.
  var readNodeCount: Int {
    let words = UnsafeBufferPointer(
      start: bits.base.assumingMemoryBound(to: Atomic<UInt64>.self), count: 2 * bitWordCount)
    return words.indices.reduce(0) { $0 + words[$1].load(ordering: .relaxed).nonzeroBitCount }
  }

  /// Records an error that no walk has found: damage, or the fact that another writer may own the
  /// file (`Engine.outdated`).
  func noteDamage(_ error: FormatError) {
    damage.note(error)
    damageFlag.pointee.store(true, ordering: .releasing)
  }
}

/// The damage found in a mapped index file, and the substitutes for damaged nodes.
// Unchecked: `first` and `substitutes` are guarded by the lock.
final class NodeDamage: @unchecked Sendable {
  private let lock = Lock()
  private var first: FormatError?
  private var substitutes: SubstituteNodes?

  /// The first error found.
  var error: FormatError? { lock.withLock { first } }

  func note(_ error: FormatError) { lock.withLock { if first == nil { first = error } } }

  fileprivate func substitute(
    for nodeClass: NodeClass, level: Int, _ error: FormatError
  ) -> UnsafeMutableRawPointer {
    note(error)
    return lock.withLock {
      let all = substitutes ?? SubstituteNodes()
      substitutes = all
      return all.node(nodeClass, level: level)
    }
  }
}
