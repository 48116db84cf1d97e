// The undo groups of earlier deletions, whose delete rules are applied again.
//
// Another context can connect an object with one whose deletion is pending here. After the merge,
// the delete rules are applied again, and may delete or change that object. The program has made no
// edit, so these changes get no group of their own, and groups that can be redone stay.
// `DeletionGroups` reopens the group of the deletion and adds the changes to it. The undo of the
// deletion then reverts them too. If no group has the deletion, for example after `withoutUndo`,
// these changes cannot be undone either.

internal import PerdurePredicates

/// Reopens the groups of earlier deletions, while delete rules are applied again.
final class DeletionGroups {
  private let changeHistory: (_ change: (inout UndoHistory) -> Void) -> Void
  /// The complete group that has deleted each object. The dictionary is made at the first change by
  /// a delete rule.
  private var complete: [ObjectReference: UndoGroup]?
  /// The reopened groups, by their numbers.
  private var reopened: [UInt64: OpenUndoGroup] = [:]

  init(changeHistory: @escaping (_ change: (inout UndoHistory) -> Void) -> Void) {
    self.changeHistory = changeHistory
  }

  /// The reopened groups.
  var open: some Collection<OpenUndoGroup> { reopened.values }

  /// The group that has deleted an object; nil if there is none.
  ///
  /// - Parameter others: The open groups that are not reopened.
  func group(
    ofDeleted reference: ObjectReference, among others: [OpenUndoGroup]
  ) -> OpenUndoGroup? {
    for group in others + open where group.hasRemoved(reference) { return group }
    if complete == nil { changeHistory { complete = $0.groupsOfDeletions() } }
    guard let group = complete?[reference] else { return nil }
    let open = reopened[group.number] ?? OpenUndoGroup(continuing: group)
    reopened[group.number] = open
    return open
  }

  /// Puts the reopened groups back into the history, with the new changes. All contents must have
  /// been read.
  ///
  /// - Parameter later: The other open groups. They are later than all complete groups.
  func close(before later: [OpenUndoGroup]) {
    complete = nil
    let later = later.flatMap { $0.changes() }
    for (number, group) in reopened {
      changeHistory { $0.setChanges(group.changes(), ofGroup: number, before: later) }
    }
    reopened = [:]
  }

  /// Forgets the reopened groups, after a rollback or a removal of all groups.
  func forget() {
    complete = nil
    reopened = [:]
  }
}

extension UndoGroup {
  /// The group with other changes. If the new changes delete an additional object, it is recorded
  /// with its values before the later changes, because those are undone first.
  func with(_ changes: [Change], before later: [Change]) -> UndoGroup {
    let known = Set(self.changes.map(\.place))
    var earlier: [EditedPlace: Value] = [:]
    for case (let place, .value(let value)) in later.map({ ($0.place, $0.before) })
    where earlier[place] == nil {
      earlier[place] = value
    }
    let dated = changes.map { change in
      guard case .object(let object) = change.before, !known.contains(change.place) else { return change }
      let columns = object.columns.enumerated().map { slot, value in
        earlier[.column(change.place.owner, slot: slot)] ?? value
      }
      let before = EditedObject(
        columns: columns, transients: object.transients, wasStored: object.wasStored,
        hasPermanentID: object.hasPermanentID)
      return Change(place: change.place, before: .object(before), after: change.after)
    }
    return UndoGroup(name: name, changes: dated, number: number)
  }
}
