// The undo groups of earlier deletions, whose delete rules are applied again.
//
// Another context can connect an object with one whose deletion is pending here. After the merge,
// the delete rules are applied again, and may delete or change that object. The program has made no
// edit, so these changes get no group of their own, and groups that can be redone stay. They are
// added to the group that has deleted the object, which is reopened. The undo of the deletion then
// restores them too. If no group has the deletion, they cannot be undone either: for example, it
// was made in `withoutUndo`.

internal import PerdurePredicates

/// Reopens the groups of earlier deletions, while delete rules are applied again.
final class DeletionGroups {
  private let changeHistory: (_ change: (inout UndoHistory) -> Void) -> Void
  /// The complete group that has deleted each object. Made for the first change by a rule.
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

  /// Puts the reopened groups back into the history, with the new changes.
  func close(_ reader: some EditedContentReader) {
    complete = nil
    for (number, group) in reopened {
      group.settle(reader)
      changeHistory { $0.setChanges(group.changes(), ofGroup: number) }
    }
    reopened = [:]
  }

  /// Forgets the reopened groups, after a rollback or a removal of all groups.
  func forget() {
    complete = nil
    reopened = [:]
  }
}
