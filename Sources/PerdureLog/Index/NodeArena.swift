// Allocates the memory of the index structures, and decides when it may be used again.
//
// One writer builds successive versions of a set of copy-on-write trees. Any number of readers walk
// published versions without a lock. A root is a plain value. A version is the set of roots that
// the writer published together. The arena does not know the readers: the engine passes it the
// pinned versions.
//
// Invariants
//  NA1  The header of every node has the node's stamp: the version that created the node. A stamp
//       is never greater than workingVersion.
//  NA2  A node with stamp < workingVersion is published and is never written again. `writable`
//       returns the node itself if stamp == workingVersion. Otherwise it retires the node and
//       returns a copy.
//  NA3  A node with stamp s that was retired while version v was built is reachable only from roots
//       of the versions s ..< v. A node in the index file is reachable only from roots of versions
//       before v. The node may be freed when none of these versions is pinned, and the published
//       version is >= v. The published version is workingVersion - 1, so nodes retired by the
//       working version are never freed. A node that a pinned version retains is listed under that
//       version (`HeldBack`).
//  NA4  Nodes are retired at most once, by the version whose roots no longer reach them.
//  NA5  Abandoning the working version frees every node with stamp == workingVersion and restores
//       the nodes it retired. The caller returns to the published roots.
//
//  NA6  A published node has a slot if and only if the index file contains the node or a copy of
//       it. Freeing the node also frees its slot. The writer of the file decides when the slot is
//       used again.
//
// Pins must be visible to the engine before the reader uses a root: `PinTable`, PT2.
//
// Memory: nodes have three fixed sizes. They come from slabs of 1 MiB, with one free list for each
// size. Blocks (long keys) are allocated one by one. Slabs are kept until the arena is deallocated.
//
// Concurrency: only the writer calls the methods. Readers hold roots, and the owner of the roots
// must keep the arena alive.

/// The allocator of index nodes.
final class NodeArena {
  static let slabByteCount = 1 << 20

  /// The version being built. The first is 1; version 0 is the empty store.
  private(set) var workingVersion: UInt64 = 1

  /// The number of bytes of all nodes and blocks that are not free, including the retired ones.
  private(set) var liveByteCount = 0

  /// The part of `liveByteCount` that is retired and not yet freed.
  private(set) var retiredByteCount = 0

  /// The part of `retiredByteCount` whose nodes were not yet checked against the pins.
  private(set) var uncheckedByteCount = 0

  /// The number of bytes allocated from the system, as slabs and blocks.
  private(set) var reservedByteCount = 0

  /// Working memory of the single writer, so that no operation allocates temporary memory.
  let scratch = NodeScratch()

  private let slabs: UnsafeMutablePointer<SlabState>
  private var slabBases = PointerStack(capacity: 16)
  // The compiler's check of exclusivity is off, because in a commit it takes longer than the work
  // here. While one of these properties is changed, no function calls the arena again.
  @exclusivity(unchecked) private var created = PointerStack(capacity: 256)
  @exclusivity(unchecked) private var retired = RetiredQueue(capacity: 256)
  /// Retired nodes that a pinned version reaches. NA3
  private var held = HeldBack<RetiredQueue.Element>()
  private var firstBlock: UnsafeMutableRawPointer?
  private var freedSlots: [FreedSlot] = []

  init() {
    slabs = .allocate(capacity: NodeClass.slabCount)
    slabs.initialize(repeating: SlabState(), count: NodeClass.slabCount)
  }

  deinit {
    while let block = firstBlock {
      firstBlock = BlockView(block).next
      (block - BlockView.linksByteCount).deallocate()
    }
    for index in 0..<slabBases.count { slabBases[index].deallocate() }
    slabs.deallocate()
    scratch.deallocate()
  }

  /// The newest version whose roots readers may use.
  var publishedVersion: UInt64 { workingVersion - 1 }

  /// The number of retired nodes and blocks that are not yet freed.
  var retiredCount: Int { retired.count + held.count }

  /// Whether NA1 is true for a node that the working version reaches.
  func isStampValid(of header: NodeHeader) -> Bool {
    header.isInFile || (1...workingVersion).contains(header.stamp)
  }

  /// Returns the slots that were freed since the last call. NA6
  func takeFreedSlots() -> [FreedSlot] {
    defer { freedSlots = [] }
    return freedSlots
  }

  /// Clears the slots of retired nodes when a new index file is begun: in the new file, they have
  /// no slots to free. The checkpoint writer assigns new slots to the nodes of the published
  /// version. NA6
  func forgetSlots() {
    freedSlots = []
    let forget = { (element: RetiredQueue.Element) in
      let header = NodeHeader(element.node)
      if !header.isInFile { header.slot = .none }
    }
    retired.forEach(forget)
    held.forEach(forget)
  }

  /// The number of nodes and blocks that the working version has created so far.
  var createdCount: Int { created.count }
}

