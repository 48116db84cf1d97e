internal import PerdurePredicates

/// The content of an overlay at one time, for operations that may be reverted
/// (OverlayCopies.swift).
struct OverlayContent {
  /// Changed columns by slot; nil if the row was not changed.
  let columns: [Int: Value]?
  let deltas: [(slot: Int, delta: LinkDelta)]
  let orders: [(slot: Int, delta: OrderDelta)]
  let (isDeleted, isTouched, isPropagated): (Bool, Bool, Bool)
  let baseVersion: RowVersion?
  let keptBase: KeptRow?
  let deletedWith: ObjectReference?
  let eventStart: EventStart?
  let isBeforeEvent: Bool
}

/// The changes of an object at the beginning of an event.
struct EventStart {
  /// Changed columns by slot.
  var columns: [Int: Value] = [:]
  /// Changed links by the slot of the relationship.
  var deltas: [Int: LinkDelta] = [:]
}

extension ObjectOverlay {
  /// The changed columns by slot.
  var changedColumns: [Int: Value] {
    var columns: [Int: Value] = [:]
    withColumns { values, marks in
      for slot in marks.indices where marks[slot] { columns[slot] = values[slot] }
    }
    return columns
  }

  /// The content of the overlay, without transient attributes.
  var content: OverlayContent {
    OverlayContent(
      columns: changesRow ? changedColumns : nil, deltas: deltas,
      orders: orders.map { ($0.slot, $0.delta.copy()) },
      isDeleted: isDeleted, isTouched: isTouched,
      isPropagated: isPropagated, baseVersion: baseVersion, keptBase: keptBase, deletedWith: deletedWith,
      eventStart: eventStart,
      isBeforeEvent: isBeforeEvent)
  }
}
