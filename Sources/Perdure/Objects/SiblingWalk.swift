internal import PerdurePredicates

/// A walk over the objects at the other end of a to-many relationship, as they were when it began.
@usableFromInline
struct SiblingWalk {
  // Held here; the steps use the plain pointers below, so that none of them counts references.
  private let core: ContextCore?
  private var group: SiblingGroup?
  private let relation: SiblingRelation?
  private let kept: KeptTargets?
  private let uncountedCore: Unmanaged<ContextCore>?
  private var uncountedGroup: Unmanaged<SiblingGroup>?
  private var uncountedKept: Unmanaged<KeptTargets>?
  private let uncountedRelation: Unmanaged<SiblingRelation>?
  /// The objects of a walk over a list.
  private let listed: [ManagedObject]?
  /// The only object, where there is no group.
  private var only: ObjectReference
  private let end: Int
  private var position: Int

  private init(
    _ core: ContextCore?, _ group: SiblingGroup?, _ relation: SiblingRelation? = nil,
    only: ObjectReference = ObjectReference(rawValue: 0), over range: Range<Int>
  ) {
    self.core = core
    self.group = group
    self.relation = relation
    (kept, listed) = (nil, nil)
    uncountedKept = nil
    uncountedCore = core.map(Unmanaged.passUnretained)
    uncountedGroup = group.map(Unmanaged.passUnretained)
    uncountedRelation = relation.map(Unmanaged.passUnretained)
    self.only = only
    position = range.lowerBound
    end = range.upperBound
  }

  /// A walk over nothing.
  init() { self.init(nil, nil, over: 0..<0) }

  /// A walk over objects that a program has listed.
  init(_ objects: [ManagedObject]) {
    listed = objects
    (core, group, relation, kept) = (nil, nil, nil, nil)
    (uncountedCore, uncountedGroup, uncountedRelation, uncountedKept) = (nil, nil, nil, nil)
    only = ObjectReference(rawValue: 0)
    position = 0
    end = objects.count
  }

  init(_ core: ContextCore, only reference: ObjectReference) {
    self.init(core, nil, only: reference, over: 0..<1)
  }

  init(_ core: ContextCore, _ group: SiblingGroup) {
    self.init(core, group, over: 0..<group.references.count)
  }

  /// A walk over what one of several siblings leads to.
  init(_ core: ContextCore, _ relation: SiblingRelation, _ range: Range<Int>) {
    self.init(core, relation.group, relation, over: relation.group == nil ? 0..<0 : range)
  }

  /// A walk over what an object keeps.
  @inline(__always)
  init(_ kept: KeptTargets) {
    self.kept = kept
    uncountedKept = .passUnretained(kept)
    listed = nil
    (core, group, relation) = (nil, nil, nil)
    uncountedCore = .passUnretained(kept.core)
    (uncountedGroup, uncountedRelation) = (nil, nil)
    only = ObjectReference(rawValue: 0)
    position = 0
    end = kept.count
    kept.core.registry.recentWalks.add(.passUnretained(kept))
  }

  @usableFromInline
  mutating func next() -> ManagedObject? {
    guard position < end else { return nil }
    let place = position
    position = place &+ 1
    guard let uncountedCore else { return listed?[place] }
    if let uncountedKept {
      let object = uncountedKept._withUnsafeGuaranteedRef { kept -> ManagedObject? in
        guard kept.stamp == kept.core.registry.memory.pointee.linkStamp else { return nil }
        kept.position = place
        return kept.objects[place].takeUnretainedValue()
      }
      if let object { return object }
      leaveKept()
    }
    return uncountedCore._withUnsafeGuaranteedRef { core in
      guard let uncountedGroup else { return core.registry.instance(of: only) }
      let member = uncountedRelation?._withUnsafeGuaranteedRef { Int($0.places[place]) } ?? place
      return uncountedGroup._withUnsafeGuaranteedRef { core.reading.siblings.instance(at: member, of: $0) }
    }
  }

  /// Something has changed: the rest of what there was when the walk began is found by reference.
  @inline(never)
  private mutating func leaveKept() {
    guard let kept else { return }
    uncountedKept = nil
    if kept.count == 1 {
      only = kept.references[0]
    } else {
      let walk = kept.core.registry.siblingGroups.makeWalk(
        Array(kept.references), in: kept.core.registry.memoryOwner)
      (group, uncountedGroup) = (walk, .passUnretained(walk))
    }
  }
}