/// The free memory for nodes of one size.
private struct SlabState {
  /// The first freed node. The first word of a freed node is the address of the next one.
  var firstFree: UnsafeMutableRawPointer?
  var nextUnused: UnsafeMutableRawPointer?
  var unusedCount = 0
}

// MARK: - Allocation

extension NodeArena {
  /// Allocates a node of the working version. The bytes after its header are not initialised.
  func allocate(_ nodeClass: NodeClass, level: Int) -> UnsafeMutableRawPointer {
    let byteCount = nodeClass.byteCount
    let node = takeSlot(in: slabs + Int(nodeClass.rawValue), byteCount: byteCount)
    liveByteCount &+= byteCount
    let header = NodeHeader(node)
    header.level = level
    header.nodeClass = nodeClass
    noteCreated(header)
    return node
  }

  /// Allocates a block of the working version that contains a copy of `bytes`.
  func allocateBlock(copying bytes: UnsafeRawBufferPointer) -> UnsafeMutableRawPointer {
    let total = BlockView.linksByteCount + BlockView.bytesOffset + bytes.count
    let memory = UnsafeMutableRawPointer.allocate(byteCount: total, alignment: 8)
    let block = BlockView(memory + BlockView.linksByteCount)
    block.length = bytes.count
    if let source = bytes.baseAddress, bytes.count > 0 {
      (block.base + BlockView.bytesOffset).copyMemory(from: source, byteCount: bytes.count)
    }
    link(block)
    liveByteCount += total
    reservedByteCount += total
    let header = NodeHeader(block.base)
    header.level = 0
    header.nodeClass = .block
    noteCreated(header)
    return block.base
  }

  /// Returns `node` itself if the working version created it. Otherwise returns a copy, and retires
  /// the original. NA2
  @inline(__always)
  func writable(_ node: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    NodeHeader(node).stamp == workingVersion ? node : copy(node)
  }

  /// Removes `node` from the working version. Frees it immediately if this version created it;
  /// otherwise retires it.
  func discard(_ node: UnsafeMutableRawPointer) {
    let header = NodeHeader(node)
    if header.stamp == workingVersion {
      forgetCreated(header)
      freeMemory(of: node)
    } else {
      retire(header, byteCount: memoryByteCount(of: node))
    }
  }

  @inline(never)
  private func copy(_ node: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    let header = NodeHeader(node)
    let nodeClass = header.nodeClass
    precondition(nodeClass != .block, "a block must not be written")
    let byteCount = nodeClass.byteCount
    let result = takeSlot(in: slabs + Int(nodeClass.rawValue), byteCount: byteCount)
    liveByteCount &+= byteCount
    // Level, class and the owner's field stay unchanged.
    result.copyMemory(from: node, byteCount: byteCount)
    noteCreated(NodeHeader(result))
    switch nodeClass {
    case .orderedNode: OrderedNode(result).rebase(from: node)
    case .denseInner: DenseNode(result).rebase(from: node)
    case .denseLeaf, .block: break
    }
    retire(header, byteCount: header.isInFile ? 0 : byteCount)
    return result
  }

  @inline(__always)
  private func takeSlot(in slab: UnsafeMutablePointer<SlabState>, byteCount: Int) -> UnsafeMutableRawPointer {
    if let node = slab.pointee.firstFree {
      slab.pointee.firstFree = node.load(as: UnsafeMutableRawPointer?.self)
      return node
    }
    if slab.pointee.unusedCount == 0 { addSlab(to: slab, byteCount: byteCount) }
    let node = slab.pointee.nextUnused.unsafelyUnwrapped
    slab.pointee.unusedCount &-= 1
    slab.pointee.nextUnused = node + byteCount
    return node
  }

  private func addSlab(to slab: UnsafeMutablePointer<SlabState>, byteCount: Int) {
    let base = UnsafeMutableRawPointer.allocate(byteCount: Self.slabByteCount, alignment: 64)
    slabBases.push(base)
    reservedByteCount += Self.slabByteCount
    slab.pointee.nextUnused = base
    slab.pointee.unusedCount = Self.slabByteCount / byteCount
  }

  @inline(__always)
  private func noteCreated(_ header: NodeHeader) {
    header.stamp = workingVersion
    header.createdIndex = created.count
    created.push(header.base)
  }

  private func forgetCreated(_ header: NodeHeader) {
    let index = header.createdIndex
    precondition(index < created.count && created[index] == header.base, "NA1: stamp without a creation")
    let last = created.pop()
    guard last != header.base else { return }
    created[index] = last
    NodeHeader(last).createdIndex = index
  }

  /// - Parameter byteCount: The number of bytes that are released when the node is freed.
  @inline(__always)
  private func retire(_ header: NodeHeader, byteCount: Int) {
    precondition(header.isInFile || header.stamp < workingVersion, "NA1: a node that is too new")
    retired.append(header.base, version: workingVersion)
    retiredByteCount &+= byteCount
    uncheckedByteCount &+= byteCount
  }

