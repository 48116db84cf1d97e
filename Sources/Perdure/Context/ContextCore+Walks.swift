// Walks over to-many relationships (SiblingGroup.swift), and the caching of their targets
// (KeptRelations.swift).

internal import PerdurePredicates

extension ContextCore {
  /// A walk over the targets of a to-many relationship, with unsaved changes.
  func walk(over slot: Int, of owner: ManagedObject) -> SiblingWalk {
    let isAskedAgain = owner.header.pointee.isAskedAgain(slot)
    if owner.header.pointee.groupNumber != 0,
      let (relation, range) = reading.siblings.related(to: owner, by: slot)
    {
      if isAskedAgain {
        found.removeAll(keepingCapacity: true)
        if let targets = relation.group {
          for place in range { found.append(targets.references[Int(relation.places[place])]) }
        }
        if let kept = keep(found, slot, of: owner) { return SiblingWalk(kept) }
      }
      return SiblingWalk(self, relation, range)
    }
    found.removeAll(keepingCapacity: true)
    owner.uncountedShape._withUnsafeGuaranteedRef { $0.uncountedRelationship(slot) }
      ._withUnsafeGuaranteedRef { relationship in
        if !relationship.isToMany {
          stop("\(owner.shape.name).\(relationship.name) is to-one, and was read as a collection.")
        }
        reading.links.appendTargets(of: owner.reference, owner.overlay, relationship, to: &found)
      }
    if isAskedAgain, let kept = keep(found, slot, of: owner) { return SiblingWalk(kept) }
    switch found.count {
    case 0: return SiblingWalk()
    case 1: return SiblingWalk(self, only: found[0])
    default: return SiblingWalk(self, registry.siblingGroups.makeWalk(found, in: registry.memoryOwner))
    }
  }

  /// Caches the targets of a to-many relationship, if all their rows are in memory. Returns nil if
  /// there is no target, or if nothing was cached.
  @inline(never)
  func keep(_ found: [ObjectReference], _ slot: Int, of owner: ManagedObject) -> KeptTargets? {
    guard viewState.readFailure == nil, owner.header.keptTargets(slot) == nil else { return nil }
    if found.isEmpty {
      owner.header.keep(slot, isToMany: true, nil)
      return nil
    }
    return withUnsafeTemporaryAllocation(of: Unmanaged<ManagedObject>.self, capacity: found.count) {
      objects in
      for (place, reference) in found.enumerated() {
        guard let object = registry.identityMap.object(reference), reading.siblings.canKeep(object) else {
          return nil
        }
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
}
