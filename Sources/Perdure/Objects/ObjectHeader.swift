// What an object is made of besides its class: a header at a fixed address, and a copy of its row.
//
// The header lies behind a `let` pointer, so that reading it costs loads and no check of exclusive access.
// The row is copied out of the store when a fault fires: an object pins nothing in the store, however long
// it lives.
//
// Invariants:
//   H1. `epoch == epochCell.pointee` means: `row` is the object's row at the context's view, checked, in the
//       layout whose fields `fields` gives, and no column of it has an unsaved change. So one comparison
//       decides whether a field may be read at once. A context's epoch is never 0; it changes when its view
//       does.
//   H2. `overlay` is the tracker's entry for `reference`, or nil when there is none.

internal import PerdurePredicates

/// The state of an object that its accessors read.
struct ObjectHeader {
  var epoch: UInt64 = 0
  let epochCell: UnsafePointer<UInt64>
  var row: UnsafeMutableRawPointer?
  var fields: UnsafePointer<RowField>?
  var rowLength = 0
  var version = RowVersion(rawValue: 0)
  let reference: ObjectReference
  let slotCount: Int
  var overlay: Unmanaged<ObjectOverlay>?
  /// Whether the object is gone (`ObjectState.gone`).
  var isGone = false
  /// Whether it is gone because another context removed its row.
  var hasVanished = false

  /// The row that was loaded, whatever its age.
  @inline(__always)
  var loadedRow: RowView? {
    guard let row, let fields else { return nil }
    return RowView(base: UnsafeRawPointer(row), count: rowLength, fields: fields)
  }

  /// Takes over a copy of a checked row.
  mutating func setRow(_ view: RowView, version: RowVersion) {
    dropRow()
    let copy = UnsafeMutableRawPointer.allocate(byteCount: view.count, alignment: 8)
    copy.copyMemory(from: view.base, byteCount: view.count)
    row = copy
    rowLength = view.count
    fields = view.fields
    self.version = version
  }

  mutating func dropRow() {
    row?.deallocate()
    row = nil
    fields = nil
    rowLength = 0
    epoch = 0
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
