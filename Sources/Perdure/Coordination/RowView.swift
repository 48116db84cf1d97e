// Reads a row in place.
//
// The creation of a view checks the row once. After that, fields are read without bounds checks,
// because RL2 (RowLayout.swift) holds and every offset of the field table is inside the fixed
// parts. A view is three machine words. It borrows the bytes and the layouts, and must not outlive
// them.

package import PerdurePredicates

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// The reason why bytes are not a row of an entity.
package struct RowError: Error, Hashable, Sendable {
  package enum Code: Hashable, Sendable {
    /// The row is shorter than the fixed parts of its layout.
    case truncated
    /// The entity has no layout with this number.
    case unknownLayout
    /// A reserved byte is not zero.
    case reservedBytes
    /// The end offsets decrease, or the last one is not the end of the row.
    case endOffsets
  }

  package let code: Code
  /// The offset of the error in the row, in bytes.
  package let offset: Int
}

extension RowError: CustomStringConvertible {
  package var description: String {
    switch code {
    case .truncated: "The row ends at byte \(offset), inside its fixed parts."
    case .unknownLayout: "The row begins with a layout number that its entity does not have."
    case .reservedBytes: "The row has reserved bytes that are not zero at byte \(offset)."
    case .endOffsets: "The row has an impossible end offset at byte \(offset)."
    }
  }
}

