// The groups below a group in its stack. They are undone after the later group. Their undo restores
// the objects that they have deleted. They may have changed the same places as the later group.

internal import PerdurePredicates

/// The earlier groups of a stack, with the objects that they have deleted and the links that they
/// have removed.
struct EarlierGroups {
  /// The contents of the deleted objects before their deletion.
  private var objects: [ObjectReference: EditedObject] = [:]
  private var links: Set<EditedPlace> = []
  private let groups: [UndoGroup]

  /// - Parameter groups: The earlier groups of a stack, in the order of the stack.
  /// - Complexity: O(n) for n changes in the groups.
  init(_ groups: some Sequence<UndoGroup>) {
    self.groups = Array(groups)
    for change in groups.flatMap(\.changes) where change.after.isAbsent {
      switch (change.place, change.before) {
      case (.object(let reference), .object(let object)): objects[reference] = object
      case (.link, .linked): links.insert(change.place)
      default: break
      }
    }
  }

  /// Whether an earlier group and the group of a change have changed its place in turns. Then
  /// neither order of undoing the two groups restores the contents before both.
  ///
  /// - Complexity: O(n) for n changes in the groups that ended after the first of these turns.
  func overlap(_ change: UndoGroup.Change) -> Bool {
    guard let last = change.marks.lastBeforeOverlap else { return false }
    return groups.contains { $0.number > last && $0.changes.contains { $0.place == change.place } }
  }

  func contains(_ reference: ObjectReference) -> Bool { objects[reference] != nil }

  /// Whether a deletion came after a change of a later group: that group began before the deletion,
  /// and ended after it. Then the undo of the deletion restores the content after the change.
  ///
  /// - Parameter change: A change of an object that an earlier group has deleted, or of a link to
  ///   it.
  func follow(_ change: UndoGroup.Change) -> Bool {
    switch change.place {
    case .column(let owner, let slot):
      return objects[owner].map { !change.before.isSame(as: .value($0.columns[slot])) } ?? false
    case .transient(let owner, let slot):
      return objects[owner].map { object in
        !change.before.isSame(as: object.transients[slot].map { .transient($0) } ?? .absent)
      } ?? false
    case .link: return change.before.isAbsent && links.contains(change.place)
    case .object, .position: return false
    }
  }
}
