// The life of an object in a context, in one place.
//
//               delete                  save
//     inserted ───────▶ gone    stored ◀────── inserted, updated
//     stored   ───────▶ deleted gone   ◀────── deleted
//     updated  ───────▶ deleted
//
//               change                  rollback
//     stored   ───────▶ updated stored ◀────── updated, deleted
//                               gone   ◀────── inserted
//
// An object whose row another context has removed is gone as soon as somebody looks. What is gone stays so.
// Whether a row has been loaded (`isFault`) is a matter of memory and not of state.

/// Where an object is in its life.
enum ObjectState: UInt8, Sendable, CaseIterable {
  /// As the store has it.
  case stored
  /// Made in this context, without a row.
  case inserted
  /// With a row and unsaved changes.
  case updated
  /// With a row that the next save removes.
  case deleted
  /// Without a row now and for ever: deleted and saved, inserted and rolled back, or removed by another
  /// context.
  case gone

  /// What can happen to an object.
  enum Event: Sendable, CaseIterable {
    case change
    case delete
    case save
    case rollback
    /// The store has no row any more.
    case vanish
  }

  /// The state after an event.
  func after(_ event: Event) -> ObjectState {
    switch (event, self) {
    case (_, .gone), (.vanish, _): .gone
    case (.change, .stored): .updated
    case (.change, _): self
    case (.delete, .inserted): .gone
    case (.delete, _): .deleted
    case (.save, .deleted), (.rollback, .inserted): .gone
    case (.save, _), (.rollback, _): .stored
    }
  }

  /// Whether the context has something to save because of the object.
  var isPending: Bool {
    switch self {
    case .inserted, .updated, .deleted: true
    case .stored, .gone: false
    }
  }
}
