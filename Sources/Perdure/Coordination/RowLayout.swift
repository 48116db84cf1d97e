// Where each property lies in a row.
//
// A row is, all little-endian:
//
//     u16 layout number | u16 zero
//     presence bitmap     one bit for each property of the layout, ceil(n / 8) bytes
//     ASCII bitmap        one bit for each variable property, ceil(v / 8) bytes
//     fixed section       bool 1, int16 2, int32 4, int64 8, float 4, double 8, date 8, uuid 16, decimal 24,
//                         to-one reference 8; in the order of the layout, without padding
//     end offsets         u32 for each variable property, counted from the start of the variable section
//     variable section    string and URL as UTF-8, data as it is
//
// Invariants of a row that a writer makes:
//   R1. Unused bits of the bitmaps are 0. A property without a value has its fixed bytes 0 or its variable
//       bytes empty, and its ASCII bit 0. So equal content under one layout means equal bytes.
//   R2. End offsets never fall, and the last one is the length of the variable section.
//   R3. An ASCII bit is set if and only if a string or URL is present and all its bytes are below 128.
//
// Layouts are made once for each version of an entity and live as long as the store is open. A reader asks by
// *slot* of today's entity, so each layout carries a table from slot to field, in raw memory: reading a field
// costs loads and no reference counting. A property that the layout does not know has a field of kind
// `absent`, and a stand-in, which rows of the layout read instead. The address of the stand-ins
// lies before the fields, so the address of its fields is all that reading a checked row needs.

package import PerdurePredicates

/// One stored property of a layout.
package struct RowColumn: Hashable, Sendable {
  /// The property's number in the stored model.
  package let property: UInt32
  package let kind: FieldKind

  package init(property: UInt32, kind: FieldKind) {
    precondition(kind != .absent, "A column holds a value.")
    self.property = property
    self.kind = kind
  }
}

/// Where one slot lies in the rows of one layout. Sixteen bytes, no pointers.
@usableFromInline package struct RowField: Sendable {
  /// `absent` when the layout has no such property.
  @usableFromInline package var kind: FieldKind = .absent
  /// Whether a variable property is the first of its section, so that it starts at 0.
  @usableFromInline package var isFirstVariable = false
  /// Bit in the presence bitmap.
  @usableFromInline package var presenceBit: UInt16 = 0
  /// Bit in the ASCII bitmap, counted from the start of that bitmap; for variable properties. For references
  /// `entityOffset`.
  package var asciiBit: UInt16 = 0
  /// Where the ASCII bitmap starts in the row.
  package var asciiOffset: UInt16 = 0
  /// Where the value (fixed) or the end offset (variable) lies in the row.
  @usableFromInline package var offset: UInt32 = 0
  /// Where the variable section starts in the row.
  @usableFromInline package var variableOffset: UInt32 = 0

  /// For references: what is added to the entity numbers of the store to get those of a container with several
  /// (JoinedStore.swift).
  @inline(__always)
  var entityOffset: UInt16 {
    get { asciiBit }
    set { asciiBit = newValue }
  }

  /// What lies before the fields of a layout: the address of its stand-ins.
  static var prefixByteCount: Int { MemoryLayout<RowField>.stride }
}

/// A stored property as a row is written.
struct WrittenColumn {
  let slot: Int
  let field: RowField
}

/// The shape of the rows that carry one layout number, read through the slots of one entity.
// Unchecked: the only pointers are to memory that is written in init and freed in deinit.
package final class RowLayout: @unchecked Sendable {
  /// The number that rows of this layout begin with.
  package let number: UInt16
  /// The stored properties, in the order of their bits.
  package let columns: [RowColumn]
  /// For each column the slot of today's entity that shows it, or nil when the entity has it no longer.
  package let columnSlots: [Int?]
  /// Number of slots in the field table.
  package let slotCount: Int
  /// Sizes of a row's parts, all that checking a row needs.
  package let shape: RowShape
  /// The field of each slot.
  package let fields: UnsafePointer<RowField>
  /// What rows of the layout read of each slot that it does not know.
  package var standIns: UnsafeBufferPointer<Value> { UnsafeBufferPointer(standInTable) }
  private let standInTable: UnsafeMutableBufferPointer<Value>
  private let memory: UnsafeMutableRawPointer
  /// The columns that a slot shows: first those of the fixed section, then the others, in the order of their
  /// bytes.
  private let written: UnsafeMutableBufferPointer<WrittenColumn>
  private let fixedCount: Int

  /// - Parameter slots: For each slot of the entity its property's number; slots of properties that are not
  ///   stored (to-many, derived) simply find no column.
  /// - Parameter standIns: For each slot what rows read if the layout does not know it; `.null`
  ///   throughout when empty.
  /// - Parameter entityOffset: What is added to the entity numbers of references that are read, and taken off those that
  ///   are written.
  package init(
    number: UInt16, columns: [RowColumn], slots: [UInt32], standIns: [Value] = [], entityOffset: UInt16 = 0
  ) {
    precondition(columns.count <= 32_000, "A layout has too many columns.")
    precondition(standIns.isEmpty || standIns.count == slots.count, "Each slot has one stand-in.")
    let slotOf = Dictionary(zip(slots, slots.indices), uniquingKeysWith: { first, _ in first })
    let shape = RowShape(columns)
    self.number = number
    self.columns = columns
    self.slotCount = slots.count
    self.columnSlots = columns.map { slotOf[$0.property] }
    self.shape = shape

    standInTable = .allocate(capacity: slots.count)
    _ = standInTable.initialize(
      from: standIns.isEmpty ? [Value](repeating: .null, count: slots.count) : standIns)
    memory = .allocate(
      byteCount: RowField.prefixByteCount + slots.count * MemoryLayout<RowField>.stride, alignment: 16)
    memory.storeBytes(of: UnsafePointer(standInTable.baseAddress), as: UnsafePointer<Value>?.self)
    let table = (memory + RowField.prefixByteCount).bindMemory(to: RowField.self, capacity: slots.count)
    table.initialize(repeating: RowField(), count: slots.count)
    let fields = shape.fields(of: columns).map { field in
      var field = field
      if field.kind == .reference { field.entityOffset = entityOffset }
      return field
    }
    for (field, slot) in zip(fields, columnSlots) {
      if let slot { table[slot] = field }
    }
    self.fields = UnsafePointer(table)

    let shown = zip(fields, columnSlots).compactMap { field, slot in
      slot.map { WrittenColumn(slot: $0, field: field) }
    }
    let fixed = shown.filter { !$0.field.kind.isVariable }
    written = .allocate(capacity: shown.count)
    _ = written.initialize(from: fixed + shown.filter { $0.field.kind.isVariable })
    fixedCount = fixed.count
  }

  deinit {
    memory.deallocate()
    standInTable.deinitialize()
    standInTable.deallocate()
    written.deallocate()
  }

  /// What a writer fills, all of it: a property without a slot cannot be written.
  var fixedColumns: Slice<UnsafeMutableBufferPointer<WrittenColumn>> {
    precondition(written.count == columns.count, "A stored property has no slot in its entity.")
    return written[..<fixedCount]
  }

  var variableColumns: Slice<UnsafeMutableBufferPointer<WrittenColumn>> { written[fixedCount...] }
}

