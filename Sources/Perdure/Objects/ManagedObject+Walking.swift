// Walks over to-many relationships (SiblingGroup.swift), and the caching of their targets
// (KeptRelations.swift).

internal import PerdurePredicates

extension ManagedObject {
  /// A walk over the targets of a to-many relationship, with unsaved changes.
  func walk(over slot: Int, _ core: ContextCore) -> SiblingWalk {
    let siblings = core.reading.siblings
    let wasReadBefore = header.pointee.wasReadBefore(slot)
    if header.pointee.groupNumber != 0,
      let (relation, range) = siblings.related(to: self, by: slot)
    {
      if wasReadBefore {
        siblings.found.removeAll(keepingCapacity: true)
        if let targets = relation.group {
          for place in range { siblings.found.append(targets.references[Int(relation.places[place])]) }
        }
        if let kept = keep(siblings.found, slot, core) { return SiblingWalk(kept) }
      }
      return SiblingWalk(core, relation, range)
    }
    siblings.found.removeAll(keepingCapacity: true)
    uncountedShape._withUnsafeGuaranteedRef { $0.uncountedRelationship(slot) }
      ._withUnsafeGuaranteedRef { relationship in
        if !relationship.isToMany {
          stop("\(shape.name).\(relationship.name) is to-one, and was read as a collection.")
        }
        core.reading.links.appendTargets(of: reference, overlay, relationship, to: &siblings.found)
      }
    if wasReadBefore, let kept = keep(siblings.found, slot, core) { return SiblingWalk(kept) }
    switch siblings.found.count {
    case 0: return SiblingWalk()
    case 1: return SiblingWalk(core, only: siblings.found[0])
    default:
      return SiblingWalk(
        core, core.registry.siblingGroups.makeWalk(siblings.found, in: core.registry.memoryOwner))
    }
  }

  /// Caches the targets of a to-many relationship, if each has an instance that is new or has its
  /// row in memory, and for which no hook is due (`canKeep`, KR3). Returns nil if there is no
  /// target, or if nothing was cached.
  @inline(never)
  private func keep(_ found: [ObjectReference], _ slot: Int, _ core: ContextCore) -> KeptTargets? {
    guard core.viewState.readFailure == nil, header.keptTargets(slot) == nil else { return nil }
    if found.isEmpty {
      header.keep(slot, isToMany: true, nil)
      return nil
    }
    return withUnsafeTemporaryAllocation(of: Unmanaged<ManagedObject>.self, capacity: found.count) {
      objects in
      for (place, reference) in found.enumerated() {
        guard let object = core.registry.identityMap.object(reference), core.reading.siblings.canKeep(object)
        else {
          return nil
        }
        (objects.baseAddress.unsafelyUnwrapped + place).initialize(to: .passUnretained(object))
      }
      for place in found.indices {
        objects[place]._withUnsafeGuaranteedRef { $0.header.pointee.isKept = true }
      }
      let targets = KeptTargets(core, found, UnsafeBufferPointer(rebasing: objects[..<found.count]))
      header.keep(slot, isToMany: true, Unmanaged.passRetained(targets).toOpaque())
      return targets
    }
  }

  /// An empty walk, for a relationship of an object that is gone. If a key path is being probed
  /// (KeyPathProbe.swift), notes that this key path reads something other than a property with a
  /// value.
  @inline(never)
  func walkOfGone(_ core: ContextCore) -> SiblingWalk {
    core.reading.retirement.probedReads?.noteOther()
    return SiblingWalk()
  }
}
