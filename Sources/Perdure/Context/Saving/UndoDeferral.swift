// Links that only the undo of an earlier group can restore.
//
// The delete rules deny and no action keep references to an object whose deletion is pending. A
// later group can replace such a reference, or delete the object that has it. After a save, the
// deleted object does not exist. So the undo of the later group leaves the link out, and adds it to
// the group of the deletion. The undo of that group restores the object together with the link.

internal import PerdurePredicates

/// Splits a group into the contents that its undo restores, and the links that it leaves out.
struct UndoDeferral {
  private let finder: UndoConflictFinder
  private let groups: () -> EarlierGroups
  private lazy var earlier = groups()
  /// The changes of the links that are left out. Their contents after the change are empty.
  private(set) var links: [UndoGroup.Change] = []

  /// - Parameter groups: Called at the first missing object.
  init(_ finder: UndoConflictFinder, _ groups: @escaping () -> EarlierGroups) {
    (self.finder, self.groups) = (finder, groups)
  }

  /// Adds the links that are left out to `links`.
  ///
  /// - Returns: The group with these links empty.
  mutating func rest(of group: UndoGroup) -> UndoGroup {
    let returning = Set(finder.returning(group.changes).map(\.reference))
    let changes = group.changes.map { change in
      if case .object(let object) = change.before, returning.contains(change.place.owner) {
        for link in object.links(of: change.place.owner) where isMissingEnd(of: link, returning) {
          links.append(link)
        }
      }
      guard isMissingEnd(of: change, returning) else { return change }
      let empty = change.place.emptyLink
      links.append(
        UndoGroup.Change(
          place: change.place, before: change.before, after: empty, marks: change.marks))
      return UndoGroup.Change(
        place: change.place, before: empty, after: change.after, marks: change.marks)
    }
    if links.isEmpty { return group }
    return UndoGroup(name: group.name, changes: UndoGroup.merged(changes), number: group.number)
  }

  /// Whether the undo of a change restores a link that has a missing end, and an earlier group
  /// restores this end.
  private mutating func isMissingEnd(
    of change: UndoGroup.Change, _ returning: Set<ObjectReference>
  ) -> Bool {
    switch (change.place, change.before) {
    case (.column, .value(.reference(let target))):
      return !returning.contains(target) && !finder.canLink(change.place, target)
        && finder.isToReturn(target, earlier)
    case (.link(let owner, _, let target), .linked), (.position(let target, let owner, _), .key):
      if !returning.contains(target), !finder.canLink(change.place, target) {
        return finder.isToReturn(target, earlier)
      }
      return !returning.contains(owner) && !finder.canLinkOwner(change.place)
        && finder.isToReturn(owner, earlier)
    default: return false
    }
  }
}

extension EditedObject {
  /// The to-one relationships of the object, as changes of its columns.
  fileprivate func links(of owner: ObjectReference) -> [UndoGroup.Change] {
    columns.enumerated().compactMap { slot, value in
      guard case .reference = value else { return nil }
      return UndoGroup.Change(
        place: .column(owner, slot: slot), before: .value(value), after: .value(.null))
    }
  }
}
