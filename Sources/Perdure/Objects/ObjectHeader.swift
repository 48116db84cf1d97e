// What an object is made of besides its class: a header at a fixed address, and a copy of its row.
//
// The header lies behind a `let` pointer, so that reading it costs loads and no check of exclusive access.
// The row is copied out of the store when a fault fires: an object pins nothing in the store, however long
// it lives. Both lie in the memory of the object's context (ObjectMemory.swift).
//
// Invariants:
//   H1. `epoch == memory.pointee.epoch` means: `row` is the object's row at the context's view, checked, in the
//       layout whose fields `fields` gives, and no column of it has an unsaved change. So one comparison
//       decides whether a field may be read at once. A context's epoch is never 0; it changes when its view
//       does.
//   H2. `overlay` is the tracker's entry for `reference`, or nil when there is none.
//   H3. `groupNumber` and `groupPosition` say in which sibling group the object was handed out last. They are a
//       hint: whoever follows it looks whether the group still is there and has the reference in that place.

internal import PerdurePredicates

/// The state of an object that its accessors read.
struct ObjectHeader {
  var epoch: UInt64 = 0
  let memory: UnsafeMutablePointer<ObjectMemory>
  var row: UnsafeMutableRawPointer?
  var fields: UnsafePointer<RowField>?
  var rowLength = 0
  var version = RowVersion(rawValue: 0)
  let reference: ObjectReference
  let slotCount: Int
  var overlay: Unmanaged<ObjectOverlay>?
  /// What the transient attributes hold; nil while all have their defaults. The instance releases it.
  var transients: Unmanaged<TransientValues>?
  var groupNumber: UInt32 = 0
  var groupPosition: UInt32 = 0
  /// Whether it is gone because another context removed its row.
  var hasVanished = false
  /// What the object has been told of its row (W1 in ContextCore+LifeCycle.swift).
  var wakefulness: Wakefulness = []
  /// What a save has made of the object, while `didSave` is running.
  var savedState: ObjectState?

  /// Whether the object is gone (`ObjectState.gone`).
  @inline(__always)
  var isGone: Bool { wakefulness.contains(.gone) }

  init(_ reference: ObjectReference, slotCount: Int, in memory: UnsafeMutablePointer<ObjectMemory>) {
    self.reference = reference
    self.slotCount = slotCount
    self.memory = memory
  }

  /// Whether the row may be read as it is (H1).
  @inline(__always)
  var isReady: Bool { epoch == memory.pointee.epoch }

  /// The row that was loaded, whatever its age.
  @inline(__always)
  var loadedRow: RowView? {
    guard let row, let fields else { return nil }
    return RowView(base: UnsafeRawPointer(row), count: rowLength, fields: fields)
  }

  /// Takes over a copy of a checked row.
  @inline(__always)
  mutating func setRow(_ view: RowView, version: RowVersion) {
    if row != nil { dropRow() }
    let copy = memory.pointee.allocate(byteCount: view.count)
    copy.copyMemory(from: view.base, byteCount: view.count)
    row = copy
    rowLength = view.count
    fields = view.fields
    self.version = version
  }

  mutating func dropRow() {
    if let row { memory.pointee.deallocate(row, byteCount: rowLength) }
    row = nil
    fields = nil
    rowLength = 0
    epoch = 0
    wakefulness.remove(.altered)
  }

  /// Forgets a row that is not as the store has it.
  mutating func dropAlteredRow() {
    if wakefulness.contains(.altered) { dropRow() }
  }
}

extension UnsafeMutablePointer<ObjectHeader> {
  /// A new header.
  @inline(__always)
  static func make(
    _ reference: ObjectReference, slotCount: Int, in memory: UnsafeMutablePointer<ObjectMemory>
  ) -> Self {
    let header = memory.pointee.allocate(byteCount: MemoryLayout<ObjectHeader>.size)
      .bindMemory(to: ObjectHeader.self, capacity: 1)
    header.initialize(to: ObjectHeader(reference, slotCount: slotCount, in: memory))
    return header
  }

  /// Gives the header and its row back.
  @inline(__always)
  func free() {
    let memory = pointee.memory
    if let row = pointee.row { memory.pointee.deallocate(row, byteCount: pointee.rowLength) }
    deinitialize(count: 1)
    memory.pointee.deallocate(self, byteCount: MemoryLayout<ObjectHeader>.size)
  }
}

extension RowView {
  /// A row that was checked before.
  @inline(__always)
  init(base: UnsafeRawPointer, count: Int, fields: UnsafePointer<RowField>) {
    self.base = base
    self.count = count
    self.fields = fields
  }
}
