// Values that other contexts have saved and that unsaved edits hide.
//
// A context keeps its unsaved edits when it shows a save of another context. If both have changed
// the same place, the edit hides the saved value. The undo of the edit would restore a value that
// the store has no longer, and the next save would replace the saved value silently. So it is a
// conflict. An undo that restores an unsaved value is none: that value hides the saved one too.
//
// Invariants:
//   HS1. The time of a context is divided into periods. A period ends when the context shows a save
//        that an unsaved edit hides. If the content before a change was the stored one, the change
//        has the period of its first edit.
//   HS2. `hidden` has each place whose unsaved edit hides a saved value, with the first period in
//        which the state of the context has that value. Changes of the place conflict with it if
//        they have an earlier period.
//   HS3. A save writes all edits, and a rollback discards them. Afterwards nothing is hidden. After
//        an undo has overwritten a value, its place is hidden no longer.

/// The places whose unsaved edits hide values that other contexts have saved.
struct HiddenSaves {
  private(set) var period: UInt32 = 0
  private var hidden: [EditedPlace: (period: UInt32, saved: EditedContent)] = [:]

  /// Adds places and their saved contents, and begins a period (HS1). Places with the same content
  /// as before are not added.
  mutating func add(_ saved: [(place: EditedPlace, content: EditedContent)]) {
    let new = saved.filter { hidden[$0.place]?.saved.isSame(as: $0.content) != true }
    if new.isEmpty { return }
    period += 1
    for (place, content) in new { hidden[place] = (period, content) }
  }

  /// Whether the content before a change was stored, and another context has replaced it since
  /// (HS2).
  func hasReplaced(_ change: UndoGroup.Change) -> Bool {
    guard let first = hidden[change.place]?.period, let period = change.storedPeriod else { return false }
    return period < first
  }

  /// Forgets a place whose saved value the program has decided to overwrite (HS3).
  mutating func remove(_ place: EditedPlace) { hidden[place] = nil }

  /// Forgets the places, after a save or a rollback (HS3).
  mutating func removeAll() { hidden = [:] }

  /// Replaces the reference of an object.
  mutating func rename(_ old: ObjectReference, _ new: ObjectReference) {
    if hidden.isEmpty { return }
    hidden = Dictionary(
      uniqueKeysWithValues: hidden.map { place, entry in
        (place.renamed(old, new), (entry.period, entry.saved.renamed(old, new)))
      })
  }
}
