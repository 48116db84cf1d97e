// The deletions of the groups below a group in its stack. Their undo will restore the deleted
// objects, after the undo of the later group.

internal import PerdurePredicates

/// The objects that earlier groups have deleted, and the links that they have removed.
struct EarlierDeletions {
  /// The contents of the deleted objects before their deletion.
  private var objects: [ObjectReference: EditedObject] = [:]
  private var links: Set<EditedPlace> = []

  /// - Parameter groups: The earlier groups of a stack, in its order.
  /// - Complexity: O(n) for n changes in the groups.
  init(_ groups: some Sequence<UndoGroup>) {
    for change in groups.flatMap(\.changes) where change.after.isAbsent {
      switch (change.place, change.before) {
      case (.object(let reference), .object(let object)): objects[reference] = object
      case (.link, .linked): links.insert(change.place)
      default: break
      }
    }
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
