// The transient values that a child saves: no row has them, so they go to the parent beside the change.

/// What a child has set of an object's transient attributes.
struct ChangedTransients {
  let reference: ObjectReference
  /// The values by slot. Values of any type are shared with the child.
  let values: [(slot: Int, held: TransientValues.Held)]
}

extension ContextCore {
  /// Whether a save of this child gives transient values to its parent.
  var changesTransientsOfParent: Bool {
    hasTransients && isChild && tracker.contains { $0.changesTransients && !$0.isDeleted }
  }

  /// What was set of transient attributes since the last save.
  func changedTransients() -> [ChangedTransients] {
    tracker.ordered.joined().compactMap { overlay in
      guard !overlay.isDeleted, let set = overlay.transientsBefore?.setSince, !set.isEmpty,
        let held = overlay.object?.header.pointee.transients?.takeUnretainedValue().bySlot
      else { return nil }
      let values = set.sorted().compactMap { slot in held[slot].map { (slot: slot, held: $0) } }
      return ChangedTransients(reference: overlay.reference, values: values)
    }
  }

  /// Sets what a child has set.
  func take(_ changed: ChangedTransients) {
    let object = instance(of: changed.reference)
    for (slot, held) in changed.values { setTransient(of: object, slot, own(held)) }
  }

  /// An object of the child is this context's object of the same identity.
  private func own(_ held: TransientValues.Held) -> TransientValues.Held {
    guard case .object(let value) = held, let object = value as? ManagedObject, object.core !== self else {
      return held
    }
    return .object(instance(of: object.reference))
  }
}
