internal import PerdurePredicates

/// A walk over the objects that were at the other end of a to-many relationship when the walk
/// began.
///
/// A walk over cached targets is inlined into the program (ManagedObject+InlinedReading.swift). So
/// a walk has only five words. The data of all other walks is in a `WalkedObjects`.
@usableFromInline
struct SiblingWalk {
  /// Retains the object to which one of the next two variables refers.
  @usableFromInline var owner: AnyObject?
  // Unmanaged, so that a step retains and releases nothing.
  /// The cached targets; nil for other walks, and after a change.
  @usableFromInline var uncountedKept: Unmanaged<KeptTargets>?
  @usableFromInline var uncountedObjects: Unmanaged<WalkedObjects>?
  @usableFromInline var position: Int
  @usableFromInline let end: Int

  /// A walk over cached targets; `kept` is nil if there are no objects.
  @inlinable @inline(__always)
  init(_ kept: KeptTargets?) {
    owner = kept
    uncountedKept = kept.map { .passUnretained($0) }
    uncountedObjects = nil
    position = 0
    end = kept?.count ?? 0
    if let kept { kept.memory.pointee.recentWalks.add(.passUnretained(kept)) }
  }

  private init(_ objects: WalkedObjects, over range: Range<Int>) {
    owner = objects
    uncountedKept = nil
    uncountedObjects = .passUnretained(objects)
    position = range.lowerBound
    end = range.upperBound
  }

  /// A walk over no objects.
  init() { self.init(nil) }

  /// A walk over objects that a program has listed.
  @usableFromInline
  init(_ objects: [ManagedObject]) { self.init(WalkedObjects(objects), over: 0..<objects.count) }

  init(_ core: ContextCore, only reference: ObjectReference) {
    self.init(WalkedObjects(core, only: reference), over: 0..<1)
  }

  init(_ core: ContextCore, _ group: SiblingGroup) {
    self.init(WalkedObjects(core, group), over: 0..<group.references.count)
  }

  /// A walk over the targets of one of several siblings.
  init(_ core: ContextCore, _ relation: SiblingRelation, _ range: Range<Int>) {
    guard let group = relation.group else {
      self.init()
      return
    }
    self.init(WalkedObjects(core, group, relation), over: range)
  }

  @inlinable @inline(__always)
  mutating func next<T: ManagedObject>(as type: T.Type) -> T? {
    guard position < end else {
      if uncountedKept == nil { releaseObject() }
      return nil
    }
    let object = keptObject(position) ?? objectAnew(position)
    position &+= 1
    // Both functions return an unretained object. So there is one retain, and the compiler can omit
    // it.
    return object?.typed(type)
  }

  /// The object at a position, if this is a walk over cached targets that are still valid.
  @inlinable @inline(__always)
  func keptObject(_ position: Int) -> Unmanaged<ManagedObject>? {
    uncountedKept?._withUnsafeGuaranteedRef { kept in
      guard kept.stamp == kept.memory.pointee.linkStamp else { return nil }
      kept.position = position
      return kept.objects[position]
    }
  }

  /// The object at a position, for all other walks. The walk retains it until the next call.
  @usableFromInline @inline(never)
  mutating func objectAnew(_ position: Int) -> Unmanaged<ManagedObject>? {
    leaveKept()
    return uncountedObjects?._withUnsafeGuaranteedRef { $0.advance(to: position) }
  }

  @usableFromInline @inline(never)
  func releaseObject() { uncountedObjects?._withUnsafeGuaranteedRef { $0.releaseObject() } }

  /// Continues with the references of the cached targets, after a change.
  private mutating func leaveKept() {
    guard let kept = uncountedKept?.takeUnretainedValue() else { return }
    let objects = WalkedObjects(kept)
    owner = objects
    uncountedKept = nil
    uncountedObjects = .passUnretained(objects)
  }
}

/// The objects of a walk that looks up one object at a time.
@usableFromInline
final class WalkedObjects {
  /// The objects that a program has listed.
  private let listed: [ManagedObject]
  /// The single object of a walk over one object.
  private let only: ObjectReference?
  /// The owners of the unmanaged references below.
  private let owners: (ContextCore?, SiblingGroup?, SiblingRelation?)
  // Unmanaged, so that a step retains and releases nothing.
  private let uncountedCore: Unmanaged<ContextCore>?
  private let uncountedGroup: Unmanaged<SiblingGroup>?
  /// The positions of the objects in the group; nil if the walk is over the whole group.
  private let uncountedRelation: Unmanaged<SiblingRelation>?
  // The exclusivity of accesses is not checked at run time: a walk is used in one isolation.
  /// The object of the last step, retained until the next step.
  @exclusivity(unchecked) private var current: ManagedObject?

  init(_ listed: [ManagedObject]) {
    self.listed = listed
    only = nil
    owners = (nil, nil, nil)
    (uncountedCore, uncountedGroup, uncountedRelation) = (nil, nil, nil)
  }

  /// A single object.
  init(_ core: ContextCore, only: ObjectReference) {
    listed = []
    self.only = only
    owners = (core, nil, nil)
    uncountedCore = .passUnretained(core)
    (uncountedGroup, uncountedRelation) = (nil, nil)
  }

  /// The objects of a group, or only the targets of one of several siblings.
  init(_ core: ContextCore, _ group: SiblingGroup, _ relation: SiblingRelation? = nil) {
    listed = []
    only = nil
    owners = (core, group, relation)
    uncountedCore = .passUnretained(core)
    uncountedGroup = .passUnretained(group)
    uncountedRelation = relation.map { .passUnretained($0) }
  }

  /// The objects of cached targets, for a walk that continues after a change.
  convenience init(_ kept: KeptTargets) {
    if kept.count == 1 {
      self.init(kept.core, only: kept.references[0])
    } else {
      let registry = kept.core.registry
      self.init(
        kept.core, registry.siblingGroups.makeWalk(Array(kept.references), in: registry.memoryOwner))
    }
  }

  func advance(to place: Int) -> Unmanaged<ManagedObject>? {
    let object = object(at: place)
    // Freeing the previous object may run code of the program that advances a copy of this walk.
    while current !== object {
      let previous = current
      current = object
      withExtendedLifetime(previous) {}
    }
    return .passUnretained(object)
  }

  func releaseObject() { current = nil }

  private func object(at place: Int) -> ManagedObject {
    guard let uncountedCore else { return listed[place] }
    return uncountedCore._withUnsafeGuaranteedRef { core in
      if let only { return core.registry.instance(of: only) }
      guard let uncountedGroup else { preconditionFailure("A walk has one object or a group.") }
      let member = uncountedRelation?._withUnsafeGuaranteedRef { Int($0.places[place]) } ?? place
      return uncountedGroup._withUnsafeGuaranteedRef { core.reading.siblings.instance(at: member, of: $0) }
    }
  }
}
