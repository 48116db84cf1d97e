// The conflicts of an undo: contents that were changed after the group's edits.

public import PerdurePredicates

/// A property that an undo group has changed and that has another value now. The new value is from
/// a save of another context, from an edit outside of groups, or from a group that overlaps this
/// one. An unsaved edit can hide a value that another context has saved: then the context still
/// shows the edit.
public struct UndoConflict: Hashable, Sendable {
  /// The object.
  public let objectID: ManagedObjectID
  /// The property; empty for a conflict of the object as a whole.
  public let property: String
  /// The value before the group, which an undo restores.
  ///
  /// An object in a relationship is represented by its id (`Value.objectID`). For an object as a
  /// whole, the value is true if the object exists, and false if it does not. For a link of
  /// a to-many relationship, the value is true if the link to `member` exists, and false if it does
  /// not. A position is represented by its order key as data. A transient value is represented by
  /// null, unless it is a `Value` or an object of this context.
  public let before: Value
  /// The value that the group has set.
  public let after: Value
  /// The value that the context shows; the saved value if an unsaved edit hides it.
  public let current: Value
  /// The object at the other end, for a link or a position in a to-many relationship.
  public let member: ManagedObjectID?
}

extension UndoConflict: CustomStringConvertible {
  /// The property with its three values, or what has happened to the object or the member.
  public var description: String {
    if property.isEmpty { return "\(objectID): the group has changed the object, but it does not exist now" }
    let name = "\(objectID) \(property)"
    if before == .null, after == .null, case .objectID(let target) = current {
      return "\(name): the object was connected with \(target) after the group, and is deleted with it"
    }
    let place = member.map { "\(name), member \($0)" } ?? name
    if member != nil, case .data = after { return "\(place): was moved after the group" }
    let values = [before, after, current].map { "\($0)".shortened }
    return "\(place): was \(values[0]), the group has set \(values[1]), and it is \(values[2]) now"
  }
}

/// How `undo` and `redo` treat values that have changed since the group was recorded.
public enum UndoConflictPolicy: Hashable, Sendable {
  /// Throws an error with all conflicts, and changes nothing.
  case refuse
  /// Leaves conflicting values as the context shows them, and restores the others. So an unsaved
  /// edit that hides a saved value stays.
  case keepCurrent
  /// Replaces the current values. An object that was removed after the group's edits is not
  /// restored, and neither are links to it. If the undo removes an object, cascades also delete the
  /// objects that were connected with it after the group.
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
