// Where an object's relationships lead, kept with the object.
//
// Who walks over a graph that is in memory already would ask the store, the unsaved changes and the identity map at every
// step, and get the same answer each time. So what a relationship has given twice is kept: the instance at the other end
// of a to-one relationship, the references and instances at the other end of a to-many one. Nothing is retained by it.
//
// One number says whether any of it still holds: `ObjectMemory.linkStamp`. Everything that could make another answer
// right raises it, for the whole context. That is crude, and makes the check one comparison; a graph that is changed at
// every step is walked as if nothing were kept, and nothing is: only who asks twice between two changes keeps.
//
// Invariants
//   L1. What is kept is used only while its stamp is `linkStamp`. It rises with every epoch, with every change of links
//       or of what vanished, when an instance leaves its context or gets another identity, and by L3.
//   L2. What was kept at the present stamp is what a look at the context would give.
//   L3. Every instance that something kept points to is marked (`ObjectHeader.isKept`). When a marked one ends or loses its
//       row, the stamp rises. So a pointer of the present stamp leads to an instance, which has its row or unsaved changes:
//       no fault is handed out that its siblings do not know of.
//   L4. What an object keeps, it gives up with its row: who touches a fault fires it.

internal import PerdurePredicates

/// The beginning of a block with what an object keeps; its entries follow.
@usableFromInline
struct KeptRelations {
  /// What the entries are true of (L1).
  @usableFromInline let stamp: UInt64
  @usableFromInline let count: Int

  /// Where one relationship leads.
  @usableFromInline
  struct Entry {
    @usableFromInline let slot: UInt32
    @usableFromInline let isToMany: Bool
    /// An instance, or retained `KeptTargets`. Nil if there is no object.
    @usableFromInline let target: UnsafeMutableRawPointer?
  }

  static func byteCount(_ count: Int) -> Int {
    MemoryLayout<KeptRelations>.stride + count * MemoryLayout<Entry>.stride
  }
}

extension UnsafeMutablePointer<KeptRelations> {
  @inlinable @inline(__always)
  var entries: UnsafeMutablePointer<KeptRelations.Entry> {
    UnsafeMutableRawPointer(self + 1).assumingMemoryBound(to: KeptRelations.Entry.self)
  }

  @inlinable @inline(__always)
  func find(_ slot: Int) -> KeptRelations.Entry? {
    let (entries, count) = (entries, pointee.count)
    var place = 0
    while place < count {
      if Int(entries[place].slot) == slot { return entries[place] }
      place &+= 1
    }
    return nil
  }
}

extension UnsafeMutablePointer<ObjectHeader> {
  /// What is kept of a relationship, if it holds (L1).
  @inlinable @inline(__always)
  func kept(_ slot: Int) -> KeptRelations.Entry? {
    guard let kept = pointee.kept, kept.pointee.stamp == pointee.memory.pointee.linkStamp else { return nil }
    return kept.find(slot)
  }

  /// The object that a to-one relationship is known to lead to; nil inside: to none.
  @inlinable @inline(__always)
  func keptTarget(_ slot: Int) -> Unmanaged<ManagedObject>?? {
    guard let entry = kept(slot), !entry.isToMany else { return nil }
    return .some(entry.target.map { .fromOpaque($0) })
  }

  /// What a to-many relationship is known to lead to; nil inside: to none.
  @inlinable @inline(__always)
  func keptTargets(_ slot: Int) -> Unmanaged<KeptTargets>?? {
    guard let entry = kept(slot), entry.isToMany else { return nil }
    return .some(entry.target.map { .fromOpaque($0) })
  }

  /// Keeps where a relationship leads at the present stamp, of which nothing is kept at this stamp.
  func keep(_ slot: Int, isToMany: Bool, _ target: UnsafeMutableRawPointer?) {
    let memory = pointee.memory
    if let old = pointee.kept, old.pointee.stamp != memory.pointee.linkStamp { pointee.dropKept() }
    let old = pointee.kept
    let count = old.map(\.pointee.count) ?? 0
    let block = memory.pointee.allocate(byteCount: KeptRelations.byteCount(count + 1))
      .bindMemory(to: KeptRelations.self, capacity: 1)
    block.initialize(to: KeptRelations(stamp: memory.pointee.linkStamp, count: count + 1))
    if let old {
      block.entries.update(from: old.entries, count: count)
      memory.pointee.deallocate(old, byteCount: KeptRelations.byteCount(count))
    }
    block.entries[count] = .init(slot: UInt32(slot), isToMany: isToMany, target: target)
    pointee.kept = block
  }
}

