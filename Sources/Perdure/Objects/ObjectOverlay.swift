internal import PerdurePredicates

/// The unsaved changes of one object, whether the object has an instance or not.
///
/// Delete rules change rows by the thousand; so changes are kept by reference, and an instance is only made
/// when somebody asks for the object. While there are changes, the overlay keeps the instance alive.
final class ObjectOverlay {
  // Not checked for exclusivity at run time: no function here calls out, and checks cost more than accesses.

  let reference: ObjectReference
  let shape: EntityShape
  /// The context's: it ends after all overlays.
  private let memory: UnsafeMutablePointer<ObjectMemory>
  private let slotCount: Int
  /// Whether the object has no row in the store.
  let isNew: Bool
  /// Whether the id of a new object was asked to be permanent.
  @exclusivity(unchecked) var hasPermanentID = false
  /// Whether the object is to be deleted.
  @exclusivity(unchecked) var isDeleted = false {
    didSet {
      noteEdit()
      noteEventEdit()
    }
  }
  /// Whether anything has changed since a save last called the object's hooks.
  @exclusivity(unchecked) var isTouched = true
  /// Whether the delete rules have been applied to what it is linked with now.
  @exclusivity(unchecked) var isPropagated = false
  /// The columns by slot, in memory of the overlay; behind them a byte for each says whether it has changed, and
  /// if not its value is null. There is none of it when no column has changed.
  @exclusivity(unchecked) private var values: UnsafeMutablePointer<Value>?
  @exclusivity(unchecked) private(set) var deltas: [(slot: Int, delta: LinkDelta)] = []
  /// The order of ordered relationships.
  @exclusivity(unchecked) private(set) var orders: [(slot: Int, delta: OrderDelta)] = []
  /// The version of the row that the changes were made to; nil for new objects and where only links changed.
  @exclusivity(unchecked) var baseVersion: RowVersion?
  /// The row of that version, kept where the context has moved on past it and others have changed the same as is changed
  /// here (`PendingRebase.keepBase`).
  @exclusivity(unchecked) var keptBase: KeptRow?
  /// The object whose deletion has taken this one along; nil where it was deleted by itself.
  @exclusivity(unchecked) var deletedWith: ObjectReference?
  /// Whether the object had a row that others have removed, and gets one again.
  @exclusivity(unchecked) var isInsertedAgain = false
  @exclusivity(unchecked) var object: ManagedObject?
  /// What the transient attributes of the instance held before the first of them was set; nil when none was.
  /// Taken away by `TransientState.dropTransientsBefore` alone, which lets go of it where that may call out (T3).
  @exclusivity(unchecked) var transientsBefore: TransientValues?
  /// What they held before the first of them was set in the current event; nil when none was. Taken away as
  /// `transientsBefore` is.
  @exclusivity(unchecked) var transientsAtEvent: TransientValues? {
    didSet { noteEventEdit() }
  }
  /// What had been changed when the current event began (`EventEnd.endEvent`); nil when nothing had.
  @exclusivity(unchecked) private(set) var eventStart: EventStart?
  /// Whether nothing has been changed in the current event; then `eventStart` is that of an earlier one.
  @exclusivity(unchecked) private(set) var isBeforeEvent = false
  /// What the object was when the last event ended, which is what observers know of it; nil when it had no changes.
  @exclusivity(unchecked) private(set) var toldState: ObjectState?
  /// What the columns of a new object began with, where that is not the same for all; see `beginning`.
  @exclusivity(unchecked) private var madeBeginning: [Value]?
  /// What the layer of the context lacks of these changes (`LayerFollower.currentLayer`).
  @exclusivity(unchecked) private(set) var layerGap = LayerGap.all
  /// The members that were edited since the layer had all changes, perhaps repeatedly.
  @exclusivity(unchecked) private(set) var editedMembers: [EditedMember] = []
  /// Whether it was noted as edited in the current event. Otherwise it is as it was at its end.
  @exclusivity(unchecked) private var isInEvent = false
  /// The interval in which edits were reported to the recorder, and their slots: a bit for each
  /// below 63. The highest bit is for all (ER1 in EditRecorder.swift).
  @exclusivity(unchecked) private var recordedIn: UInt32 = 0
  @exclusivity(unchecked) private var recordedSlots: UInt64 = 0
  /// Where the tracker has it among the changes of its entity.
  @exclusivity(unchecked) var place = 0