/// A checked row, read field by field in place.
// The pointers are borrowed. The creator of the view keeps their owners alive.
@usableFromInline package struct RowView {
  @usableFromInline package let base: UnsafeRawPointer
  @usableFromInline package let count: Int
  @usableFromInline package let fields: UnsafePointer<RowField>

  /// The bytes of the row.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  /// The same row in a copy of its bytes.
  func moved(to copy: UnsafeRawBufferPointer) -> RowView {
    RowView(base: copy.baseAddress ?? base, count: count, fields: fields)
  }

  /// Checks the parts of a row. For any bytes, the result is a view or an error.
  package init(checking bytes: UnsafeRawBufferPointer, _ layouts: RowLayouts) throws(RowError) {
    try self.init(checking: bytes, layouts.entries)
  }

  init(
    checking bytes: UnsafeRawBufferPointer, _ entries: UnsafeBufferPointer<RowLayouts.Entry>
  ) throws(RowError) {
    guard let base = bytes.baseAddress, bytes.count >= RowShape.presenceOffset else {
      throw RowError(code: .truncated, offset: bytes.count)
    }
    let head = UInt32(littleEndian: base.loadUnaligned(as: UInt32.self))
    guard head >> 16 == 0 else { throw RowError(code: .reservedBytes, offset: 2) }
    let number = UInt16(truncatingIfNeeded: head)
    var position = 0
    while position < entries.count, entries[position].number != number { position += 1 }
    guard position < entries.count else { throw RowError(code: .unknownLayout, offset: 0) }
    let shape = entries[position].shape
    guard bytes.count >= shape.variableOffset else {
      throw RowError(code: .truncated, offset: bytes.count)
    }
    try Self.checkEnds(base, shape, available: bytes.count - shape.variableOffset)
    self.base = base
    self.count = bytes.count
    self.fields = entries[position].fields
  }

  private static func checkEnds(
    _ base: UnsafeRawPointer, _ shape: RowShape, available: Int
  ) throws(RowError) {
    var previous: UInt32 = 0
    var falls = false
    var offset = shape.endsOffset
    while offset < shape.variableOffset {
      let end = UInt32(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
      falls = falls || end < previous
      previous = end
      offset += 4
    }
    if falls || Int(previous) != available {
      throw RowError(code: .endOffsets, offset: shape.endsOffset)
    }
  }

  /// Whether the slot has a value in this row.
  @inlinable @inline(__always)
  package func isPresent(_ field: RowField) -> Bool {
    guard field.kind != .absent else { return false }
    let byte = base.load(
      fromByteOffset: RowShape.presenceOffset + Int(field.presenceBit >> 3), as: UInt8.self)
    return byte >> (field.presenceBit & 7) & 1 != 0
  }

  @inlinable @inline(__always)
  func load<T: BitwiseCopyable>(_ field: RowField, _ type: T.Type) -> T {
    base.loadUnaligned(fromByteOffset: Int(field.offset), as: T.self)
  }

  /// A present bool.
  @inlinable @inline(__always)
  package func bool(_ field: RowField) -> Bool {
    load(field, UInt8.self) != 0
  }

  /// A present whole number of any width.
  @inlinable @inline(__always)
  package func integer(_ field: RowField) -> Int64 {
    switch field.kind {
    case .int16: Int64(Int16(littleEndian: load(field, Int16.self)))
    case .int32: Int64(Int32(littleEndian: load(field, Int32.self)))
    default: Int64(littleEndian: load(field, Int64.self))
    }
  }

  /// A present double, float (widened) or date (seconds since the reference date).
  @inlinable @inline(__always)
  package func double(_ field: RowField) -> Double {
    if field.kind == .float {
      return Double(Float(bitPattern: UInt32(littleEndian: load(field, UInt32.self))))
    }
    return Double(bitPattern: UInt64(littleEndian: load(field, UInt64.self)))
  }

  /// A present to-one reference.
  @inline(__always)
  package func reference(_ field: RowField) -> ObjectReference {
    ObjectReference(rawValue: UInt64(littleEndian: load(field, UInt64.self))).raised(by: field.entityOffset)
  }

  /// A present UUID.
  package func uuid(_ field: RowField) -> UUID {
    UUID(uuid: load(field, uuid_t.self))
  }

  /// A present decimal in parts.
  package func decimal(_ field: RowField) -> DecimalParts {
    DecimalParts(stored: base + Int(field.offset))
  }

  /// The bytes of a string, URL or data; empty if there is no value.
  @inlinable @inline(__always)
  package func bytes(_ field: RowField) -> UnsafeRawBufferPointer {
    let end = UInt32(littleEndian: load(field, UInt32.self))
    let start =
      field.isFirstVariable
      ? 0
      : UInt32(
        littleEndian: base.loadUnaligned(fromByteOffset: Int(field.offset) - 4, as: UInt32.self))
    return UnsafeRawBufferPointer(
      start: base + Int(field.variableOffset) + Int(start), count: Int(end &- start))
  }

  /// A present string.
  package func text(_ field: RowField) -> String { String(decoding: bytes(field), as: UTF8.self) }

  // This function releases no object, so an inlined read needs no retain around the call. It takes
  // two pointers instead of a view, because each call then needs less code.
  /// The present string of a field of a checked row.
  @_effects(releasenone) @usableFromInline @inline(never)
  static func text(of row: UnsafeRawPointer, _ field: UnsafePointer<RowField>) -> String {
    // A length is needed only to copy a row, so 0 is enough here.
    RowView(base: row, count: 0, fields: field).text(field.pointee)
  }

  /// Whether a string or URL is known to be ASCII, so that its bytes can be compared directly.
  @inline(__always)
  package func isASCII(_ field: RowField) -> Bool {
    let byte = base.load(
      fromByteOffset: Int(field.asciiOffset) + Int(field.asciiBit >> 3), as: UInt8.self)
    return byte >> (field.asciiBit & 7) & 1 != 0
  }

  /// The value that a read of a slot returns if the layout of the row does not have the slot.
  package func standIn(_ slot: Int) -> Value {
    let prefix = UnsafeRawPointer(fields) - RowField.prefixByteCount
    return prefix.load(as: UnsafePointer<Value>.self)[slot]
  }

  /// The value of a slot; `.null` if the row has no value, or if the bytes of a URL are not a URL.
  /// If the layout of the row does not have the slot, returns `standIn(slot)`.
  package func value(_ slot: Int) -> Value {
    let field = fields[slot]
    if field.kind == .absent { return standIn(slot) }
    guard isPresent(field) else { return .null }
    switch field.kind {
    case .absent: return .null
    case .bool: return .bool(bool(field))
    case .int16, .int32, .int64: return .integer(integer(field))
    case .float, .double: return .double(double(field))
    case .date: return .date(Date(timeIntervalSinceReferenceDate: double(field)))
    case .uuid: return .uuid(uuid(field))
    case .decimal: return .decimal(decimal(field).decimal)
    case .reference: return .reference(reference(field))
    case .string: return .string(text(field))
    case .data: return .data(Data(bytes(field)))
    case .url: return URL(string: String(decoding: bytes(field), as: UTF8.self)).map(Value.url) ?? .null
    }
  }
}
