// Objects that were returned together, and the rows that are read together for them.
//
// After one object of a relationship or of a fetch result, a program probably uses the next one. So
// a fault that fires reads the rows of its whole block: the siblings in the same part of the group.
// A loop over n objects, in any order, costs one request for each block, not one for each object.
//
// There are four kinds of group:
//
//   walk         the objects of an iteration over a to-many relationship. The context finds the
//                group while it is one of the last walks (SiblingGroups.swift).
//   result       the result of a fetch. The context finds the group while one of its instances
//                exists.
//   targets      the objects at the other ends of a relationship of a block of siblings
//                (SiblingRelation.swift). The context finds the group as it finds a result.
//   neighbours   the objects with adjacent ids (Neighbourhoods.swift). The context finds the group
//                as it finds a result.
//
// Rows are also read for siblings without an instance. Such a sibling gets a header with its row.
// The header waits until an instance is made from it. A walk frees its waiting headers when it
// reaches another block, and each group frees them in its deinit. Several siblings may have the
// same target, and the program may retain no reference to it in between. So when the instance of a
// target is freed, its header waits again, and its row is not read again.
//
// A relation retains its targets, and these retain relations of their own. While the program
// retains an object of the first group, a walk along a list adds a group to this chain with each
// step. So each group has its distance (`depth`) from the walk or fetch at the beginning of its
// chain. Objects at a distance above `depthMax` are read one by one.
//
// Invariants
//   GS1. A header in `waiting[i]` has the reference at the position `base + i`. No instance has
//        been made from it, and the group frees it.
//   GS2. The row of a waiting header was current at the header's epoch. If the header is taken in
//        another epoch, its row is dropped.
//   GS3. The header of each instance retains its group once, unless the group is a walk.
//   GS4. A chain of groups that retain each other has at most the length `depthMax`, or that of a
//        prefetched path. So memory, and the stack depth when the chain is freed, do not grow with
//        the steps of a walk.

internal import PerdurePredicates

final class SiblingGroup {
  enum Kind { case walk, result, targets, neighbours }

  /// The number of siblings in a block, by default.
  static let blockCount = 64
  /// The maximum size of a row that is read together with others. Larger rows are read one at a
  /// time.
  static let rowByteCountMax = 4096
  /// The maximum distance from a walk or fetch, in relationships, at which siblings are read
  /// together. Prefetched siblings may have a greater distance.
  static let depthMax = 8
  /// A bit in the number of each group that is not a walk.
  static let lastingMark: UInt32 = 1 << 31

  typealias Header = UnsafeMutablePointer<ObjectHeader>

  let kind: Kind
  /// Distinguishes the group from others of its context.
  let number: UInt32
  let references: UnsafeBufferPointer<ObjectReference>
  /// The number of siblings in a block.
  let blockCount: Int
  /// The number of relationships between these objects and a walk or fetch result.
  let depth: Int
  /// The epoch in which the group was made (NB2).
  private let epoch: UInt64
  // The exclusivity of accesses is not checked at run time: the group belongs to one context, and
  // no function here calls code that uses it.

  /// Whether blocks are read. False after a read of a block has failed, or has skipped the row of
  /// the fault because the row is too long.
  @exclusivity(unchecked) var readsBlocks = true
  /// The cached relationships of the siblings.
  @exclusivity(unchecked) var relations = SiblingRelations()
  /// The block of the waiting headers of a walk or a result; -1 if no block was read.
  @exclusivity(unchecked) private var block = -1
  /// The blocks of targets or neighbours that were read.
  @exclusivity(unchecked) private var blocksRead: Set<Int> = []
  @exclusivity(unchecked) private var waiting: UnsafeMutablePointer<Header?>?
  @exclusivity(unchecked) private var waitingCount = 0
  private let memoryOwner: ObjectMemoryOwner
  private let table: LastingGroups?

  /// Whether the headers of all blocks may wait, not only those of one block.
  private var keepsAll: Bool { kind.keepsHeaders }

  /// Whether reads with these siblings are as inefficient as reads of one object. True for
  /// neighbours of an earlier epoch (NB2). Also true for a walk or targets without cached
  /// relationships, if the siblings are few or far from the beginning of their chain (GS4).
  var isNarrow: Bool {
    if kind == .neighbours { return epoch != memoryOwner.memory.pointee.epoch }
    return (kind == .walk || kind == .targets)
      && (references.count < Neighbourhoods.groupCountMin || depth >= Self.depthMax)
      && relations.isEmpty
  }

  /// The capacity of the table of waiting headers.
  private var tableCount: Int { keepsAll ? references.count : min(blockCount, references.count) }

  /// The position of the first reference in the table.
  private var base: Int {
    @inline(__always) get { keepsAll ? 0 : block &* blockCount }
  }

