// The transient values and links that a child saves. No row holds them, so the child passes them to
// its parent beside the change. The parent's links may differ from the child's before the save. So
// only the links that the child made and removed change in the parent.

/// The transient properties that a child has set of one object.
struct ChangedTransients {
  let reference: ObjectReference
  /// The values by slot. Values of any type are shared with the child.
  let values: [(slot: Int, held: TransientValues.Held)]
  /// The changes of transient relationships by slot.
  let links: [(slot: Int, delta: LinkDelta)]
}

extension ContextCore {
  /// Whether a save of this child passes transient values or links to its parent.
  var changesTransientsOfParent: Bool {
    guard isChild, hasTransients || graph.hasTransientRelationships else { return false }
    return tracker.contains { !$0.isDeleted && ($0.changesTransients || !$0.transientDeltas.isEmpty) }
  }

  /// The transient values and links that were set since the last save.
  func changedTransients() -> [ChangedTransients] {
    tracker.ordered.joined().compactMap { overlay in
      if overlay.isDeleted { return nil }
      let (values, links) = (overlay.setTransients, overlay.transientDeltas)
      if values.isEmpty, links.isEmpty { return nil }
      return ChangedTransients(reference: overlay.reference, values: values, links: links)
    }
  }

  /// Applies the transient values of a child.
  func take(_ changed: ChangedTransients) {
    if changed.values.isEmpty { return }
    let object = instance(of: changed.reference)
    for (slot, held) in changed.values { setTransient(of: object, slot, own(held)) }
  }

  /// Applies the transient links of a child. The next save of this context refuses a link to an
  /// object that it no longer has.
  func takeLinks(_ changed: ChangedTransients) {
    // Of a relationship with an inverse, the other end reports the links.
    guard hasObject(changed.reference) else { return }
    for (slot, delta) in changed.links {
      let relationship = graph.shape(of: changed.reference).relationship(slot)
      for target in delta.removed.ordered { disconnect(changed.reference, relationship, target) }
      for target in delta.added.ordered {
        if hasObject(target) {
          connect(changed.reference, relationship, target)
        } else {
          refuseLink(of: instance(of: changed.reference), slot, to: instance(of: target))
        }
      }
    }
  }

  /// Whether the object exists here and is not deleted.
  private func hasObject(_ reference: ObjectReference) -> Bool {
    if let overlay = tracker[reference], overlay.isNew || overlay.isDeleted { return !overlay.isDeleted }
    return viewVersion(of: reference) != nil
  }

  /// The value for this context: an object of the child becomes this context's instance of it.
  private func own(_ held: TransientValues.Held) -> TransientValues.Held {
    guard case .object(let value) = held, let object = value as? ManagedObject, object.core !== self else {
      return held
    }
    return .object(instance(of: object.reference))
  }
}

extension ObjectOverlay {
  /// The changes of transient relationships.
  fileprivate var transientDeltas: [(slot: Int, delta: LinkDelta)] {
    deltas.filter { shape.relationship($0.slot).isTransient }
  }

  /// The transient values that were set since the last save, by slot.
  fileprivate var setTransients: [(slot: Int, held: TransientValues.Held)] {
    guard let set = transientsBefore?.setSince,
      let held = object?.header.pointee.transients?.takeUnretainedValue().bySlot
    else { return [] }
    return set.sorted().compactMap { slot in held[slot].map { (slot: slot, held: $0) } }
  }
}