  init(
    _ reference: ObjectReference, _ shape: EntityShape, isNew: Bool,
    in memory: UnsafeMutablePointer<ObjectMemory>
  ) {
    self.memory = memory
    self.reference = reference
    self.shape = shape
    slotCount = shape.template.count
    self.isNew = isNew
    guard isNew else { return }
    let beginning = shape.valuesOfNewObject()
    if shape.hasMadeDefaults { madeBeginning = beginning }
    values = makeValues(beginning)
  }

  /// The defaults by slot that a new object began with; nil for one that has a row.
  var beginning: [Value]? { isNew ? madeBeginning ?? shape.template : nil }

  deinit { dropValues() }

  /// Whether the store can have nothing that leads to the object: it was never there. To one that is inserted again lead
  /// the references that the rule no action has left.
  var isUnknownToStore: Bool { isNew && !isInsertedAgain }

  /// Whether the program has deleted the object before its first save. No save writes it.
  @inline(__always)
  var isDiscarded: Bool { isDeleted && isNew }

  var hasTemporaryID: Bool { isNew && !hasPermanentID }

  /// Whether the row has to be written.
  var changesRow: Bool { values != nil }

  /// Whether a row can hold what was set: no id of another store, which `GraphSchema.heldIdentity` leaves as it is.
  var fitsRow: Bool {
    !(0..<slotCount).contains { slot in
      switch value(slot) {
      case .objectID, .list: true
      default: false
      }
    }
  }

  var hasDeltas: Bool { !deltas.isEmpty }

  var hasOrders: Bool { !orders.isEmpty }

  /// The changed value of a column, or nil when it has not changed.
  @inline(__always)
  func value(_ slot: Int) -> Value? {
    guard let values, marks(behind: values)[checked(slot)] else { return nil }
    return values[slot]
  }

  /// The object that a changed to-one column leads to.
  @inline(__always)
  func reference(_ slot: Int) -> ObjectReference? {
    guard let values, marks(behind: values)[checked(slot)] else { return nil }
    if case .reference(let target) = values[slot] { return target }
    return nil
  }

  /// All columns by slot, and which of them have changed; nothing when none has.
  @inline(__always)
  func withColumns(_ body: (UnsafeBufferPointer<Value>, UnsafeBufferPointer<Bool>) -> Void) {
    guard let values else { return }
    body(
      UnsafeBufferPointer(start: values, count: slotCount),
      UnsafeBufferPointer(start: marks(behind: values), count: slotCount))
  }

  /// The layer of the context has the changes as they are now.
  func didEnterLayer() {
    layerGap = []
    if !editedMembers.isEmpty { editedMembers = [] }
  }

  /// Called by each change of more than a column or a member: the layer has to follow.
  @inline(__always)
  func noteEdit() { noteEdit(.all) }

  @inline(__always)
  private func noteEdit(_ gap: LayerGap) {
    if !layerGap.isSuperset(of: gap) { widenLayerGap(gap) }
  }

  @inline(never)
  private func widenLayerGap(_ gap: LayerGap) {
    if layerGap.isEmpty { memory.pointee.edits.note(reference) }
    layerGap.formUnion(gap)
    if layerGap == .all, !editedMembers.isEmpty { editedMembers = [] }
  }

  /// Notes that the link or the place of a member has changed.
  private func noteEdit(of member: ObjectReference, _ slot: Int) {
    if layerGap == .all { return }
    // With more edits than parts, entering all parts is as cheap.
    if editedMembers.count >= 64, editedMembers.count >= 2 * memberCount { return noteEdit() }
    noteEdit(.members)
    editedMembers.append(EditedMember(slot: slot, member: member))
  }

