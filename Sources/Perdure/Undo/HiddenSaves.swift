// Values that other contexts have saved and that unsaved edits hide.
//
// A context keeps its unsaved edits when it shows a save of another context. If both have changed
// the same place, the edit hides the saved value. The undo of the edit would restore the value that
// the other context has replaced, and the next save would replace the saved value silently. So it
// is a conflict. An undo that restores another unsaved value is none: that value hides the saved
// one too.
//
// Invariants:
//   HS1. `replaced` has all places whose unsaved edits hide a saved content, with the stored
//        contents that the saves have replaced. An undo that would restore one of them is a
//        conflict, unless the context shows the saved content now.
//   HS2. A to-one relationship of which only one end is a column has at most one partner. If an
//        unsaved link of one object hides a saved link of another one to the same target,
//        `replaced` has the column of the other one. The undo of the unsaved link is a conflict.
//   HS3. After a save or a rollback there are no such places. A place is also removed when an undo
//        has overwritten it. If an edit is discarded, its place stays; HS1 excludes it.

/// The places whose unsaved edits hide contents that other contexts have saved.
struct HiddenSaves {
  private var replaced: [EditedPlace: [EditedContent]] = [:]

  var isEmpty: Bool { replaced.isEmpty }

  mutating func insert(_ place: EditedPlace, replaced content: EditedContent) {
    if hasReplaced(content, at: place) { return }
    replaced[place, default: []].append(content)
  }

  func contains(_ place: EditedPlace) -> Bool { replaced[place] != nil }

  /// Whether a hidden save has replaced a content.
  func hasReplaced(_ content: EditedContent, at place: EditedPlace) -> Bool {
    replaced[place]?.contains { $0.isSame(as: content) } == true
  }

  mutating func remove(_ place: EditedPlace) { replaced[place] = nil }

  mutating func removeAll() { replaced = [:] }
}
