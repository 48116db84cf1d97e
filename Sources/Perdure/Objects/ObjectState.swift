// The life of an object in a context, in one place.
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
// The state is not stored: it follows from whether the tracker has an overlay, whether that is new and
// whether it is marked as deleted (ObjectOverlay.state), and from the header's mark of being gone. An
// object whose row another context has removed is gone as soon as somebody looks. What is gone stays so.
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

  /// Whether the context has something to save because of the object.
  var isPending: Bool {
    switch self {
    case .inserted, .updated, .deleted: true
    case .stored, .gone: false
    }
  }
}
