// The rows that unsaved changes were made to, for the three-way comparison.
//
// While the context sees the state that a change was made in, the row is there to be read. Moving
// on, by a refresh of something else, it would be lost. So each change is looked at when the
// context moves on: where others have not changed the same columns, it counts as made to the newest
// row from then on; only where they have, the row is kept.

internal import PerdurePredicates

extension ObjectOverlay {
  /// The changed columns by slot.
  var changedColumns: [Int: Value] { content.columns ?? [:] }
}
