// What the changes of an overlay are, as a whole.

internal import PerdurePredicates

extension ObjectOverlay {
  /// Whether links are changed that the store keeps.
  var hasStoredDeltas: Bool { deltas.contains { !shape.relationship($0.slot).isTransient } }

  /// Whether a save has to ask the store for anything.
  var isToBeWritten: Bool {
    isNew || isDeleted || changesRow || hasOrders || hasStoredDeltas
  }

  /// Whether a transient attribute was set since the last save.
  var changesTransients: Bool { transientsBefore != nil }

  var state: ObjectState {
    if isDeleted { return isNew ? .gone : .deleted }
    return isNew ? .inserted : .updated
  }

  /// The number of links and places with changes.
  var memberCount: Int {
    deltas.reduce(0) { $0 + $1.delta.added.count + $1.delta.removed.count }
      + orders.reduce(0) { $0 + $1.delta.count }
  }
}
