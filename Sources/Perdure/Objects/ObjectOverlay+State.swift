// The kinds of changes in an overlay.

internal import PerdurePredicates

extension ObjectOverlay {
  /// Whether the store has no references to the object, because the object was never in the store.
  /// If an object is inserted again, the delete rule `.noAction` may have left references to it.
  var isUnknownToStore: Bool { isNew && !isInsertedAgain }

  /// Whether the program has deleted the object before its first save. No save writes such an
  /// object.
  @inline(__always)
  var isDiscarded: Bool { isDeleted && isNew }

  /// Whether a rule denies the deletion of a new object, so that the next save throws an error. The
  /// delete rules have been applied, and have not removed the object.
  var isDeniedDiscard: Bool { isDiscarded && isPropagated }

  var hasTemporaryID: Bool { isNew && !hasPermanentID }

  /// Whether a row can hold the changed values. A row cannot hold an id of another store
  /// (`GraphSchema.heldIdentity`), or a value without bytes (VT2 in ValueTransformers.swift).
  var fitsRow: Bool {
    !shape.template.indices.contains { slot in
      switch value(slot) {
      case .objectID, .list: true
      default: false
      }
    }
  }

  var hasDeltas: Bool { !deltas.isEmpty }

  var hasOrders: Bool { !orders.isEmpty }

  /// Whether links of stored relationships are changed.
  var hasStoredDeltas: Bool { deltas.contains { !shape.relationship($0.slot).isTransient } }

  /// Whether a save has changes of the object to write.
  var isToBeWritten: Bool {
    isNew || isDeleted || changesRow || hasOrders || hasStoredDeltas
  }

  /// Whether a transient attribute was set since the last save.
  var changesTransients: Bool { transientsBefore != nil }

  var state: ObjectState {
    if isDeleted { return isNew ? .gone : .deleted }
    return isNew ? .inserted : .updated
  }

  /// The number of changed links and order keys.
  var memberCount: Int {
    deltas.reduce(0) { $0 + $1.delta.added.count + $1.delta.removed.count }
      + orders.reduce(0) { $0 + $1.delta.count }
  }

  /// Changes a column, but leaves `isTouched` unchanged: a save does not call hooks for this
  /// change.
  func setPrimitiveValue(_ value: Value, _ slot: Int) {
    let wasTouched = isTouched
    setValue(value, slot)
    isTouched = wasTouched
  }
}
