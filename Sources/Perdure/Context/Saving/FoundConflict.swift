/// A place whose content differs from the contents that an undo expects.
struct FoundConflict {
  /// The place that an undo would change.
  let place: EditedPlace
  /// The place that `UndoConflict` describes: for example the changed column of an added object.
  let property: EditedPlace
  let before: EditedContent
  let after: EditedContent
  let current: EditedContent
}
