// Conflicts about links to removed objects and to objects that this context deletes. Conflicts
// about one-to-one links and to-many relationships that both contexts have changed.

internal import PerdurePredicates

extension MergeRound {
  mutating func judge(_ precondition: Precondition) throws {
    switch precondition {
    case .rowUnchanged(let reference, _): judgeWatched(reference, precondition)
    case .rowAbsent:
      // `judgeRow` has decided about the object.
      break
    case .rowExists(let target):
      if try newest.version(of: target) == nil { judgeLinks(to: target, precondition) }
    case .rangeUnchanged(let index, let range):
      guard let reference = ObjectReference(bareKey: range.lower) else {
        return unresolved.failed.append(precondition)
      }
      if let overlay = reading.pending[reference], overlay.isDeleted {
        try judgeDeletion(overlay, precondition)
      } else if case .ordered = reading.graph.store.definition(index).kind {
        try judgePlaces(reference, index, range, precondition)
      } else {
        try judgePairs(reference, index, precondition)
        if let overlay = reading.pending[reference] { try judgeSet(overlay, index, precondition) }
      }
    }
  }

  /// Decides about an object of `detectConflicts(for:)` that this context has not changed. Changed
  /// objects are compared by their columns.
  private mutating func judgeWatched(_ reference: ObjectReference, _ precondition: Precondition) {
    guard reading.viewState.watched[reference] != nil, reading.pending[reference]?.baseVersion == nil else {
      return
    }
    if mergeRules.mergePolicy.general(reading.graph.lineage(of: reading.graph.shape(of: reference)))
      == .error
    {
      unresolved.failed.append(precondition)
    } else {
      add(.unwatch(reference))
    }
  }

  /// Decides about unsaved links to an object that another context has deleted.
  mutating func judgeLinks(to target: ObjectReference, _ precondition: Precondition) {
    // The final step of the target also decides about the links to it.
    if isDecided(target) { return }
    let sources = sources(of: target)
    var isConflict = sources.isEmpty
    for overlay in sources where keepsLinks(overlay.reference) {
      switch general(overlay) {
      case .error, .objectTrump, .overwrite: isConflict = true
      case .rollback where !overlay.isNew && overlay.changesRow: add(.asStored(overlay.reference))
      case .rollback, .storeTrump: add(.dropLink(overlay.reference, to: target))
      }
    }
    if isConflict { unresolved.failed.append(precondition) }
  }

  /// Decides about an object that this context deletes and another context has linked or unlinked.
  private mutating func judgeDeletion(_ overlay: ObjectOverlay, _ precondition: Precondition) throws {
    // If the other context has deleted the object too, the object has no links.
    if try newest.version(of: overlay.reference) == nil { return }
    switch general(overlay) {
    case .error: unresolved.failed.append(precondition)
    case .storeTrump, .rollback: add(.asStored(root(of: overlay)))
    // Delete rules are applied again, to the current links.
    case .objectTrump, .overwrite: break
    }
  }

  /// Decides about an unsaved one-to-one link whose target another context has linked too.
  private mutating func judgePairs(
    _ target: ObjectReference, _ index: StoreIndex, _ precondition: Precondition
  ) throws {
    for overlay in sources(of: target) where !isDecided(overlay.reference) {
      for relationship in overlay.shape.columns
      where relationship.index == index && relationship.inverseIsToOne
        && overlay.reference(relationship.slot) == target
      {
        switch general(overlay) {
        case .error: unresolved.failed.append(precondition)
        case .rollback where !overlay.isNew: add(.asStored(overlay.reference))
        case .storeTrump, .rollback: add(.setBack(overlay.reference, relationship))
        // Unsaved changes override the saved ones (PendingRebase.rebaseDeltas).
        case .objectTrump, .overwrite: break
        }
      }
    }
  }

  /// Decides about a to-many relationship whose members both contexts have changed. Without a rule,
  /// `rollback` takes the store's members. Every other policy applies both changes, and validation
  /// checks the result.
  private mutating func judgeSet(
    _ overlay: ObjectOverlay, _ index: StoreIndex, _ precondition: Precondition
  ) throws {
    for relationship in overlay.shape.relationships where relationship.index == index {
      guard let delta = overlay.delta(relationship.slot) else { continue }
      let store = Set(try targets(of: overlay.reference, index, in: newest))
      let rule = mergeRules.mergePolicy.rule(
        reading.graph.lineage(of: overlay.shape), relationship.name)
      if let rule, !relationship.isInColumn {
        let base = try targets(of: overlay.reference, index, in: reading.viewState.view)
        let merged = rule.merged(base: Set(base), local: delta.applied(to: base), store: store)
        if let merged {
          add(.setTargets(overlay.reference, relationship, merged))
        } else {
          unresolved.failed.append(precondition)
        }
      } else if general(overlay) == .rollback, !overlay.isNew {
        add(.setTargets(overlay.reference, relationship, store))
      }
    }
  }

  private func targets(
    of owner: ObjectReference, _ index: StoreIndex, in view: any StateReader
  ) throws -> [ObjectReference] {
    var found: [ObjectReference] = []
    try view.appendReferences(under: owner, in: index, to: &found)
    return found
  }
}

extension ObjectOverlay {
  /// The targets of unsaved links of the object: those for which `links(to:)` is true.
  var linkTargets: Set<ObjectReference> {
    if isDeleted { return [] }
    var targets = Set(shape.columnSlots.compactMap { reference($0) })
    for (slot, delta) in deltas where !shape.relationship(slot).isInColumn {
      targets.formUnion(delta.added.ordered)
    }
    return targets
  }
}
