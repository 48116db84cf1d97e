// The obstacles to an undo: contents that have changed since the group.

public import PerdurePredicates

/// A property that an undo group has changed, and that has another value now: of another context's
/// save, or of an edit that is not in a group.
public struct UndoConflict: Hashable, Sendable {
  /// The object.
  public let objectID: ManagedObjectID
  /// The property; empty if the object as a whole is concerned.
  public let property: String
  /// The value before the group, which an undo would restore.
  ///
  /// An object in a relationship is its id (`Value.objectID`). For an object as a whole it is true
  /// or false: whether the object exists. So it is for one link of a to-many relationship, of which
  /// `member` is the other end. For a position it is the order key as data. Transient values that
  /// are no `Value` are shown as null.
  public let before: Value
  /// The value that the group has set.
  public let after: Value
  /// The value now.
  public let current: Value
  /// The object at the other end, for a link or a position in a to-many relationship.
  public let member: ManagedObjectID?
}

extension UndoConflict: CustomStringConvertible {
  /// The property with its three values.
  public var description: String {
    let name = property.isEmpty ? "\(objectID)" : "\(objectID) \(property)"
    let place = member.map { "\(name), member \($0)" } ?? name
    let values = [before, after, current].map { "\($0)".shortened }
    return "\(place): was \(values[0]), the group has set \(values[1]), and it is \(values[2]) now"
  }
}

/// The behavior of `undo` and `redo` towards values that have changed since the group.
public enum UndoConflictPolicy: Hashable, Sendable {
  /// They throw an error with all conflicts, and change nothing.
  case refuse
  /// They leave these values as they are, and take back the others.
  case keepCurrent
  /// They replace these values. An object that no longer exists stays away, and so do links to it.
  case overwrite
}

extension PerdureError {
  static func undo(_ conflicts: [UndoConflict], _ direction: UndoHistory.Direction) -> PerdureError {
    let verb = direction == .undo ? "undo" : "redo"
    var error = PerdureError(
      .undoConflict,
      "\(conflicts.count == 1 ? "A value has" : "\(conflicts.count) values have") changed since the edits to \(verb). "
        + "Nothing was changed. Call \(verb)(.keepCurrent) to leave the changed values as they are, or "
        + "\(verb)(.overwrite) to replace them.")
    error.undoConflicts = conflicts
    return error
  }
}
