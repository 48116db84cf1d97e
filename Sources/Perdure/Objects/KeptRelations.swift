// Cached relationships, stored with their object.
//
// Without a cache, each step of a walk over a graph in memory reads the store, the unsaved changes
// and the identity map. The result is usually the same each time. So a relationship that was read
// twice is cached. For a to-one relationship, the cache has the instance at the other end. For a
// to-many relationship, it has the references and instances at the other end. The cache does not
// retain the instances.
//
// One number decides whether all cached relationships of a context are valid:
// `ObjectMemory.linkStamp`. The number is incremented when any cached result may become wrong. This
// invalidates more than necessary, but the check is one comparison. If a graph changes at each
// step, nothing is cached, because a relationship is cached only when it is read twice between two
// changes.
//
// Invariants
//   KR1. A cached relationship is used only while its stamp is `linkStamp`. `linkStamp` is
//        incremented with each epoch, with each change of links or of the removed objects, and by
//        KR3. It is also incremented when an instance leaves its context or gets another identity.
//   KR2. A relationship that was cached at the current stamp is equal to the result of a read
//        without the cache.
//   KR3. Each instance in a cached relationship is marked (`ObjectHeader.isKept`). When a marked
//        instance is freed or loses its row, the stamp is incremented. So a pointer with the
//        current stamp refers to an instance that has its row or unsaved changes. A read from the
//        cache therefore never returns a fault without a sibling group.
//   KR4. When an object loses its row, it also loses its cached relationships. So each access to a
//        fault fires it.

internal import PerdurePredicates

/// The beginning of a block with the cached relationships of an object. The entries follow.
@usableFromInline
struct KeptRelations {
  /// The link stamp at which the entries are valid (KR1).
  @usableFromInline let stamp: UInt64
  @usableFromInline let count: Int

  /// A cached relationship.
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
  /// The cached relationship in a slot, if it is valid (KR1).
  @inlinable @inline(__always)
  func kept(_ slot: Int) -> KeptRelations.Entry? {
    guard let kept = pointee.kept, kept.pointee.stamp == pointee.memory.pointee.linkStamp else { return nil }
    return kept.find(slot)
  }

  /// The cached object of a to-one relationship; nil if it is not cached, and `.some(nil)` if the
  /// relationship has no object.
  @inlinable @inline(__always)
  func keptTarget(_ slot: Int) -> Unmanaged<ManagedObject>?? {
    guard let entry = kept(slot), !entry.isToMany else { return nil }
    return .some(entry.target.map { .fromOpaque($0) })
  }

  /// The cached objects of a to-many relationship; nil if they are not cached, and `.some(nil)` if
  /// the relationship has no objects.
  @inlinable @inline(__always)
  func keptTargets(_ slot: Int) -> Unmanaged<KeptTargets>?? {
    guard let entry = kept(slot), entry.isToMany else { return nil }
    return .some(entry.target.map { .fromOpaque($0) })
  }

  /// Caches a relationship at the current stamp. It must not be cached at this stamp yet.
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
  /// Frees the cached relationships.
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

/// The cached objects of a to-many relationship. The object shares them with walks, which continue
/// after changes.
@usableFromInline
final class KeptTargets {
  // This is not a retain cycle: the object that retains the targets is freed before the context.
  let core: ContextCore
  @usableFromInline let memory: UnsafeMutablePointer<ObjectMemory>
  @usableFromInline let stamp: UInt64
  let references: UnsafeMutableBufferPointer<ObjectReference>
  @usableFromInline let objects: UnsafeMutablePointer<Unmanaged<ManagedObject>>
  // The exclusivity of accesses is not checked at run time. The targets belong to one context, and
  // steps of walks set the position one after another.
  /// The position of the newest walk.
  @usableFromInline @exclusivity(unchecked) var position = 0
  @usableFromInline let count: Int

  /// Makes the targets from instances that are marked (KR3).
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

/// The last walks over cached targets. These walks set no sibling groups, so code that needs the
/// siblings of an object searches this list.
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

  /// Removes targets that are being freed.
  func remove(_ targets: KeptTargets) {
    for place in walks.indices where walks[place]?.toOpaque() == Unmanaged.passUnretained(targets).toOpaque()
    {
      walks[place] = nil
    }
  }

  /// The walk whose last returned object is this one; nil if there is none.
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