  private func noteEventEdit() {
    if isInEvent { return }
    isInEvent = true
    memory.pointee.eventEdits.note(reference)
  }

  /// Called when the tracker gets the changes: the layer and the event do not have the object.
  func didEnterTracker() {
    layerGap = []
    noteEdit()
    isInEvent = true
    memory.pointee.eventEdits.note(reference)
  }

  func setValue(_ value: Value, _ slot: Int) {
    if isBeforeEvent { beginEvent() }
    noteEdit(.row)
    if memory.pointee.recorder != nil { record(slot) }
    let values = values ?? makeValues(nil)
    values[checked(slot)] = value
    marks(behind: values)[slot] = true
    self.values = values
    switch value {
    case .reference: linksChanged()
    case .null: if shape.isRelationship(slot) { linksChanged() }
    // Of relationships the others are none.
    default: break
    }
    isTouched = true
  }

  /// Reports to the recorder that a column is about to change, once in an interval.
  @inline(never)
  private func record(_ slot: Int) {
    let interval = memory.pointee.recordingGroup
    let mark: UInt64 = slot < 63 ? 1 << UInt64(slot) : 0
    if interval != 0, recordedIn == interval {
      if recordedSlots & (mark | Self.allSlots) != 0 { return }
    } else {
      (recordedIn, recordedSlots) = (interval, 0)
    }
    recordedSlots |= mark
    memory.pointee.recorder?._withUnsafeGuaranteedRef { recorder in
      recorder.note(.column(reference, slot: slot)) { value(slot).map { .value($0) } ?? .stored }
    }
  }

  /// The current undo group has inserted the object, and so needs none of its columns.
  func noteInsertionInGroup() {
    (recordedIn, recordedSlots) = (memory.pointee.recordingGroup, Self.allSlots)
  }

  private static let allSlots: UInt64 = 1 << 63

  /// What is kept of relationships holds no more (L1 in KeptRelations.swift).
  @inline(__always)
  private func linksChanged() { memory.pointee.linkStamp &+= 1 }

  /// Changes a column without saying so to the hooks of a save.
  func setPrimitiveValue(_ value: Value, _ slot: Int) {
    let wasTouched = isTouched
    setValue(value, slot)
    isTouched = wasTouched
  }

  /// Takes the changes of columns back, of which the row has the value.
  func unmark(where isUnchanged: (Int, Value) -> Bool) {
    guard let values else { return }
    linksChanged()
    noteEdit()
    let marks = marks(behind: values)
    for slot in 0..<slotCount where marks[slot] && isUnchanged(slot, values[slot]) {
      values[slot] = .null
      marks[slot] = false
    }
    if !(0..<slotCount).contains(where: { marks[$0] }) { dropValues() }
  }

  /// - Parameter template: The columns of a new object, all of which count as changed.
  private func makeValues(_ template: [Value]?) -> UnsafeMutablePointer<Value> {
    // As values, though marks lie in the last of them: memory without a type is asked for by alignment, which
    // takes the system twice as long.
    let stride = MemoryLayout<Value>.stride
    let values = UnsafeMutablePointer<Value>.allocate(
      capacity: slotCount + (slotCount + stride - 1) / stride)
    UnsafeMutableRawPointer(values + slotCount).bindMemory(to: Bool.self, capacity: slotCount)
    if let template {
      for slot in 0..<slotCount { (values + slot).initialize(to: template[slot]) }
    } else {
      values.initialize(repeating: .null, count: slotCount)
    }
    marks(behind: values).initialize(repeating: template != nil, count: slotCount)
    return values
  }

  @inline(__always)
  private func marks(behind values: UnsafeMutablePointer<Value>) -> UnsafeMutablePointer<Bool> {
    UnsafeMutableRawPointer(values + slotCount).assumingMemoryBound(to: Bool.self)
  }

  private func dropValues() {
    guard let values else { return }
    values.deinitialize(count: slotCount)
    values.deallocate()
    self.values = nil
  }

