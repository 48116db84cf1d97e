// In undo groups, replaces new objects that a save has merged into other objects.
//
// Later groups may have edited the new object. Their places become places of the other object, so
// that they can still be undone. A link or a position that the other object had before the save is
// not a change of the group. The place of the inserted object itself is not replaced. The undo of
// this insertion has no effect, because the group has not inserted the other object.

internal import PerdurePredicates

/// The objects into which a save has merged new objects.
struct MergedReferences {
  private let survivors: [ObjectReference: ObjectReference]
  private let graph: GraphSchema
  /// Reads the stored content of a link or a position before the save that has merged the objects.
  private let stored: (EditedPlace) -> EditedContent?

  /// - Parameters:
  ///   - survivors: The other object of each merged object.
  ///   - stored: Reads the stored content of a link or a position before the save.
  init(
    _ survivors: [ObjectReference: ObjectReference], _ graph: GraphSchema,
    stored: @escaping (EditedPlace) -> EditedContent?
  ) {
    (self.survivors, self.graph, self.stored) = (survivors, graph, stored)
  }

  /// The group with the merged objects replaced. Two places can become one.
  func replaced(in group: UndoGroup) -> UndoGroup {
    let changes = group.changes.map { change in
      let place = replaced(change.place)
      return UndoGroup.Change(
        place: place, before: before(change.before, at: place, replacing: change.place),
        after: replaced(change.after), marks: change.marks)
    }
    return UndoGroup(name: group.name, changes: UndoGroup.merged(changes), number: group.number)
  }

  /// The content before a change whose place has replaced another place. For a link or a position,
  /// this is the content that was stored before the save.
  func before(
    _ content: EditedContent, at place: EditedPlace, replacing other: EditedPlace
  ) -> EditedContent {
    if place != other, isRelation(place), let stored = stored(place) { return stored }
    return replaced(content)
  }

  private func isRelation(_ place: EditedPlace) -> Bool {
    switch place {
    case .link, .position: true
    case .object, .column, .transient: false
    }
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