  /// - Parameters:
  ///   - references: At least one reference, without duplicates.
  ///   - table: The context's table of groups that are not walks.
  init(
    _ references: [ObjectReference], _ kind: Kind, number: UInt32, blockCount: Int = SiblingGroup.blockCount,
    depth: Int = 0, in memoryOwner: ObjectMemoryOwner, table: LastingGroups? = nil
  ) {
    self.kind = kind
    self.number = number
    self.blockCount = blockCount
    self.depth = depth
    epoch = memoryOwner.memory.pointee.epoch
    self.memoryOwner = memoryOwner
    self.table = table
    let byteCount = references.count * MemoryLayout<ObjectReference>.stride
    let block = memoryOwner.memory.pointee.allocate(byteCount: byteCount)
      .bindMemory(to: ObjectReference.self, capacity: references.count)
    references.withUnsafeBufferPointer {
      block.update(from: $0.baseAddress.unsafelyUnwrapped, count: $0.count)
    }
    self.references = UnsafeBufferPointer(start: block, count: references.count)
  }

  deinit {
    table?.remove(self)
    let memory = memoryOwner.memory
    if let waiting {
      freeWaiting()
      memory.pointee.deallocate(waiting, byteCount: tableCount * MemoryLayout<Header?>.stride)
    }
    if let base = references.baseAddress {
      memory.pointee.deallocate(
        UnsafeMutableRawPointer(mutating: base),
        byteCount: references.count * MemoryLayout<ObjectReference>.stride)
    }
  }

  /// The positions of a block.
  func positions(ofBlock block: Int) -> Range<Int> {
    let start = block * blockCount
    return start..<min(start + blockCount, references.count)
  }

  // MARK: Waiting headers

  /// The header that waits for the instance at a position. It stays in the table.
  @inline(__always)
  func header(at position: Int) -> Header? {
    let place = position &- base
    guard waitingCount > 0, let waiting, place >= 0, place < tableCount else { return nil }
    return waiting[place]
  }

  /// Removes the header that waits for the instance at a position. The caller then owns it.
  @inline(__always)
  func takeHeader(at position: Int) -> Header? {
    guard let header = header(at: position) else { return nil }
    waiting?[position &- base] = nil
    waitingCount &-= 1
    if !header.pointee.isReady { header.pointee.dropRow() }
    return header
  }

  /// Begins to read a block. A walk or a result frees the waiting headers of its last block.
  ///
  /// - Returns: Whether to read rows of siblings without an instance. False if targets or
  ///   neighbours have read the block before, or if it is the last block that a walk or a result
  ///   has read.
  func begin(block: Int) -> Bool {
    if keepsAll {
      if waiting == nil { makeTable() }
      return blocksRead.insert(block).inserted
    }
    guard self.block != block else { return false }
    freeWaiting()
    self.block = block
    if waiting == nil { makeTable() }
    return true
  }

  private func makeTable() {
    let table = memoryOwner.memory.pointee.allocate(byteCount: tableCount * MemoryLayout<Header?>.stride)
      .bindMemory(to: Header?.self, capacity: tableCount)
    table.initialize(repeating: nil, count: tableCount)
    waiting = table
  }

  /// Adds a header that waits for its instance (GS1).
  func keep(_ header: Header, at position: Int) {
    waiting?[position - base] = header
    waitingCount += 1
  }

  /// Takes the header of an instance that is being freed, for the next instance of the same object.
  ///
  /// - Returns: Whether the group has taken the header. If not, the caller still owns it.
  func reclaimHeader(_ header: Header) -> Bool {
    guard keepsAll else { return false }
    // The program has not read the row of a `hookIsDue` object. So the next instance may use it.
    if header.pointee.row != nil, !header.pointee.isGone, header.pointee.wakefulness.contains(.hookIsDue),
      header.pointee.isCurrent
    {
      header.pointee.epoch = memoryOwner.memory.pointee.epoch
    }
    let position = Int(header.pointee.groupPosition)
    guard header.pointee.canWait, position < references.count,
      references[position] == header.pointee.reference, self.header(at: position) == nil
    else { return false }
    if waiting == nil { makeTable() }
    header.pointee.becomeWaiting()
    keep(header, at: position)
    return true
  }

  private func freeWaiting() {
    guard waitingCount > 0, let waiting else { return }
    for place in 0..<tableCount {
      waiting[place]?.free()
      waiting[place] = nil
    }
    waitingCount = 0
  }
}

extension SiblingGroup.Kind {
  /// Whether the headers of all blocks wait, also those of freed instances.
  var keepsHeaders: Bool { self == .targets || self == .neighbours }
}

extension ObjectHeader {
  /// Whether another instance can use this header: its row is current, and it has no state of this
  /// instance.
  var canWait: Bool {
    row != nil && epoch == memory.pointee.epoch && overlay == nil
      && wakefulness.isDisjoint(with: [.gone, .rewritten])
  }

  /// Resets the state of the instance that is being freed.
  mutating func becomeWaiting() {
    wakefulness = []
    isKept = false
    savedState = nil
    transients = nil
    groupNumber = 0
  }
}