extension ObjectHeader {
  /// Gives back what is kept.
  @inline(never)
  mutating func dropKept() {
    guard let block = kept else { return }
    kept = nil
    for place in 0..<block.pointee.count {
      let entry = block.entries[place]
      if entry.isToMany, let target = entry.target { Unmanaged<KeptTargets>.fromOpaque(target).release() }
    }
    memory.pointee.deallocate(block, byteCount: KeptRelations.byteCount(block.pointee.count))
  }
}

/// What a to-many relationship leads to: shared by the object and by walks that go on while things change.
@usableFromInline
final class KeptTargets {
  // No cycle: the object that has it ends before the context.
  let core: ContextCore
  @usableFromInline let memory: UnsafeMutablePointer<ObjectMemory>
  @usableFromInline let stamp: UInt64
  let references: UnsafeMutableBufferPointer<ObjectReference>
  @usableFromInline let objects: UnsafeMutablePointer<Unmanaged<ManagedObject>>
  // Not checked for exclusivity at run time: it belongs to one context, and is set by one step of a walk at a time.
  /// How far the newest walk has come.
  @usableFromInline @exclusivity(unchecked) var position = 0
  @usableFromInline let count: Int

  /// Of instances that are marked (L3).
  init(
    _ core: ContextCore, _ found: [ObjectReference],
    _ instances: UnsafeBufferPointer<Unmanaged<ManagedObject>>
  ) {
    self.core = core
    memory = core.registry.memory
    stamp = core.registry.memory.pointee.linkStamp
    count = found.count
    let block = UnsafeMutableRawPointer.allocate(byteCount: Self.byteCount(found.count), alignment: 8)
    let references = block.bindMemory(to: ObjectReference.self, capacity: found.count)
    for (place, reference) in found.enumerated() { (references + place).initialize(to: reference) }
    self.references = UnsafeMutableBufferPointer(start: references, count: found.count)
    objects = (block + found.count * MemoryLayout<ObjectReference>.stride)
      .bindMemory(to: Unmanaged<ManagedObject>.self, capacity: found.count)
    for (place, object) in instances.enumerated() { (objects + place).initialize(to: object) }
  }

  deinit {
    memory.pointee.recentWalks.remove(self)
    UnsafeMutableRawPointer(references.baseAddress)?.deallocate()
  }

  private static func byteCount(_ count: Int) -> Int {
    count * (MemoryLayout<ObjectReference>.stride + MemoryLayout<Unmanaged<ManagedObject>>.stride)
  }
}

/// The last walks over what is kept, which note no siblings: who turns out to need them looks here.
@usableFromInline
struct RecentWalks {
  private static let count = 16
  @usableFromInline let walks: UnsafeMutableBufferPointer<Unmanaged<KeptTargets>?>
  @usableFromInline var next = 0

  init() {
    walks = .allocate(capacity: Self.count)
    walks.initialize(repeating: nil)
  }

  /// Frees the list; it must not be used afterwards.
  func deallocate() { walks.deallocate() }

  @inlinable @inline(__always)
  mutating func add(_ walk: Unmanaged<KeptTargets>) {
    walks[next] = walk
    next = (next &+ 1) & (walks.count &- 1)
  }

  /// Called when what is kept goes.
  func remove(_ targets: KeptTargets) {
    for place in walks.indices where walks[place]?.toOpaque() == Unmanaged.passUnretained(targets).toOpaque()
    {
      walks[place] = nil
    }
  }

  /// The walk that has handed an object out just now.
  func walk(at reference: ObjectReference) -> KeptTargets? {
    for walk in walks {
      guard let targets = walk?.takeUnretainedValue(), targets.position < targets.count,
        targets.references[targets.position] == reference
      else { continue }
      return targets
    }
    return nil
  }
}
