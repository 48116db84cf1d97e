// The hooks that follow an object's row: who wakes an object up, and when it becomes a fault.
//
// A row is loaded for many reasons: a fetch had it at hand, a sibling's fault fired, a save compares versions. None
// of them is a place to run the program's own code, which may change anything. So a row that arrives at an
// object with hooks leaves it drowsy: its row may not be read at once. The first accessor that touches it
// calls the hook, in the middle of nothing.
//
//     fault ── row arrives ──▶ drowsy ── touched: awakeFromFetch ──▶ awake
//       ▲                                                            │  │ ▲
//       └────────── willTurnIntoFault, row goes, didTurnIntoFault ───┘  │ │ touched:
//                                            newer row arrives: drowsy ─┘ │ awake(fromSnapshotEvents: .refresh)
//                                                                  └──────┘
//
// Invariants
//   W1. The row of a drowsy object is shut (`ObjectHeader.shut`).
//   W2. While a save is planned (`isPlanning`) nobody wakes up: what a hook changed then would be in no row, and
//       would count as saved. Who is drowsy stays so.
//   W3. Between `willTurnIntoFault` and `didTurnIntoFault` an object is `turning`: whatever these hooks do, it is told
//       once.
//
// Objects whose classes have no such hooks are neither drowsy nor awake, and pay for none of this.

internal import PerdurePredicates

extension ObjectHeader {
  /// A row of the view has arrived that may be read as it is, unless somebody has to be told first (W1).
  @inline(__always)
  mutating func rowArrived(_ current: UInt64) {
    epoch = current
    if wakefulness.isEmpty { return }
    if wakefulness.contains(.awake) { wakefulness.insert(.drowsy) }
    if wakefulness.contains(.drowsy) { shut() }
  }
}

/// Calls the hooks of objects that follow their rows.
final class ObjectHooks {
  private let viewState: ViewState
  private let reading: ContextReading
  private let activity: ContextActivity

  init(_ reading: ContextReading, _ activity: ContextActivity) {
    viewState = reading.viewState
    self.reading = reading
    self.activity = activity
  }

  // MARK: Waking up

  /// Called by every new instance whose class follows its row.
  func sleep(_ header: UnsafeMutablePointer<ObjectHeader>) {
    header.pointee.wakefulness = .drowsy
    header.pointee.shut()
  }

  /// Makes sure that an object's row is there, for an accessor of the object; false when it has none.
  func wake(_ object: ManagedObject) -> Bool {
    guard reading.rows.loadRow(of: object) else { return false }
    guard object.header.pointee.wakefulness.contains(.drowsy), !activity.isPlanning else { return true }
    let wasAwake = object.header.pointee.wakefulness.contains(.awake)
    stayAwake(object)
    if wasAwake {
      awake(object, fromSnapshotEvents: .refresh)
    } else if object.shape.lifeCycle.contains(.awakeFromFetch) {
      object.header.pointee.wakefulness.insert(.waking)
      object.awakeFromFetch()
      object.header.pointee.wakefulness.remove(.waking)
    }
    return object.header.pointee.row != nil
  }

  /// The object has been told of the row that it has.
  func stayAwake(_ object: ManagedObject) {
    object.header.pointee.wakefulness.remove(.drowsy)
    object.header.pointee.wakefulness.insert(.awake)
    if object.header.pointee.row != nil, object.overlay?.changesRow != true {
      object.header.pointee.epoch = viewState.epoch
    }
  }

  private func awake(_ object: ManagedObject, fromSnapshotEvents events: SnapshotEventType) {
    guard object.shape.lifeCycle.contains(.awakeFromSnapshotEvents) else { return }
    object.awake(fromSnapshotEvents: events)
  }

  /// An object that is awake has been given other values by what its context was told to do.
  func reawaken(_ object: ManagedObject, _ events: SnapshotEventType) {
    guard object.isAwake, !object.header.pointee.isGone else { return }
    if object.overlay?.isNew != true {
      guard reading.rows.loadRow(of: object) else { return }
      stayAwake(object)
    }
    awake(object, fromSnapshotEvents: events)
  }

  // MARK: Becoming a fault

  /// Tells an object that its values are about to go, if it has any.
  ///
  /// - Returns: Whether it has to be told afterwards too.
  func willTurnIntoFault(_ object: ManagedObject) -> Bool {
    guard object.isAwake, !object.header.pointee.wakefulness.contains(.turning) else { return false }
    object.header.pointee.wakefulness.insert(.turning)
    if object.shape.lifeCycle.contains(.willTurnIntoFault) { object.willTurnIntoFault() }
    return true
  }

  /// The values are gone.
  func didTurnIntoFault(_ object: ManagedObject) {
    object.header.pointee.wakefulness.subtract([.awake, .turning])
    object.header.pointee.wakefulness.insert(.drowsy)
    guard object.shape.lifeCycle.contains(.didTurnIntoFault) else { return }
    let outer = activity.turnedIntoFault
    activity.turnedIntoFault = object.reference
    defer { activity.turnedIntoFault = outer }
    object.didTurnIntoFault()
  }

  /// Tells those objects that are awake; gives them back, to be told afterwards.
  func willTurnIntoFaults(_ objects: [ManagedObject]) -> [ManagedObject] {
    objects.filter { $0.isAwake && willTurnIntoFault($0) }
  }
}

extension ManagedObject {
  /// Whether the class follows the object's row, and the object has been told that it has one.
  var isAwake: Bool { header.pointee.wakefulness.contains(.awake) }
}
