// Values that other contexts have saved and that unsaved edits hide.
//
// A context keeps its unsaved edits when it shows a save of another context. If both have changed
// the same place, the edit hides the saved value. The undo of the edit would restore a value that
// the store no longer has, and the next save would replace the saved value silently. So it is a
// conflict. An undo that restores an unsaved value is none: that value hides the saved one too.
//
// Invariants:
//   HS1. `places` has the places whose unsaved edits hide a saved content. An undo of a change of
//        such a place is a conflict if the content before the change was the stored one.
//   HS2. A place is removed when its edit has been saved or discarded, or when an undo has
//        overwritten it. If an edit is discarded, the place stays until its next edit: until then,
//        its content differs from the contents that older groups expect.

/// The places whose unsaved edits hide contents that other contexts have saved.
struct HiddenSaves {
  private var places: Set<EditedPlace> = []

  var isEmpty: Bool { places.isEmpty }

  mutating func insert(_ hidden: [EditedPlace]) { places.formUnion(hidden) }

  /// Whether the undo of a change would restore a content that another context has replaced (HS1).
  func conflict(with change: UndoGroup.Change) -> Bool {
    change.wasStored && places.contains(change.place)
  }

  mutating func remove(_ place: EditedPlace) { places.remove(place) }

  mutating func removeAll() { places = [] }
}
