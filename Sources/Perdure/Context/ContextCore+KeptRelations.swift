// When it is kept where relationships lead (KeptRelations.swift).

internal import PerdurePredicates

extension ContextCore {
  /// From now on nothing holds of what is kept (L1).
  @inline(__always)
  func linksChanged() { memory.pointee.linkStamp &+= 1 }

  /// Keeps where a to-one relationship leads, if that can be read without a look at anything else (L3, L4).
  @inline(never)
  func keep(_ target: ManagedObject?, _ slot: Int, of owner: ManagedObject) {
    guard readFailure == nil, canKeep(owner), owner.header.keptTarget(slot) == nil else { return }
    if let target {
      guard canKeep(target) else { return }
      target.header.pointee.isKept = true
    }
    owner.header.keep(slot, isToMany: false, target.map { Unmanaged.passUnretained($0).toOpaque() })
  }

  /// Keeps where a to-many relationship leads, if everything there is in memory.
  @inline(never)
  func keep(_ found: [ObjectReference], _ slot: Int, of owner: ManagedObject) -> KeptTargets? {
    guard readFailure == nil, owner.header.keptTargets(slot) == nil else { return nil }
    return withUnsafeTemporaryAllocation(of: Unmanaged<ManagedObject>.self, capacity: found.count) {
      objects in
      for (place, reference) in found.enumerated() {
        guard let object = identityMap.object(reference), canKeep(object) else { return nil }
        (objects.baseAddress.unsafelyUnwrapped + place).initialize(to: .passUnretained(object))
      }
      for place in found.indices {
        objects[place]._withUnsafeGuaranteedRef { $0.header.pointee.isKept = true }
      }
      let targets = KeptTargets(self, found, UnsafeBufferPointer(rebasing: objects[..<found.count]))
      owner.header.keep(slot, isToMany: true, Unmanaged.passRetained(targets).toOpaque())
      return targets
    }
  }

  /// Whether an object's row is there and is the view's, or is overlaid by unsaved changes, and nobody has to be told.
  @inline(__always)
  private func canKeep(_ object: ManagedObject) -> Bool {
    let header = object.header
    if header.pointee.isReady { return true }
    return header.pointee.overlay != nil && header.pointee.wakefulness.isDisjoint(with: [.gone, .drowsy])
      && (header.pointee.overlay?.takeUnretainedValue().isNew == true || header.pointee.row != nil)
  }

  /// The siblings of an object, also where it was handed out by a walk that noted none.
  func siblingGroup(of object: ManagedObject) -> SiblingGroup? {
    if let group = siblingGroups.group(of: object.header) { return group }
    guard object.header.pointee.isKept, let walk = recentWalks.walk(at: object.reference), walk.count > 1
    else { return nil }
    let group = siblingGroups.makeWalk(Array(walk.references), in: memoryOwner)
    for (position, reference) in group.references.enumerated() {
      if let object = identityMap.object(reference) { note(object.header, position, of: group) }
    }
    return group
  }
}
