// The states of an object in its context.
//
//     init(context:)                           change, link
//          │                                       │
//          ▼                                       ▼
//       inserted ──── save ───▶ stored ─────────▶ updated
//          │                    ▲  │  ◀─── save ──── │
//       rollback,               │  │    rollback     │
//       delete             rollback│ delete          │ delete
//          │                    │  ▼                 │
//          ▼                    deleted ◀────────────┘
//         gone ◀────── save ───────┘
//
// The state is not stored. It follows from the overlay (`ObjectOverlay.state`), if there is one,
// and from the header's mark `gone`. If another context has removed an object's row, the object
// becomes gone at the next access. An object that is gone stays gone, unless an undo or a failed
// merge restores it. Whether a row is loaded (`isFault`) concerns memory, and is not a state.

/// The state of an object in its context.
enum ObjectState: UInt8, Sendable, CaseIterable {
  /// The object has a row, and no unsaved changes.
  case stored
  /// The object was made in this context, and has no row.
  case inserted
  /// The object has a row and unsaved changes.
  case updated
  /// The object has a row that the next save removes.
  case deleted
  /// The object is no longer in the context. Its deletion was saved, or it was new and was rolled
  /// back or deleted. Or another context removed it, or its context was reset.
  case gone

  /// Whether the object has unsaved changes.
  var isPending: Bool {
    switch self {
    case .inserted, .updated, .deleted: true
    case .stored, .gone: false
    }
  }
}