  @inline(__always)
  private func checked(_ slot: Int) -> Int {
    precondition(UInt(bitPattern: slot) < UInt(bitPattern: slotCount), "No such slot.")
    return slot
  }

  func delta(_ slot: Int) -> LinkDelta? {
    for entry in deltas where entry.slot == slot { return entry.delta }
    return nil
  }

  /// Changes how a relationship differs from the store.
  ///
  /// - Parameter member: The only object at the other end that the change concerns; nil for any.
  func changeDelta(
    _ slot: Int, of member: ObjectReference? = nil, _ change: (inout LinkDelta) -> Void
  ) {
    isTouched = true
    linksChanged()
    // The layer has the other relationships by the columns of the other objects.
    if case .links(_, true) = shape.relationship(slot).form {
      if let member { noteEdit(of: member, slot) } else { noteEdit() }
    }
    if isBeforeEvent { beginEvent() }
    let position = deltas.firstIndex { $0.slot == slot } ?? deltas.count
    if position == deltas.count { deltas.append((slot, LinkDelta())) }
    change(&deltas[position].delta)
    if deltas[position].delta.isEmpty { deltas.remove(at: position) }
  }

  /// How an ordered relationship's order differs from the store's; nil where it does not.
  func order(_ slot: Int) -> OrderDelta? {
    for entry in orders where entry.slot == slot { return entry.delta }
    return nil
  }

  func setOrder(_ delta: OrderDelta?, _ slot: Int) {
    isTouched = true
    linksChanged()
    let old = order(slot)
    if let delta, old == nil || old === delta {
      delta.takeEdited { noteEdit(of: $0, slot) }
    } else if old != nil {
      noteEdit()
    }
    if isBeforeEvent { beginEvent() }
    orders.removeAll { $0.slot == slot }
    if let delta, !delta.isEmpty { orders.append((slot, delta)) }
  }

  /// What is changed from now on belongs to another event.
  func endEvent() {
    isBeforeEvent = true
    isInEvent = false
    toldState = state
  }

  /// Observers have heard that the object is gone, and it is there again.
  func forgetTold() { toldState = nil }

  /// The object had changes when the event began, and lost them meanwhile.
  func resumeEvent(_ start: EventStart) { eventStart = start }

  /// Another overlay had the object until now: what it began with, what has changed in the current event, and what was
  /// told of it.
  func takeOver(from other: ObjectOverlay) {
    madeBeginning = other.madeBeginning
    (eventStart, isBeforeEvent, toldState) = (other.eventStart, other.isBeforeEvent, other.toldState)
  }

  @inline(never)
  private func beginEvent() {
    isBeforeEvent = false
    noteEventEdit()
    eventStart = EventStart(
      columns: changedColumns, deltas: Dictionary(uniqueKeysWithValues: deltas.map { ($0.slot, $0.delta) }))
  }

  func removeDeltas(where isRemoved: (Int) -> Bool) {
    linksChanged()
    noteEdit()
    if isBeforeEvent, !deltas.isEmpty { beginEvent() }
    deltas.removeAll { isRemoved($0.slot) }
  }

  /// Forgets all changed columns of an object that has a row.
  func discardValues() {
    precondition(!isNew, "A new object has no row to fall back on.")
    linksChanged()
    noteEdit()
    dropValues()
  }
}

extension ObjectOverlay {
  /// Goes back to what it held.
  func restore(_ content: OverlayContent) {
    linksChanged()
    noteEdit()
    dropValues()
    isBeforeEvent = false
    for (slot, value) in content.columns ?? [:] { setValue(value, slot) }
    deltas = content.deltas
    orders = content.orders
    (isDeleted, isTouched, isPropagated) = (content.isDeleted, content.isTouched, content.isPropagated)
    (baseVersion, keptBase, deletedWith) = (content.baseVersion, content.keptBase, content.deletedWith)
    (eventStart, isBeforeEvent) = (content.eventStart, content.isBeforeEvent)
  }
}
