internal import PerdurePredicates

/// The unsaved changes of one object, whether the object has an instance or not.
///
/// Changes are stored by reference, without an instance: delete rules may change thousands of rows.
/// The instance is made when the program uses the object. The overlay retains it.
final class ObjectOverlay {
  // The exclusivity of accesses is not checked at run time. Property observers run before or after
  // a value is stored. No other access calls code that accesses the same property.

  let reference: ObjectReference
  let shape: EntityShape
  /// The context's memory, which is freed after all overlays.
  let memory: UnsafeMutablePointer<ObjectMemory>
  private let slotCount: Int
  /// Whether the object has no row in the store.
  let isNew: Bool
  /// Whether the id of a new object counts as permanent.
  @exclusivity(unchecked) var hasPermanentID = false
  /// Whether the object is to be deleted.
  @exclusivity(unchecked) var isDeleted = false {
    willSet {
      willChange()
      noteEdit()
      noteEventEdit()
    }
  }
  /// Whether anything but primitive values has changed since a save last called the object's hooks.
  /// Setting this calls `willChange`, so functions that change the content set it first.
  @exclusivity(unchecked) var isTouched = true {
    willSet { willChange() }
  }
  /// Whether the delete rules have been applied to all objects that are linked to this object.
  @exclusivity(unchecked) var isPropagated = false {
    willSet { willChange() }
  }
  /// Whether a merge has scheduled the delete rules again (`PendingChanges.propagateAgain`).
  @exclusivity(unchecked) var isPropagatedAgain = false
  /// The columns by slot, and after them one byte for each column: whether it has changed. An
  /// unchanged column has the value null. Nil if no column has changed.
  @exclusivity(unchecked) private var values: UnsafeMutablePointer<Value>?
  @exclusivity(unchecked) private(set) var deltas: [(slot: Int, delta: LinkDelta)] = []
  /// The changed orders of ordered relationships, by slot.
  @exclusivity(unchecked) private(set) var orders: [(slot: Int, delta: OrderDelta)] = []
  /// The version of the row that was changed or is to be deleted. Nil for new objects, and if only
  /// links, orders or transient attributes have changed.
  @exclusivity(unchecked) var baseVersion: RowVersion? {
    willSet { willChange() }
  }
  /// A copy of the row with the version `baseVersion`, if other contexts have changed the same
  /// columns or removed the object (`PendingRebase.keepBase`).
  @exclusivity(unchecked) var keptBase: KeptRow? {
    willSet { willChange() }
  }
  /// The object whose delete rule has deleted this object; nil if it was deleted directly.
  @exclusivity(unchecked) var deletedWith: ObjectReference? {
    willSet { willChange() }
  }
  /// Whether the object is inserted again, after a save has removed its row.
  @exclusivity(unchecked) var isInsertedAgain = false
  @exclusivity(unchecked) var object: ManagedObject?
  /// The values of the transient attributes before the first of them was set; nil if none was set.
  /// To drop them, call `TransientState.dropTransientsBefore`, which releases them when code of the
  /// program may run (TV3 in TransientValues.swift).
  @exclusivity(unchecked) var transientsBefore: TransientValues? {
    willSet { willChange() }
  }
  /// The values of the transient attributes before the first of them was set in the current event;
  /// nil if none was set in it. To drop them, call `TransientState.dropTransientsAtEvent`.
  @exclusivity(unchecked) var transientsAtEvent: TransientValues? {
    willSet { willChange() }
    didSet { noteEventEdit() }
  }
  /// The changes at the beginning of the current event (`EventEnd.endEvent`); nil if there were
  /// none.
  @exclusivity(unchecked) private(set) var eventStart: EventStart?
  /// Whether the object is unchanged in this event. If true, `eventStart` belongs to an earlier
  /// event.
  @exclusivity(unchecked) private(set) var isBeforeEvent = false
  /// The state as reported at the end of the last event; nil if the object had no changes.
  @exclusivity(unchecked) private(set) var reportedState: ObjectState?
  /// The initial values of a new object by slot, if some defaults are made for each object.
  @exclusivity(unchecked) private var initialValues: [Value]?
  /// The parts of these changes that the context's layer lacks (`LayerFollower.currentLayer`).
  @exclusivity(unchecked) private(set) var layerGap = LayerGap.all
  /// The members that were edited since the layer last had all changes. A member may be repeated.
  @exclusivity(unchecked) private(set) var editedMembers: [EditedMember] = []
  /// Whether the object was noted as edited in the current event. If not, it has not changed.
  @exclusivity(unchecked) private var isInEvent = false
  /// The interval of the last report to the undo recorder, and the reported slots: one bit for each
  /// slot below 63. The highest bit means all slots (ER1 in EditRecorder.swift).
  @exclusivity(unchecked) private var recordedIn: UInt32 = 0
  @exclusivity(unchecked) private var recordedSlots: UInt64 = 0
  /// The index of the overlay in the array of its entity (PC1 in PendingChanges.swift).
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
    if shape.hasMadeDefaults { initialValues = beginning }
    values = makeValues(beginning)
  }

  /// The initial values of a new object by slot; nil for an object with a row.
  var beginning: [Value]? { isNew ? initialValues ?? shape.template : nil }

  deinit { dropValues() }

  /// The copy in `keptBase`, if the changes are still based on it.
  var keptRow: KeptRow? { keptBase.flatMap { $0.version == baseVersion ? $0 : nil } }

  /// Whether the row has to be written.
  var changesRow: Bool { values != nil }

  /// The changed value of a column; nil if it has not changed.
  @inline(__always)
  func value(_ slot: Int) -> Value? {
    guard let values, marks(behind: values)[checked(slot)] else { return nil }
    return values[slot]
  }

  /// The object in a changed to-one column; nil if the column has not changed or is null.
  @inline(__always)
  func reference(_ slot: Int) -> ObjectReference? {
    guard let values, marks(behind: values)[checked(slot)] else { return nil }
    if case .reference(let target) = values[slot] { return target }
    return nil
  }

  /// If any column has changed, passes to `body` all columns by slot, and whether each has changed.
  @inline(__always)
  func withColumns(_ body: (UnsafeBufferPointer<Value>, UnsafeBufferPointer<Bool>) -> Void) {
    guard let values else { return }
    body(
      UnsafeBufferPointer(start: values, count: slotCount),
      UnsafeBufferPointer(start: marks(behind: values), count: slotCount))
  }

  /// If an operation that may be reverted is running, copies the content of the overlay. Called
  /// before each change of the content.
  @inline(__always)
  func willChange() {
    memory.pointee.copies?._withUnsafeGuaranteedRef { $0.willChange(self) }
  }

  /// Notes that the context's layer has all current changes.
  func didEnterLayer() {
    layerGap = []
    if !editedMembers.isEmpty { editedMembers = [] }
  }

  /// Notes a change of more than a column or a member: the layer must enter all parts again.
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

  /// Notes that the link or the order key of a member has changed.
  private func noteEdit(of member: ObjectReference, _ slot: Int) {
    if layerGap == .all { return }
    // With so many edits, entering all parts costs no more.
    if editedMembers.count >= 64, editedMembers.count >= 2 * memberCount { return noteEdit() }
    noteEdit(.members)
    editedMembers.append(EditedMember(slot: slot, member: member))
  }

  private func noteEventEdit() {
    if isInEvent { return }
    isInEvent = true
    memory.pointee.eventEdits.note(reference)
  }

  /// Called when `PendingChanges` gets the overlay. The layer does not have its changes yet.
  func didEnterTracker() {
    layerGap = []
    noteEdit()
    isInEvent = true
    memory.pointee.eventEdits.note(reference)
  }

  func setValue(_ value: Value, _ slot: Int) {
    isTouched = true
    if isBeforeEvent { beginEvent() }
    noteEdit(.row)
    if memory.pointee.recorder != nil { record(slot) }
    let values = values ?? makeValues(nil)
    values[checked(slot)] = value
    marks(behind: values)[slot] = true
    self.values = values
    switch value {
    case .reference(let target): noteLink(slot, target)
    case .null: if shape.isRelationship(slot) { linksChanged() }
    // No other value belongs to a relationship.
    default: break
    }
  }

  /// Reports to the undo recorder that a column is about to change, once for each interval.
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

  /// Notes that the current undo group has inserted the object, so the group needs no old values.
  func noteInsertionInGroup() {
    (recordedIn, recordedSlots) = (memory.pointee.recordingGroup, Self.allSlots)
  }

  private static let allSlots: UInt64 = 1 << 63

  /// Invalidates all cached relationships of the context (KR1 in KeptRelations.swift).
  @inline(__always)
  func linksChanged() { memory.pointee.linkStamp &+= 1 }

  /// Removes the changes of columns whose values equal those of the row.
  func unmark(where isUnchanged: (Int, Value) -> Bool) {
    guard let values else { return }
    willChange()
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
    // The memory is allocated as `Value`s, although its end contains the marks. An allocation of
    // untyped memory passes an alignment, and then the system takes twice as long.
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

  /// Changes the difference between a relationship and the links in the store.
  ///
  /// - Parameter member: The only object at the other end that is concerned; nil for several.
  func changeDelta(
    _ slot: Int, of member: ObjectReference? = nil, _ change: (inout LinkDelta) -> Void
  ) {
    isTouched = true
    linksChanged()
    // Other stored relationships are in the layer as columns or links of the other end.
    if case .links(_, true) = shape.relationship(slot).form {
      if let member { noteEdit(of: member, slot) } else { noteEdit() }
    }
    if isBeforeEvent { beginEvent() }
    let position = deltas.firstIndex { $0.slot == slot } ?? deltas.count
    if position == deltas.count { deltas.append((slot, LinkDelta())) }
    change(&deltas[position].delta)
    if deltas[position].delta.isEmpty { deltas.remove(at: position) }
  }

  /// The difference between a relationship's order and the stored order; nil if there is none.
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

  /// Ends the current event for this object: later changes belong to the next event.
  func endEvent() {
    isBeforeEvent = true
    isInEvent = false
    reportedState = state
  }

  /// Forgets the reported state, which says that the object is gone: the object was restored.
  func clearReportedState() { reportedState = nil }

  /// Sets the changes at the beginning of the event. An earlier overlay of the object had them.
  func resumeEvent(_ start: EventStart) { eventStart = start }

  /// Copies the initial values, the changes in the current event and the reported state from the
  /// object's earlier overlay.
  func takeOver(from other: ObjectOverlay) {
    initialValues = other.initialValues
    (eventStart, isBeforeEvent, reportedState) = (other.eventStart, other.isBeforeEvent, other.reportedState)
  }

  /// Makes the object part of the current event, although no column, link or order changes.
  func joinEvent() { if isBeforeEvent { beginEvent() } }

  @inline(never)
  private func beginEvent() {
    isBeforeEvent = false
    noteEventEdit()
    eventStart = EventStart(
      columns: changedColumns, deltas: Dictionary(uniqueKeysWithValues: deltas.map { ($0.slot, $0.delta) }))
  }

  func removeDeltas(where isRemoved: (Int) -> Bool) {
    willChange()
    linksChanged()
    noteEdit()
    if isBeforeEvent, !deltas.isEmpty { beginEvent() }
    deltas.removeAll { isRemoved($0.slot) }
  }

  /// Discards all changed columns of an object that has a row.
  func discardValues() {
    precondition(!isNew, "The columns of a new object cannot be discarded: it has no row.")
    willChange()
    linksChanged()
    noteEdit()
    dropValues()
  }
}

extension ObjectOverlay {
  /// Restores an earlier content.
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
