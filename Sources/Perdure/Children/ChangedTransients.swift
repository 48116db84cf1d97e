// The transient values and links that a child saves. No row has them, so the child passes them to
// its parent in addition to the `StoreChange`. The parent's links may differ from the child's
// before the save. So only the links that the child made and removed change in the parent.

/// The transient properties of one object that a child has set.
struct ChangedTransients {
  let reference: ObjectReference
  /// The values by slot. The value of an attribute of undefined type is not copied: parent and
  /// child share it.
  let values: [(slot: Int, held: TransientValues.Held)]
  /// The changes of transient relationships by slot.
  let links: [(slot: Int, delta: LinkDelta)]
}

extension ObjectOverlay {
  /// The changes of transient relationships.
  var transientDeltas: [(slot: Int, delta: LinkDelta)] {
    deltas.filter { shape.relationship($0.slot).isTransient }
  }

  /// The transient values that were set since the last save, by slot.
  var setTransients: [(slot: Int, held: TransientValues.Held)] {
    guard let set = transientsBefore?.setSince,
      let held = object?.header.pointee.transients?.takeUnretainedValue().bySlot
    else { return [] }
    return set.sorted().compactMap { slot in held[slot].map { (slot: slot, held: $0) } }
  }
}
