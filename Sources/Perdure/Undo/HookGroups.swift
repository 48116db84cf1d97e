// The undo groups of edits that the hooks of a save make.
//
// A hook keeps other values of its object up to date, for example a key that is computed from a
// title. So an edit by the hook of an object belongs to the last group that has changed this
// object. Then the undo of that group reverts both. If a later group has changed the object that
// the hook edits, the edit belongs to that group, because it is undone first.
//
// After an undo, the group to redo may also have changed the object. Then the edit belongs to both
// groups: the next undo and the next redo find the content that the hook has left. If no group has
// changed the object, for example after `withoutUndo`, the edit cannot be undone either.

internal import PerdurePredicates

/// Selects the groups of edits while the hooks of a save are called.
final class HookGroups {
  /// The groups of a stack, the last one first. Groups are searched only as far as needed.
  private struct Stack {
    enum Group {
      case open(OpenUndoGroup)
      case complete(UndoGroup)
    }

    let groups: [Group]
    private var searchedCount = 0
    /// The position of the last group that has changed an object, for the searched groups.
    private var positions: [ObjectReference: Int] = [:]

    init(_ groups: [Group]) { self.groups = groups }

    /// The position of the last group that has changed the first object; nil if there is none. If
    /// a later group has changed the second one, the position of that group.
    mutating func position(of first: ObjectReference, _ second: ObjectReference) -> Int? {
      while positions[first] == nil, searchedCount < groups.count { searchNext() }
      guard let position = positions[first] else { return nil }
      return min(position, positions[second] ?? position)
    }

    private mutating func searchNext() {
      let position = searchedCount
      searchedCount += 1
      let changes =
        switch groups[position] {
        case .open(let group): group.changes()
        case .complete(let group): group.changes
        }
      for change in changes {
        for object in change.objects where positions[object] == nil { positions[object] = position }
      }
    }

    /// Notes that the group at a position changes an object.
    mutating func note(_ object: ObjectReference, _ position: Int) { positions[object] = position }
  }

  private let reopened: ReopenedGroups
  private let openGroups: () -> [OpenUndoGroup]
  private var stacks: [Stack]?
  /// The object whose hook is running; nil if there is none. Then an edit counts as one of its own
  /// object.
  var object: ObjectReference?

  /// - Parameter openGroups: Returns the groups that are open, the last one at the end. Their
  ///   contents must have been read.
  init(_ reopened: ReopenedGroups, openGroups: @escaping () -> [OpenUndoGroup]) {
    self.reopened = reopened
    self.openGroups = openGroups
  }

  /// The groups to which the edit of a place belongs, at most one of each stack.
  ///
  /// - Complexity: O(1) amortized, and O(c) in total for c changes in the groups that are searched.
  func groups(of place: EditedPlace) -> [OpenUndoGroup] {
    var stacks = stacks ?? makeStacks()
    self.stacks = nil
    defer { self.stacks = stacks }
    return stacks.indices.compactMap { index in
      let owner = place.owner
      guard let position = stacks[index].position(of: object ?? owner, owner) else { return nil }
      for changed in place.ends { stacks[index].note(changed, position) }
      return switch stacks[index].groups[position] {
      case .open(let group): group
      case .complete(let group): reopened.reopen(group)
      }
    }
  }

  /// Searches the groups again, after they were changed by something other than an edit.
  func reset() { stacks = nil }

  private func makeStacks() -> [Stack] {
    let open = openGroups().reversed().map { Stack.Group.open($0) }
    return [UndoHistory.Direction.undo, .redo].map { direction in
      let complete = reopened.completeGroups(direction).reversed().map { Stack.Group.complete($0) }
      return Stack(direction == .undo ? open + complete : complete)
    }
  }
}

extension UndoGroup.Change {
  /// The objects that the change concerns: the owner of the place, and the objects to which its
  /// contents refer.
  fileprivate var objects: [ObjectReference] {
    var objects = ends
    if case .value(.reference(let target)) = after { objects.append(target) }
    for case .object(let object) in [before, after] {
      for case .reference(let target) in object.columns { objects.append(target) }
    }
    return objects
  }
}
