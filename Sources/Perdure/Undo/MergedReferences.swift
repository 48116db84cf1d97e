// New objects that a save has merged into other objects, in undo groups.
//
// Later groups may have edited the new object. Their places become places of the other object, so
// that they can still be undone. The insertion of the new object stays as it is. Its undo has no
// effect, because the group has not inserted the other object.

internal import PerdurePredicates

/// The objects into which a save has merged new objects.
struct MergedReferences {
  private let survivors: [ObjectReference: ObjectReference]
  private let graph: GraphSchema

  /// - Parameter survivors: The other object of each merged object.
  init(_ survivors: [ObjectReference: ObjectReference], _ graph: GraphSchema) {
    (self.survivors, self.graph) = (survivors, graph)
  }

  /// The group with the merged objects replaced. If two places become one, the content before the
  /// first one and after the second one are kept (UG1 in UndoGroup.swift).
  func replaced(in group: UndoGroup) -> UndoGroup {
    var changes: [UndoGroup.Change] = []
    var positions: [EditedPlace: Int] = [:]
    for change in group.changes {
      let (place, after) = (replaced(change.place), replaced(change.after))
      if let position = positions[place] {
        changes[position] = UndoGroup.Change(place: place, before: changes[position].before, after: after)
      } else {
        positions[place] = changes.count
        changes.append(UndoGroup.Change(place: place, before: replaced(change.before), after: after))
      }
    }
    return UndoGroup(name: group.name, changes: changes, number: group.number)
  }

  private func survivor(_ reference: ObjectReference) -> ObjectReference { survivors[reference] ?? reference }

  func replaced(_ place: EditedPlace) -> EditedPlace {
    switch place {
    case .object: return place
    case .column(let owner, let slot): return .column(survivor(owner), slot: slot)
    case .transient(let owner, let slot): return .transient(survivor(owner), slot: slot)
    case .position(let member, let owner, let slot):
      return .position(of: survivor(member), in: survivor(owner), slot: slot)
    case .link(let owner, let slot, let target):
      let (owner, target) = (survivor(owner), survivor(target))
      let relationship = graph.shape(of: owner).relationship(slot)
      return relationship.canonicalEnd(
        owner, target, inverse: graph.inverse(of: relationship, at: target))
    }
  }

  func replaced(_ content: EditedContent) -> EditedContent {
    switch content {
    case .value(let value): .value(replaced(value))
    case .object(let object):
      .object(
        EditedObject(
          columns: object.columns.map { replaced($0) },
          transients: object.transients.mapValues { replaced($0) },
          wasStored: object.wasStored, hasPermanentID: object.hasPermanentID))
    case .transient(let held): .transient(replaced(held))
    case .stored, .absent, .linked, .key: content
    }
  }

  private func replaced(_ held: HeldTransient) -> HeldTransient {
    if case .instance(let reference) = held { .instance(survivor(reference)) } else { held }
  }

  private func replaced(_ value: Value) -> Value {
    if case .reference(let reference) = value { .reference(survivor(reference)) } else { value }
  }
}
