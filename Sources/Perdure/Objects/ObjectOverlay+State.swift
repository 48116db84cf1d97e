// The kinds of changes in an overlay.

internal import PerdurePredicates

extension ObjectOverlay {
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
}
