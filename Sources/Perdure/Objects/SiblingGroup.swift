// Objects that a to-many relationship led to, and the rows that are read for them together.
//
// Who touches one object of a relationship is likely to touch the next. So a fault that fires reads its
// whole block: the siblings whose positions lie in the same part of the group. A loop over n objects, in
// whatever order it touches them, costs the store one request a block instead of one an object.
//
// Rows are read for siblings that have no instance yet. They get a header, filled and waiting; the walk
// makes the instance from it. Headers that nobody came for are freed when the walk has moved on to another
// block, or with the group.
//
// Invariants
//   G1. `waiting[i]`, if there is one, belongs to the reference in place `block * blockCount + i`, has no instance, and is the
//       group's to free.
//   G2. A waiting row is the view's at the header's epoch. Whoever takes it in another epoch drops the row.

internal import PerdurePredicates

final class SiblingGroup {
  /// The number of siblings whose rows are read together.
  static let blockCount = 64
  /// Rows that take more are read one at a time.
  static let rowByteCountMax = 4096

  typealias Header = UnsafeMutablePointer<ObjectHeader>

  /// Tells the group from others of its context.
  let number: UInt32
  let references: UnsafeBufferPointer<ObjectReference>
  // Not checked for exclusivity at run time: the group belongs to one context, and no function here calls
  // anything that could come back to it.

  /// Whether it pays to read blocks: not once an object's own row was too long for it.
  @exclusivity(unchecked) var readsBlocks = true
  /// The block of the waiting headers; -1: there are none.
  @exclusivity(unchecked) private(set) var block = -1
  @exclusivity(unchecked) private var waiting: UnsafeMutablePointer<Header?>?
  @exclusivity(unchecked) private var waitingCount = 0
  private let memoryOwner: ObjectMemoryOwner

  /// Room in the table of waiting headers.
  private var tableCount: Int { min(Self.blockCount, references.count) }

  init(_ references: [ObjectReference], number: UInt32, in memoryOwner: ObjectMemoryOwner) {
    self.number = number
    self.memoryOwner = memoryOwner
    let byteCount = references.count * MemoryLayout<ObjectReference>.stride
    let block = memoryOwner.memory.pointee.allocate(byteCount: byteCount)
      .bindMemory(to: ObjectReference.self, capacity: references.count)
    references.withUnsafeBufferPointer {
      block.update(from: $0.baseAddress.unsafelyUnwrapped, count: $0.count)
    }
    self.references = UnsafeBufferPointer(start: block, count: references.count)
  }

  deinit {
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
    let start = block * Self.blockCount
    return start..<min(start + Self.blockCount, references.count)
  }

  /// The header that waits for the instance of a reference; it is the caller's then.
  @inline(__always)
  func takeHeader(at position: Int) -> Header? {
    let place = position &- block &* Self.blockCount
    guard waitingCount > 0, let waiting, place >= 0, place < tableCount, let header = waiting[place] else {
      return nil
    }
    waiting[place] = nil
    waitingCount &-= 1
    if !header.pointee.isReady { header.pointee.dropRow() }
    return header
  }

  /// Leaves the headers of the last block behind, and begins with another one.
  func begin(block: Int) {
    freeWaiting()
    self.block = block
    guard waiting == nil else { return }
    let table = memoryOwner.memory.pointee.allocate(byteCount: tableCount * MemoryLayout<Header?>.stride)
      .bindMemory(to: Header?.self, capacity: tableCount)
    table.initialize(repeating: nil, count: tableCount)
    waiting = table
  }

  /// Keeps a header until somebody wants the instance (G1).
  func keep(_ header: Header, at position: Int) {
    waiting?[position - block * Self.blockCount] = header
    waitingCount += 1
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

/// A walk over the objects at the other end of a to-many relationship, as they were when it began.
@usableFromInline
struct SiblingWalk {
  // Held here; the steps use the plain pointers below, so that none of them counts references.
  private let core: ContextCore?
  private let group: SiblingGroup?
  private let uncountedCore: Unmanaged<ContextCore>?
  private let uncountedGroup: Unmanaged<SiblingGroup>?
  /// The only object, where there is no group.
  private let only: ObjectReference
  private let count: Int
  private var position = 0

  private init(_ core: ContextCore?, _ group: SiblingGroup?, only: ObjectReference, count: Int) {
    self.core = core
    self.group = group
    uncountedCore = core.map(Unmanaged.passUnretained)
    uncountedGroup = group.map(Unmanaged.passUnretained)
    self.only = only
    self.count = count
  }

  /// A walk over nothing.
  init() { self.init(nil, nil, only: ObjectReference(rawValue: 0), count: 0) }

  init(_ core: ContextCore, only reference: ObjectReference) {
    self.init(core, nil, only: reference, count: 1)
  }

  init(_ core: ContextCore, _ group: SiblingGroup) {
    self.init(core, group, only: ObjectReference(rawValue: 0), count: group.references.count)
  }

  @usableFromInline
  mutating func next() -> ManagedObject? {
    guard position < count, let uncountedCore else { return nil }
    let place = position
    position = place &+ 1
    return uncountedCore._withUnsafeGuaranteedRef { core in
      guard let uncountedGroup else { return core.instance(of: only) }
      return uncountedGroup._withUnsafeGuaranteedRef { core.instance(at: place, of: $0) }
    }
  }
}

/// The groups that a context handed out last, so that objects which outlive their walk still find theirs. A
/// walk that goes on brings its group back.
struct RecentGroups {
  private static let capacity = 16
  private var groups = [SiblingGroup?](repeating: nil, count: capacity)
  private var lastNumber: UInt32 = 0
  private var isEmpty = true

  @inline(__always)
  private func place(_ number: UInt32) -> Int { Int(number) & (Self.capacity - 1) }

  /// Makes a group of references.
  mutating func make(_ references: [ObjectReference], in memory: ObjectMemoryOwner) -> SiblingGroup {
    lastNumber &+= 1
    let group = SiblingGroup(references, number: lastNumber, in: memory)
    put(group)
    return group
  }

  /// Makes sure that a group is known.
  @inline(__always)
  mutating func keep(_ group: SiblingGroup) {
    if groups[place(group.number)] !== group { put(group) }
  }

  private mutating func put(_ group: SiblingGroup) {
    groups[place(group.number)] = group
    isEmpty = false
  }

  /// Forgets all groups.
  mutating func removeAll() {
    guard !isEmpty else { return }
    for place in groups.indices { groups[place] = nil }
    isEmpty = true
  }

  /// The group that handed an object out last, if it is known still (H3).
  @inline(__always)
  func group(of header: UnsafeMutablePointer<ObjectHeader>) -> SiblingGroup? {
    let number = header.pointee.groupNumber
    guard let group = groups[place(number)], group.number == number else { return nil }
    let position = Int(header.pointee.groupPosition)
    guard position < group.references.count, group.references[position] == header.pointee.reference else {
      return nil
    }
    return group
  }
}
