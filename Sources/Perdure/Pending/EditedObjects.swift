internal import PerdurePredicates

/// The objects that were edited since something that follows the edits was last brought up to date:
/// the layer of unsaved changes, or the observers of events.
///
/// The edits note them (`ObjectOverlay.noteEdit`), once for each object until the next time. So an
/// update visits them, and not all objects with unsaved changes.
struct EditedObjects {
  private(set) var references: [ObjectReference] = []
  /// How many are noted at most.
  private var limit = 0
  /// Whether `references` has all of them. Otherwise every object with unsaved changes may be one.
  private(set) var isComplete = false

  /// Notes an object. Beyond the limit, visiting all objects costs no more.
  mutating func note(_ reference: ObjectReference) {
    if !isComplete { return }
    if references.count == limit { return stop() }
    references.append(reference)
  }

  /// Everything is up to date.
  ///
  /// - Parameter count: The number of objects with unsaved changes.
  mutating func begin(count: Int) {
    references.removeAll(keepingCapacity: true)
    limit = 1024 + 2 * count
    isComplete = true
  }

  /// Nothing follows any more.
  mutating func stop() {
    references = []
    isComplete = false
  }
}