  /// Frees a published node. NA6
  private func free(_ node: UnsafeMutableRawPointer) {
    let header = NodeHeader(node)
    let slot = header.slot
    if slot != .none {
      let stamp = header.isInFile ? 0 : header.stamp
      let unitCount = NodeSlot.unitCount(header.fileByteCount)
      freedSlots.append(FreedSlot(stamp: stamp, slot: slot, unitCount: unitCount))
    }
    if !header.isInFile { freeMemory(of: node) }
  }

  private func freeMemory(of node: UnsafeMutableRawPointer) {
    let nodeClass = NodeHeader(node).nodeClass
    let byteCount = byteCount(of: node)
    liveByteCount &-= byteCount
    if nodeClass == .block { return freeBlock(BlockView(node), byteCount: byteCount) }
    #if DEBUG
      // Overwrites the node, so that code that still uses it fails immediately.
      node.initializeMemory(as: UInt8.self, repeating: 0xDD, count: byteCount)
    #endif
    let slab = slabs + Int(nodeClass.rawValue)
    node.storeBytes(of: slab.pointee.firstFree, as: UnsafeMutableRawPointer?.self)
    slab.pointee.firstFree = node
  }

  /// The number of bytes that freeing a node returns: 0 if it is in the index file.
  private func memoryByteCount(of node: UnsafeMutableRawPointer) -> Int {
    NodeHeader(node).isInFile ? 0 : byteCount(of: node)
  }

  private func byteCount(of node: UnsafeMutableRawPointer) -> Int {
    let nodeClass = NodeHeader(node).nodeClass
    return nodeClass == .block ? BlockView(node).totalByteCount : nodeClass.byteCount
  }

  private func link(_ block: BlockView) {
    block.previous = nil
    block.next = firstBlock
    if let first = firstBlock { BlockView(first).previous = block.base }
    firstBlock = block.base
  }

  private func freeBlock(_ block: BlockView, byteCount: Int) {
    if let next = block.next { BlockView(next).previous = block.previous }
    if let previous = block.previous {
      BlockView(previous).next = block.next
    } else {
      firstBlock = block.next
    }
    reservedByteCount -= byteCount
    (block.base - BlockView.linksByteCount).deallocate()
  }
}

// MARK: - Versions

extension NodeArena {
  /// Ends the working version: its nodes become read-only, and the next version begins.
  ///
  /// - Returns: The version that is now published. The caller makes its roots visible to readers
  ///   after this call.
  @discardableResult
  func publish() -> UInt64 {
    for index in 0..<created.count { NodeHeader(created[index]).slot = .none }
    created.removeAll()
    workingVersion += 1
    return publishedVersion
  }

  /// Abandons the working version: its nodes are freed, and the nodes it retired are in use again.
  /// The caller returns to the roots it had published. NA5
  func abandon() {
    while created.count > 0 { freeMemory(of: created.pop()) }
    while let element = retired.last, element.version == workingVersion {
      retired.removeLast()
      let byteCount = memoryByteCount(of: element.node)
      retiredByteCount -= byteCount
      uncheckedByteCount -= byteCount
    }
  }

  /// Frees every retired node that no root of version `oldestPinnedVersion` or later reaches. NA3
  ///
  /// - Parameter oldestPinnedVersion: The lowest of the pinned versions and the published version.
  /// - Returns: The number of nodes and blocks that were freed.
  @discardableResult
  func reclaim(oldestPinnedVersion: UInt64) -> Int {
    reclaim(PinnedVersions(unsettledFrom: oldestPinnedVersion))
  }

  /// Frees every retired node that neither the published version nor a pinned version reaches. NA3
  ///
  /// - Returns: The number of nodes and blocks that were freed.
  /// - Complexity: O(k log n) for n pinned versions, and k nodes that were retired since the last
  ///   call or whose retaining version was released since then.
  @discardableResult
  func reclaim(_ pinned: PinnedVersions) -> Int {
    let end = pinned.settledEnd(published: publishedVersion)
    precondition(
      (pinned.unsettledFrom ?? 0) < workingVersion, "NA3: a pin cannot be newer than the published version")
    var freedCount = 0
    if !held.isEmpty {
      for element in held.takeUnheld(pinned) {
        if retire(element, byteCount: memoryByteCount(of: element.node), pinned) { freedCount += 1 }
      }
    }
    while let element = retired.first, element.version <= end {
      retired.removeFirst()
      let byteCount = memoryByteCount(of: element.node)
      uncheckedByteCount -= byteCount
      if retire(element, byteCount: byteCount, pinned) { freedCount += 1 }
    }
    return freedCount
  }

  /// Frees a retired node, or lists it under the pinned version that reaches it.
  private func retire(_ element: RetiredQueue.Element, byteCount: Int, _ pinned: PinnedVersions) -> Bool {
    let header = NodeHeader(element.node)
    let born = header.isInFile ? 0 : header.stamp
    if !pinned.exact.isEmpty, let holder = pinned.newest(from: born, before: element.version) {
      held.file(element, under: holder)
      return false
    }
    retiredByteCount -= byteCount
    free(element.node)
    return true
  }
}
