// The hooks that depend on an object's row: when they are called, and when an object becomes a
// fault.
//
// A row is loaded for many reasons: a fetch has read it, a sibling's fault fired, or a save
// compares versions. The program's code must not run at these points, because it may change
// anything. Therefore an object with hooks becomes `hookIsDue` when its row arrives: accessors may
// not read the row directly. The first access calls the hook, when no other operation is in
// progress.
//
//     fault ── row arrives ──▶ hookIsDue ── accessed: awakeFromFetch ──▶ awake
//       ▲                                                                │  │ ▲
//       └─────────── willTurnIntoFault, row dropped, didTurnIntoFault ───┘  │ │ accessed:
//                                          newer row arrives: hookIsDue ────┘ │ awake(.refresh)
//                                                                      └──────┘
//
// Invariants
//   OH1. The row of a `hookIsDue` object is shut (`ObjectHeader.shut`): accessors cannot read it
//        directly.
//   OH2. While a save is planned (`isPlanning`), no hook is called. Otherwise the changes of a hook
//        are in no row, but count as saved. Objects stay `hookIsDue`.
//   OH3. Between `willTurnIntoFault` and `didTurnIntoFault` an object is `turning`. Each of the two
//        hooks is called once, even if a hook makes the object a fault again.
//
// Objects whose classes have no such hooks are neither `hookIsDue` nor `awake`, so these rules cost
// them nothing.

internal import PerdurePredicates

extension ObjectHeader {
  /// Marks the row as equal to the view's row. Accessors may read it directly, unless a hook must
  /// be called first (OH1).
  @inline(__always)
  mutating func rowArrived(_ current: UInt64) {
    epoch = current
    if wakefulness.isEmpty { return }
    if wakefulness.contains(.awake) { wakefulness.insert(.hookIsDue) }
    if wakefulness.contains(.hookIsDue) { shut() }
  }
}

/// Calls the hooks that depend on the rows of objects.
final class ObjectHooks {
  private let viewState: ViewState
  private let pending: PendingChanges
  private let rows: RowLoader
  private let activity: ContextActivity

  init(
    rows: RowLoader, viewState: ViewState, pending: PendingChanges, activity: ContextActivity
  ) {
    self.viewState = viewState
    self.pending = pending
    self.rows = rows
    self.activity = activity
  }

  // MARK: Rows that arrive

  /// Called by every new instance whose class has such hooks.
  func sleep(_ header: UnsafeMutablePointer<ObjectHeader>) {
    header.pointee.wakefulness = .hookIsDue
    header.pointee.shut()
  }

  /// Loads an object's row for an accessor, and calls the hook if it is due. Returns false if there
  /// is no row, or if it could not be read.
  func wake(_ object: ManagedObject) -> Bool {
    guard rows.loadRow(of: object) else { return false }
    guard object.header.pointee.wakefulness.contains(.hookIsDue), !activity.isPlanning else { return true }
    let wasAwake = object.header.pointee.wakefulness.contains(.awake)
    stayAwake(object)
    if wasAwake {
      awake(object, fromSnapshotEvents: .refresh)
    } else if object.shape.lifeCycle.contains(.awakeFromFetch) {
      object.header.pointee.wakefulness.insert(.waking)
      activity.callProgram { object.awakeFromFetch() }
      object.header.pointee.wakefulness.remove(.waking)
    }
    return object.header.pointee.row != nil
  }

  /// Records that the hook for the object's current row was called.
  func stayAwake(_ object: ManagedObject) {
    object.header.pointee.wakefulness.remove(.hookIsDue)
    object.header.pointee.wakefulness.insert(.awake)
    if object.header.pointee.row != nil, object.overlay?.changesRow != true {
      object.header.pointee.epoch = viewState.epoch
    }
  }

  private func awake(_ object: ManagedObject, fromSnapshotEvents events: SnapshotEventType) {
    guard object.shape.lifeCycle.contains(.awakeFromSnapshotEvents) else { return }
    activity.callProgram { object.awake(fromSnapshotEvents: events) }
  }

  /// Calls the hook of an `awake` object that got other values through an operation on its context.
  func reawaken(_ object: ManagedObject, _ events: SnapshotEventType) {
    guard object.isAwake, !object.header.pointee.isGone else { return }
    if object.overlay?.isNew != true {
      guard rows.loadRow(of: object) else { return }
      stayAwake(object)
    }
    awake(object, fromSnapshotEvents: events)
  }

  // MARK: Becoming a fault

  /// Calls `willTurnIntoFault` if the object is `awake`, before its values are dropped.
  ///
  /// - Returns: Whether `didTurnIntoFault` must be called afterwards.
  func willTurnIntoFault(_ object: ManagedObject) -> Bool {
    guard object.isAwake, !object.header.pointee.wakefulness.contains(.turning) else { return false }
    object.header.pointee.wakefulness.insert(.turning)
    if object.shape.lifeCycle.contains(.willTurnIntoFault) {
      activity.callProgram { object.willTurnIntoFault() }
    }
    return true
  }

  /// Calls `didTurnIntoFault` after the values were dropped.
  func didTurnIntoFault(_ object: ManagedObject) {
    object.header.pointee.wakefulness.subtract([.awake, .turning])
    object.header.pointee.wakefulness.insert(.hookIsDue)
    guard object.shape.lifeCycle.contains(.didTurnIntoFault) else { return }
    let outer = activity.turnedIntoFault
    activity.turnedIntoFault = object.reference
    defer { activity.turnedIntoFault = outer }
    activity.callProgram { object.didTurnIntoFault() }
  }

  /// Calls `willTurnIntoFault` of the `awake` objects. Returns those for which `didTurnIntoFault`
  /// must be called afterwards.
  func willTurnIntoFaults(_ objects: [ManagedObject]) -> [ManagedObject] {
    objects.filter { $0.isAwake && willTurnIntoFault($0) }
  }

  /// The changed objects that are `awake`.
  func changedAwakeObjects() -> [(object: ManagedObject, isNew: Bool, isDeleted: Bool)] {
    guard pending.containsEntity(where: \.followsRow) else { return [] }
    return pending.ordered.joined().compactMap { overlay in
      guard let object = overlay.object, object.isAwake else { return nil }
      return (object, overlay.isNew, overlay.isDeleted)
    }
  }
}

extension ManagedObject {
  /// Whether the class has hooks that depend on the row, and one was called for it.
  var isAwake: Bool { header.pointee.wakefulness.contains(.awake) }
}
