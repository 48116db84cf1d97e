// Rows that a store returns.
//
// The bytes of a `StoredRow` are borrowed. If a reader keeps its rows (`StateReader.keepsRows`),
// they are mapped or in memory as long as the reader lives. Other readers pass copies, which are
// valid only during the call that receives them. Code that needs a row for longer uses a
// `LeasedRow`: it borrows kept bytes, and copies others.
//
// Rows are decoded with the schema of their reader (`StateReader.schema`). A `KeptRow` is already
// decoded, so it can be read together with rows of other schemas.

internal import PerdurePredicates

/// The version of a row. It changes with every write of the row, even if the bytes stay the same.
package struct RowVersion: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt64

  /// The version of values that no store has. No stored row has this version.
  package static let unknown = RowVersion(rawValue: 0)

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }
}

/// A row of a store. The bytes are borrowed: they are valid during the call that receives the row,
/// and as long as the reader if it keeps its rows.
package struct StoredRow {
  package let bytes: UnsafeRawBufferPointer
  package let version: RowVersion

  package init(bytes: UnsafeRawBufferPointer, version: RowVersion) {
    self.bytes = bytes
    self.version = version
  }
}

/// A row that is valid as long as this value and the reader of the row both live.
struct LeasedRow {
  let row: StoredRow
  /// Nil if the reader keeps the bytes.
  private let copy: RowCopy?

  /// - Complexity: O(1) if the reader keeps its rows, otherwise O(length of the row).
  @inline(__always)
  init(_ row: StoredRow, of reader: any StateReader) {
    self.init(row, isKept: reader.keepsRows)
  }

  /// - Parameter isKept: Whether the reader keeps its rows.
  @inline(__always)
  init(_ row: StoredRow, isKept: Bool) {
    if isKept {
      self.row = row
      copy = nil
    } else {
      let copy = RowCopy(row.bytes)
      self.row = StoredRow(bytes: copy.bytes, version: row.version)
      self.copy = copy
    }
  }

  /// Calls `body` with the row. The bytes of the row are valid until `body` returns.
  @inline(__always)
  func withRow<R>(_ body: (StoredRow) throws -> R) rethrows -> R {
    defer { withExtendedLifetime(copy) {} }
    return try body(row)
  }
}

/// A decoded row that is valid as long as this value lives. With `isKept`, it is valid only while
/// the reader also lives. The context retains the layout (`ViewState.rows`).
struct KeptRow {
  let version: RowVersion
  private let row: RowView
  /// Nil if the reader keeps the bytes.
  private let copy: RowCopy?

  /// - Parameter isKept: Whether the reader keeps its rows and outlives this value.
  /// - Complexity: O(1) if the reader keeps its rows, otherwise O(length of the row).
  init(_ row: RowView, version: RowVersion, isKept: Bool = false) {
    self.version = version
    if isKept {
      self.row = row
      copy = nil
    } else {
      let copy = RowCopy(row.bytes)
      self.row = row.moved(to: copy.bytes)
      self.copy = copy
    }
  }

  /// Calls `body` with the row. The row is valid until `body` returns.
  func withRow<R>(_ body: (RowView) throws -> R) rethrows -> R {
    defer { withExtendedLifetime(copy) {} }
    return try body(row)
  }

  /// The value of a slot.
  func value(_ slot: Int) -> Value { withRow { $0.value(slot) } }

  /// The same row, valid without its reader.
  func copied() -> KeptRow { copy == nil ? KeptRow(row, version: version) : self }

  /// A copy with other values of some slots.
  ///
  /// - Parameter value: Returns the new value of a slot, in the stored type; nil to keep the value.
  func replacing(_ layouts: RowLayouts, _ value: (Int) -> Value?) -> KeptRow {
    let bytes = withRow { row in
      RowWriter(layouts).row(base: row) { slot in value(slot).map { .value($0) } ?? .copied }
    }
    return layouts.withRow(bytes) { KeptRow($0, version: version) }
  }
}

/// A copy of the bytes of a row.
private final class RowCopy {
  let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
    memory.copyMemory(from: bytes)
    self.bytes = UnsafeRawBufferPointer(memory)
  }

  deinit { bytes.deallocate() }
}
