// Writes a row, from values and from fields of the row that it replaces.

package import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The source of one property of a row.
package enum RowInput {
  /// A value of the property's type, or `.null`.
  case value(Value)
  /// The same property of an older row; the property's stand-in if the layout of that row does not
  /// have the property.
  case copied
}

/// Writes rows in one entity's current layout.
package struct RowWriter {
  let layouts: RowLayouts

  package init(_ layouts: RowLayouts) {
    self.layouts = layouts
  }

  /// Returns a new row.
  ///
  /// - Parameter base: The source of `.copied` inputs; required if there are any.
  /// - Parameter input: Called once for each stored property, with its slot. A value must have the
  ///   property's type (see `Value.stored(as:)`).
  package func row(base: RowView? = nil, _ input: (Int) -> RowInput) -> [UInt8] {
    var values = [Value](repeating: .null, count: layouts.current.slotCount)
    var isGiven = [Bool](repeating: false, count: layouts.current.slotCount)
    for case let slot? in layouts.current.columnSlots {
      guard case .value(let value) = input(slot) else { continue }
      values[slot] = value
      isGiven[slot] = true
    }
    var bytes: [UInt8] = []
    values.withUnsafeBufferPointer { values in
      isGiven.withUnsafeBufferPointer { append(to: &bytes, base: base, values, isGiven: $0) }
    }
    return bytes
  }

  /// Appends a row to a buffer. Given values are used, and the other properties are copied from
  /// another row.
  ///
  /// - Parameter base: The source of the other properties; required unless every stored property is
  ///   given.
  /// - Parameter values: The values, by slot. A given value must have the property's type.
  package func append(
    to bytes: inout [UInt8], base: RowView? = nil, _ values: UnsafeBufferPointer<Value>,
    isGiven: UnsafeBufferPointer<Bool>
  ) {
    let layout = layouts.current
    precondition(
      values.count == layout.slotCount && isGiven.count == layout.slotCount,
      "Each slot has a value and a flag.")
    let start = bytes.count
    bytes.append(contentsOf: layouts.nullBytes)
    let variableStart = bytes.count
    bytes.withUnsafeMutableBytes { all in
      let row = RowDraft(UnsafeMutableRawBufferPointer(rebasing: all[start...]))
      for column in layout.fixedColumns {
        if isGiven[column.slot] {
          row.put(values[column.slot], column.field)
        } else {
          copyFixed(column, from: base, to: row)
        }
      }
    }
    for column in layout.variableColumns {
      let form =
        isGiven[column.slot]
        ? VariableForm(appending: values[column.slot], column.field, to: &bytes)
        : copyVariable(column, from: base, to: &bytes)
      let length = bytes.count - variableStart
      precondition(length <= Int(UInt32.max), "A row is at most 4 GiB.")
      bytes.withUnsafeMutableBytes {
        RowDraft(UnsafeMutableRawBufferPointer(rebasing: $0[start...]))
          .finish(column.field, form, end: UInt32(length))
      }
    }
  }

  private func copyFixed(_ column: WrittenColumn, from base: RowView?, to row: RowDraft) {
    guard let base else { preconditionFailure("A copied property needs a base row.") }
    let old = base.fields[column.slot]
    if old.kind == column.field.kind {
      if base.isPresent(old) { row.copy(old, of: base, to: column.field) }
    } else {
      row.put(base.value(column.slot), column.field)
    }
  }

  private func copyVariable(
    _ column: WrittenColumn, from base: RowView?, to bytes: inout [UInt8]
  ) -> VariableForm {
    guard let base else { preconditionFailure("A copied property needs a base row.") }
    let old = base.fields[column.slot]
    guard old.kind == column.field.kind else {
      return VariableForm(appending: base.value(column.slot), column.field, to: &bytes)
    }
    guard base.isPresent(old) else { return VariableForm() }
    bytes.append(contentsOf: base.bytes(old))
    return VariableForm(isPresent: true, isASCII: old.kind != .data && base.isASCII(old))
  }
}

/// The bits of a variable property in the bitmaps of a row.
private struct VariableForm {
  var isPresent = false
  var isASCII = false

  init(isPresent: Bool = false, isASCII: Bool = false) {
    self.isPresent = isPresent
    self.isASCII = isASCII
  }

  /// Appends the bytes of a value.
  @inline(__always)
  init(appending value: Value, _ field: RowField, to bytes: inout [UInt8]) {
    switch (field.kind, value) {
    case (_, .null): self.init()
    case (.string, .string(let text)): self.init(appending: text, to: &bytes)
    case (.url, .url(let url)): self.init(appending: url.absoluteString, to: &bytes)
    case (.data, .data(let data)):
      bytes.append(contentsOf: data)
      self.init(isPresent: true)
    default: preconditionFailure("A property of kind \(field.kind) cannot hold \(value.kindName).")
    }
  }

