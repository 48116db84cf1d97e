// The position of each property in a row.
//
// A row consists of these parts, all little-endian:
//
//     u16 layout number | u16 zero
//     presence bitmap     one bit for each property of the layout, ceil(n / 8) bytes
//     ASCII bitmap        one bit for each variable property, ceil(v / 8) bytes
//     fixed section       bool 1, int16 2, int32 4, int64 8, float 4, double 8, date 8, uuid 16,
//                         decimal 24, to-one reference 8; in the order of the layout, no padding
//     end offsets         u32 for each variable property, from the start of the variable section
//     variable section    string and URL as UTF-8, data unchanged
//
// Invariants of a row that a writer makes:
//   RL1. Unused bits of the bitmaps are 0. If a property has no value, its fixed bytes are 0 or its
//        variable bytes are empty, and its ASCII bit is 0. So equal content in one layout has equal
//        bytes.
//   RL2. End offsets never decrease, and the last one is the length of the variable section.
//   RL3. An ASCII bit is set if and only if a string or URL is present and all its bytes are below
//        128.
//
// A layout is made once for each version of an entity, and lives as long as the store is open.
// Readers use the *slots* of the current entity. So each layout has a table from slots to fields,
// in raw memory: reading a field needs loads, but no reference counting. A property that the layout
// does not have gets a field of kind `absent` and a stand-in, the value that is read instead. The
// address of the stand-ins is stored before the fields. So reading a checked row needs only the
// address of the fields.

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

/// The position of one slot in the rows of one layout. 16 bytes, without pointers.
@usableFromInline package struct RowField: Sendable {
  /// `absent` if the layout does not have the property.
  @usableFromInline package var kind: FieldKind = .absent
  /// Whether this is the first variable property, whose value starts at the start of the variable
  /// section.
  @usableFromInline package var isFirstVariable = false
  /// Bit in the presence bitmap.
  @usableFromInline package var presenceBit: UInt16 = 0
  /// For variable properties: the bit in the ASCII bitmap, counted from the start of that bitmap.
  /// For references: `entityOffset`.
  package var asciiBit: UInt16 = 0
  /// The offset of the ASCII bitmap in the row.
  package var asciiOffset: UInt16 = 0
  /// For a fixed property, the offset of the value in the row. For a variable property, the offset
  /// of its end offset.
  @usableFromInline package var offset: UInt32 = 0
  /// The offset of the variable section in the row.
  @usableFromInline package var variableOffset: UInt32 = 0

  /// For references: the number that is added to the store's entity numbers in a container with
  /// several stores (JoinedStore.swift).
  @inline(__always)
  var entityOffset: UInt16 {
    get { asciiBit }
    set { asciiBit = newValue }
  }

  /// The number of bytes before the fields of a layout. These bytes contain the address of the
  /// layout's stand-ins.
  static var prefixByteCount: Int { MemoryLayout<RowField>.stride }
}

/// A stored property, as a writer uses it.
struct WrittenColumn {
  let slot: Int
  let field: RowField
}

/// The layout of all rows with one layout number. It maps the slots of one entity to positions in
/// these rows.
// Unchecked: the only pointers are to memory that is written in init and freed in deinit.
package final class RowLayout: @unchecked Sendable {
  /// The number that rows of this layout begin with.
  package let number: UInt16
  /// The stored properties, in the order of their bits.
  package let columns: [RowColumn]
  /// The slot of each column in the current entity; nil if the entity no longer has the property.
  package let columnSlots: [Int?]
  /// Number of slots in the field table.
  package let slotCount: Int
  /// The sizes of a row's parts. They suffice for checking a row.
  package let shape: RowShape
  /// The field of each slot.
  package let fields: UnsafePointer<RowField>
  /// For each slot, the value to read if the layout does not have the slot.
  package var standIns: UnsafeBufferPointer<Value> { UnsafeBufferPointer(standInTable) }
  private let standInTable: UnsafeMutableBufferPointer<Value>
  private let memory: UnsafeMutableRawPointer
  /// The columns that have a slot: first those of the fixed section, then the others, in the order
  /// of their bytes.
  private let written: UnsafeMutableBufferPointer<WrittenColumn>
  private let fixedCount: Int

  /// - Parameter slots: The property number of each slot of the entity. Properties that are not
  ///   stored (to-many, derived) have no column.
  /// - Parameter standIns: For each slot, the value to read if the layout does not have the slot.
  ///   If empty, all are `.null`.
  /// - Parameter entityOffset: The difference between the entity numbers of references in the
  ///   joined store and those in the rows. Reads add it, and writes subtract it.
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

  /// The columns of the fixed section, for writing. Every column must have a slot.
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

/// All layouts that rows of one entity may have.
// Unchecked: the pointers are to memory of the layouts in `all`, which live as long as this object.
package final class RowLayouts: @unchecked Sendable {
  /// The layout that new rows are written in.
  package let current: RowLayout
  /// Every layout, the current one included.
  package let all: [RowLayout]
  /// For each slot, the value to read if a layout does not have the slot; the same in all layouts.
  package var standIns: UnsafeBufferPointer<Value> { current.standIns }

  /// Whether every layout has a column for a slot.
  func allHave(_ slot: Int) -> Bool { entries.allSatisfy { $0.fields[slot].kind != .absent } }

  /// The part of a layout that a check of a row needs. It contains no references to objects, so a
  /// scan changes no reference count.
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
    // The current layout is first, because nearly all rows have it.
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

  /// The bytes of a row of the current layout in which every property is null. New rows start with
  /// them.
  var nullBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(nullRow) }

  /// A view of `nullBytes`. Valid while this object lives.
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
