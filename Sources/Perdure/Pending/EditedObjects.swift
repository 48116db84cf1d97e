internal import PerdurePredicates

/// The objects that were edited since the last update of a follower. A follower is the layer of
/// unsaved changes (`ObjectMemory.edits`), or the observers of events (`eventEdits`).
///
/// Each edit notes its object (`ObjectOverlay.noteEdit`), once until the next update. So an update
/// visits only these objects, and not all objects with unsaved changes.
struct EditedObjects {
  private(set) var references: [ObjectReference] = []
  /// The maximum number of noted objects.
  private var limit = 0
  /// Whether `references` has all edited objects. Otherwise any object with unsaved changes may be
  /// edited.
  private(set) var isComplete = false

  /// Notes an object. Above the limit, a visit of all objects with unsaved changes is as cheap, so
  /// noting stops.
  mutating func note(_ reference: ObjectReference) {
    if !isComplete { return }
    if references.count == limit { return stop() }
    references.append(reference)
  }

  /// Begins to note edits, because the follower is up to date.
  ///
  /// - Parameter count: The number of objects with unsaved changes.
  mutating func begin(count: Int) {
    references.removeAll(keepingCapacity: true)
    limit = 1024 + 2 * count
    isComplete = true
  }

  /// Stops noting edits.
  mutating func stop() {
    references = []
    isComplete = false
  }
}