  private init(appending text: String, to bytes: inout [UInt8]) {
    var text = text
    let bits = text.withUTF8 { source in
      bytes.append(contentsOf: source)
      return source.reduce(0, |)
    }
    self.init(isPresent: true, isASCII: bits < 0x80)
  }
}

/// A row during writing: its fixed parts, and possibly some variable bytes.
private struct RowDraft {
  private let row: UnsafeMutableRawBufferPointer

  @inline(__always)
  init(_ row: UnsafeMutableRawBufferPointer) {
    self.row = row
  }

  /// Copies a present fixed field of the same kind.
  func copy(_ old: RowField, of base: RowView, to field: RowField) {
    setPresent(field)
    let count = field.kind.fixedSizeBytes
    let source = UnsafeRawBufferPointer(start: base.base + Int(old.offset), count: count)
    UnsafeMutableRawBufferPointer(rebasing: row[Int(field.offset)...]).copyMemory(from: source)
  }

  /// Writes a fixed field.
  @inline(__always)
  func put(_ value: Value, _ field: RowField) {
    if case .null = value { return }
    setPresent(field)
    switch (field.kind, value) {
    case (.reference, .reference(let reference)):
      store(reference.lowered(by: field.entityOffset).rawValue.littleEndian, field)
    case (.bool, .bool(let bool)): store(UInt8(bool ? 1 : 0), field)
    case (.int16, .integer(let integer)): store(Int16(integer).littleEndian, field)
    case (.int32, .integer(let integer)): store(Int32(integer).littleEndian, field)
    case (.int64, .integer(let integer)): store(integer.littleEndian, field)
    case (.float, .double(let double)): store(Float(double).bitPattern.littleEndian, field)
    case (.double, .double(let double)): store(double.bitPattern.littleEndian, field)
    case (.date, .date(let date)): store(date.timeIntervalSinceReferenceDate.bitPattern.littleEndian, field)
    case (.uuid, .uuid(let uuid)): store(uuid.uuid, field)
    case (.decimal, .decimal(let decimal)):
      DecimalParts(decimal).store(to: row.baseAddress.unsafelyUnwrapped + Int(field.offset))
    default: preconditionFailure("A property of kind \(field.kind) cannot hold \(value.kindName).")
    }
  }

  /// Completes a variable field whose bytes end at `end` in the variable section.
  @inline(__always)
  func finish(_ field: RowField, _ form: VariableForm, end: UInt32) {
    if form.isPresent { setPresent(field) }
    if form.isASCII { row[Int(field.asciiOffset) + Int(field.asciiBit >> 3)] |= 1 << (field.asciiBit & 7) }
    store(end.littleEndian, field)
  }

  @inline(__always)
  private func setPresent(_ field: RowField) {
    row[RowShape.presenceOffset + Int(field.presenceBit >> 3)] |= 1 << (field.presenceBit & 7)
  }

  @inline(__always)
  private func store<T: BitwiseCopyable>(_ value: T, _ field: RowField) {
    row.storeBytes(of: value, toByteOffset: Int(field.offset), as: T.self)
  }
}

extension Value {
  /// Converts this value to the form of a field kind; nil if the value cannot be converted.
  ///
  /// A value of the same kind is not changed. A double is rounded to a float. A string becomes a
  /// URL if it is one. Of all other values, only whole numbers and truth values are converted, and
  /// only exactly.
  package func stored(as kind: FieldKind) -> Value? {
    switch (kind, self) {
    case (_, .null), (.bool, .bool), (.int64, .integer), (.double, .double), (.date, .date), (.uuid, .uuid),
      (.decimal, .decimal), (.reference, .reference), (.string, .string), (.data, .data), (.url, .url):
      return self
    case (.float, .double(let double)): return .double(Double(Float(double)))
    case (.url, .string(let text)): return URL(string: text).map(Value.url)
    default: return kind.isNumeric ? storedNumber(as: kind) : nil
    }
  }

  private func storedNumber(as kind: FieldKind) -> Value? {
    switch kind {
    case .bool: wholeNumber.flatMap { $0 == 0 ? .bool(false) : $0 == 1 ? .bool(true) : nil }
    case .int16: wholeNumber.flatMap { Int16(exactly: $0) == nil ? nil : .integer($0) }
    case .int32: wholeNumber.flatMap { Int32(exactly: $0) == nil ? nil : .integer($0) }
    case .int64: wholeNumber.map(Value.integer)
    case .float: wholeNumber.flatMap(Float.init(exactly:)).map { .double(Double($0)) }
    case .double: wholeNumber.flatMap(Double.init(exactly:)).map(Value.double)
    case .decimal: wholeNumber.map { .decimal(Decimal($0)) }
    default: nil
    }
  }
}
