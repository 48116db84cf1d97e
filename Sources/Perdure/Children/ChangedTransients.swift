// The transient values that a child saves. No row holds them, so the child passes them to its
// parent beside the change.

/// The transient values that a child has set of one object.
struct ChangedTransients {
  let reference: ObjectReference
  /// The values by slot. Values of any type are shared with the child.
  let values: [(slot: Int, held: TransientValues.Held)]
}

extension ContextCore {
  /// Whether a save of this child passes transient values to its parent.
  var changesTransientsOfParent: Bool {
    hasTransients && isChild && tracker.contains { $0.changesTransients && !$0.isDeleted }
  }

  /// The transient values that were set since the last save.
  func changedTransients() -> [ChangedTransients] {
    tracker.ordered.joined().compactMap { overlay in
      guard !overlay.isDeleted, let set = overlay.transientsBefore?.setSince, !set.isEmpty,
        let held = overlay.object?.header.pointee.transients?.takeUnretainedValue().bySlot
      else { return nil }
      let values = set.sorted().compactMap { slot in held[slot].map { (slot: slot, held: $0) } }
      return ChangedTransients(reference: overlay.reference, values: values)
    }
  }

  /// Applies the transient values of a child.
  func take(_ changed: ChangedTransients) {
    let object = instance(of: changed.reference)
    for (slot, held) in changed.values { setTransient(of: object, slot, own(held)) }
  }

  /// The value for this context: an object of the child becomes this context's instance of it.
  private func own(_ held: TransientValues.Held) -> TransientValues.Held {
    guard case .object(let value) = held, let object = value as? ManagedObject, object.core !== self else {
      return held
    }
    return .object(instance(of: object.reference))
  }
}
