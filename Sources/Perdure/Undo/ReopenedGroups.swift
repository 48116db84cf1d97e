// Complete undo groups that get further changes.
//
// Two kinds of changes are not edits of the program, so they get no group of their own, and the
// groups to redo stay:
//
//   - Another context can connect an object with one whose deletion is pending here. After the
//     merge, the delete rules are applied again, and may delete or change that object. These
//     changes belong to the group of the deletion, so its undo reverts them too. If no group has
//     the deletion, for example after `withoutUndo`, they cannot be undone either.
//   - The hooks of a save belong to the groups of their objects (HookGroups.swift).

internal import PerdurePredicates

/// Reopens complete groups, and puts them back into the history.
final class ReopenedGroups {
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
    return complete?[reference].map(reopen)
  }

  /// The reopened group for a complete group of the history.
  func reopen(_ group: UndoGroup) -> OpenUndoGroup {
    if let open = reopened[group.number] { return open }
    let open = OpenUndoGroup(continuing: group)
    reopened[group.number] = open
    return open
  }

  /// The complete groups of a stack, in its order.
  func completeGroups(_ direction: UndoHistory.Direction) -> [UndoGroup] {
    var groups: [UndoGroup] = []
    changeHistory { groups = $0.groups(direction) }
    return groups
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

  func rename(_ change: ReferenceChange) {
    complete = nil
    for group in open { group.rename(change) }
  }
}

extension UndoGroup {
  /// The group with other changes. A place that was added to the group gets its content before the
  /// later changes, because those are undone first.
  func with(_ changes: [Change], before later: [Change]) -> UndoGroup {
    let known = Set(self.changes.map(\.place))
    let earlier = Dictionary(later.map { ($0.place, $0.before) }) { first, _ in first }
    let dated = changes.map { change in
      if known.contains(change.place) { return change }
      let before =
        if case .object(let object) = change.before {
          EditedContent.object(object.with(earlier, of: change.place.owner))
        } else {
          earlier[change.place] ?? change.before
        }
      return Change(place: change.place, before: before, after: change.after, marks: change.marks)
    }
    return UndoGroup(name: name, changes: Self.merged(dated), number: number)
  }
}

extension EditedObject {
  /// Replaces the columns and transient attributes for which `contents` has a content.
  fileprivate func with(
    _ contents: [EditedPlace: EditedContent], of reference: ObjectReference
  ) -> EditedObject {
    var (columns, transients) = (columns, transients)
    for slot in columns.indices {
      if case .value(let earlier) = contents[.column(reference, slot: slot)] { columns[slot] = earlier }
      guard let earlier = contents[.transient(reference, slot: slot)] else { continue }
      if case .transient(let held) = earlier { transients[slot] = held } else { transients[slot] = nil }
    }
    return EditedObject(
      columns: columns, transients: transients, wasStored: wasStored, hasPermanentID: hasPermanentID)
  }
}