/// Sizes of the parts of a row.
@usableFromInline package struct RowShape: Sendable, Hashable {
  package let columnCount: Int
  package let variableCount: Int
  package let asciiOffset: Int
  package let fixedOffset: Int
  package let endsOffset: Int
  package let variableOffset: Int

  @inlinable package static var presenceOffset: Int { 4 }

  init(_ columns: [RowColumn]) {
    columnCount = columns.count
    variableCount = columns.count { $0.kind.isVariable }
    asciiOffset = Self.presenceOffset + (columnCount + 7) / 8
    fixedOffset = asciiOffset + (variableCount + 7) / 8
    endsOffset = fixedOffset + columns.reduce(0) { $0 + $1.kind.fixedSizeBytes }
    variableOffset = endsOffset + 4 * variableCount
  }

  /// The field of each column.
  func fields(of columns: [RowColumn]) -> [RowField] {
    var fixed = fixedOffset
    var variables = 0
    return columns.enumerated().map { position, column in
      var field = RowField()
      field.kind = column.kind
      field.presenceBit = UInt16(position)
      field.asciiOffset = UInt16(asciiOffset)
      field.variableOffset = UInt32(variableOffset)
      if column.kind.isVariable {
        field.isFirstVariable = variables == 0
        field.asciiBit = UInt16(variables)
        field.offset = UInt32(endsOffset + 4 * variables)
        variables += 1
      } else {
        field.offset = UInt32(fixed)
        fixed += column.kind.fixedSizeBytes
      }
      return field
    }
  }
}

/// All layouts that rows of one entity may carry, by number.
// Unchecked: the pointers lead to the layouts in `all`, which live as long as this object.
package final class RowLayouts: @unchecked Sendable {
  /// The layout that new rows are written in.
  package let current: RowLayout
  /// Every layout, the current one included.
  package let all: [RowLayout]
  /// What each slot reads as where a layout does not know it; the same in all layouts.
  package var standIns: UnsafeBufferPointer<Value> { current.standIns }

  /// What checking a row needs of a layout, so that a scan touches no reference count.
  struct Entry {
    let number: UInt16
    let shape: RowShape
    let fields: UnsafePointer<RowField>
  }

  let entries: UnsafeBufferPointer<Entry>
  private let nullRow: UnsafeMutableRawBufferPointer

  /// - Parameter current: One of `all`.
  package init(current: RowLayout, all: [RowLayout]) {
    precondition(all.contains { $0 === current }, "The layouts include the current one.")
    self.current = current
    self.all = all
    // The current layout first: nearly all rows carry it.
    let ordered = [current] + all.filter { $0 !== current }
    let table = UnsafeMutableBufferPointer<Entry>.allocate(capacity: ordered.count)
    _ = table.initialize(
      from: ordered.map { Entry(number: $0.number, shape: $0.shape, fields: $0.fields) })
    self.entries = UnsafeBufferPointer(table)
    nullRow = .allocate(byteCount: current.shape.variableOffset, alignment: 1)
    nullRow.initializeMemory(as: UInt8.self, repeating: 0)
    nullRow.storeBytes(of: current.number.littleEndian, as: UInt16.self)
  }

  deinit {
    entries.deallocate()
    nullRow.deallocate()
  }

  /// A row of the current layout in which every property is null: where a row begins that is being written.
  var nullBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(nullRow) }

  /// The same to read. Valid while this object lives.
  var nulls: RowView {
    guard let base = nullRow.baseAddress else { preconditionFailure("A row is never empty.") }
    return RowView(base: UnsafeRawPointer(base), count: nullRow.count, fields: current.fields)
  }

  /// Passes a row that was written in the current layout to `body`.
  func withRow<R>(_ written: [UInt8], _ body: (RowView) throws -> R) rethrows -> R {
    try written.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { preconditionFailure("A row is never empty.") }
      return try body(RowView(base: base, count: bytes.count, fields: current.fields))
    }
  }
}
