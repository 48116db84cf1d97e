internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A place whose content differs from the contents that an undo expects.
struct FoundConflict {
  /// The place that the undo is to change.
  let place: EditedPlace
  /// The place that `UndoConflict` describes. For an object that the group has added, this is the
  /// changed column.
  let property: EditedPlace
  let before: EditedContent
  let after: EditedContent
  let current: EditedContent

  /// The object that was connected, after the group, with an object that the undo removes, and that
  /// a cascade deletes with it; nil for other conflicts.
  var connected: ObjectReference?

  /// The conflict with the object's id and the property's name, as it is reported.
  func shown(_ graph: GraphSchema, _ pending: PendingChanges) -> UndoConflict {
    let (owner, slot) = (property.owner, property.slot)
    var member: ManagedObjectID?
    switch property {
    case .link(_, _, let target), .position(let target, _, _): member = pending.objectID(of: target)
    default: break
    }
    return UndoConflict(
      objectID: pending.objectID(of: owner),
      property: slot.map { graph.shape(of: owner).propertyName($0) } ?? "",
      before: shown(before, graph), after: shown(after, graph), current: shown(current, graph),
      member: member)
  }

  private func shown(_ content: EditedContent, _ graph: GraphSchema) -> Value {
    switch content {
    case .value(let value), .transient(.value(let value)): graph.shown(value)
    case .transient(.instance(let reference)): graph.shown(.reference(reference))
    case .linked, .object: .bool(true)
    case .key(let key): .data(Data(key.bytes))
    case .absent:
      switch property {
      case .link, .object: .bool(false)
      case .column, .position, .transient: .null
      }
    case .stored, .transient: .null
    }
  }
}
