// Objects that were handed out together, and the rows that are read for them together.
//
// Who touches one object of a relationship, or of what a fetch gave, is likely to touch the next. So a fault that
// fires reads its whole block: the siblings whose positions lie in the same part of the group. A loop over n
// objects, in whatever order it touches them, costs the store one request a block instead of one an object.
//
// There are three kinds of group:
//
//   walk      what an iteration over a to-many relationship hands out; known as long as it is one of the last
//             (SiblingGroups.swift)
//   result    what a fetch gave; known as long as one of its instances is there
//   targets   what a relationship of a block of siblings leads to (SiblingRelation.swift); known likewise
//
// Rows are read for siblings that have no instance yet. They get a header, filled and waiting; whoever hands the
// instance out makes it from that. Headers that nobody came for are freed when a walk has moved on to another
// block, or with the group. Many siblings may lead to one target, which nobody may hold from one to the next: so the
// header of a target goes back to where it waited when its instance is freed, and its row is not read again.
//
// A relation holds its targets, and these hold relations of their own. Who walks along a list would add a group to
// that chain with every step, for as long as somebody holds an object of the first one. So groups know how far they
// are from the walk or the fetch that they began with, and what lies further away than `depthMax` is got one by one.
//
// Invariants
//   G1. `waiting[i]`, if there is one, belongs to the reference in place `base + i`, has no instance that was made of it,
//       and is the group's to free.
//   G2. A waiting row is the view's at the header's epoch. Whoever takes it in another epoch drops the row.
//   G3. A group that is no walk is retained once by each header that has its number and is an instance's.
//   G4. Chains of groups that hold each other are no longer than `depthMax`, or than a path that somebody has
//       prefetched: what is kept, and the depth of the stack when it ends, do not grow with the steps of a walk.

internal import PerdurePredicates

final class SiblingGroup {
  enum Kind { case walk, result, targets }

  /// The number of siblings whose rows are read together, if nobody asks for another.
  static let blockCount = 64
  /// Rows that take more are read one at a time.
  static let rowByteCountMax = 4096
  /// How many relationships away from a walk or a fetch siblings are still got together, unless they are prefetched.
  static let depthMax = 8
  /// In the number of every group that is no walk.
  static let lastingMark: UInt32 = 1 << 31

  typealias Header = UnsafeMutablePointer<ObjectHeader>

  let kind: Kind
  /// Tells the group from others of its context.
  let number: UInt32
  let references: UnsafeBufferPointer<ObjectReference>
  /// The number of siblings in a block.
  let blockCount: Int
  /// How many relationships lie between these objects and a walk, or what a fetch gave.
  let depth: Int
  // Not checked for exclusivity at run time: the group belongs to one context, and no function here calls
  // anything that could come back to it.

  /// Whether it pays to read blocks: not once an object's own row was there and did not come, being too long for it.
  @exclusivity(unchecked) var readsBlocks = true
  /// Where relationships of the siblings lead.
  @exclusivity(unchecked) var relations = SiblingRelations()
  /// The block of the waiting headers of a walk or a result; -1: there are none.
  @exclusivity(unchecked) private var block = -1
  /// The blocks of targets that were read.
  @exclusivity(unchecked) private var blocksRead: Set<Int> = []
  @exclusivity(unchecked) private var waiting: UnsafeMutablePointer<Header?>?
  @exclusivity(unchecked) private var waitingCount = 0
  private let memoryOwner: ObjectMemoryOwner
  private let table: LastingGroups?

  /// Whether headers of all blocks wait.
  private var keepsAll: Bool { kind == .targets }

  /// Room in the table of waiting headers.
  private var tableCount: Int { keepsAll ? references.count : min(blockCount, references.count) }

  /// The position of the first reference that has a place in the table.
  private var base: Int {
    @inline(__always) get { keepsAll ? 0 : block &* blockCount }
  }

  /// - Parameters:
  ///   - references: At least one, each once.
  ///   - table: Knows every group that is no walk.
  init(
    _ references: [ObjectReference], _ kind: Kind, number: UInt32, blockCount: Int = SiblingGroup.blockCount,
    depth: Int = 0, in memoryOwner: ObjectMemoryOwner, table: LastingGroups? = nil
  ) {
    self.kind = kind
    self.number = number
    self.blockCount = blockCount
    self.depth = depth
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
    table?.remove(number)
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

  /// The header that waits for the instance of a reference, without taking it.
  @inline(__always)
  func header(at position: Int) -> Header? {
    let place = position &- base
    guard waitingCount > 0, let waiting, place >= 0, place < tableCount else { return nil }
    return waiting[place]
  }

  /// The header that waits for the instance of a reference; it is the caller's then.
  @inline(__always)
  func takeHeader(at position: Int) -> Header? {
    guard let header = header(at: position) else { return nil }
    waiting?[position &- base] = nil
    waitingCount &-= 1
    if !header.pointee.isReady { header.pointee.dropRow() }
    return header
  }

  /// Begins to read a block. A walk leaves the headers of the last one behind.
  ///
  /// - Returns: Whether rows of siblings without an instance are wanted: the first time.
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

  /// Keeps a header until somebody wants the instance (G1).
  func keep(_ header: Header, at position: Int) {
    waiting?[position - base] = header
    waitingCount += 1
  }

  /// Takes the header of an instance that is being freed, for who comes to this target next.
  ///
  /// - Returns: Whether it did; otherwise the header is the caller's still.
  func takeBack(_ header: Header) -> Bool {
    let position = Int(header.pointee.groupPosition)
    guard keepsAll, header.pointee.canWait, position < references.count,
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

extension ObjectHeader {
  /// Whether another instance could begin with this header: its row is the view's, and nothing of it is this instance's
  /// own.
  var canWait: Bool {
    row != nil && epoch == memory.pointee.epoch && overlay == nil
      && wakefulness.isDisjoint(with: [.gone, .rewritten])
  }

  /// The instance goes, and the next one begins as all do.
  mutating func becomeWaiting() {
    wakefulness = []
    isKept = false
    savedState = nil
    transients = nil
    groupNumber = 0
  }
}
