// Writing a row, from values and from the fields of the row it replaces.

package import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Where the writer takes one property from.
package enum RowInput {
  /// A value of the property's type, or `.null`.
  case value(Value)
  /// The same property of an older row; its default where that row's layout does not know it.
  case copied
}

/// Writes rows in one entity's current layout.
package struct RowWriter {
  let layouts: RowLayouts

  package init(_ layouts: RowLayouts) {
    self.layouts = layouts
  }

  /// A new row.
  ///
  /// - Parameter base: The row that `.copied` inputs come from; needed when there are any.
  /// - Parameter input: Asked once for each stored property, by slot. A value must have the property's type
  ///   (see `Value.stored(as:)`).
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

  /// Appends a row to a buffer: what is given as values, and the rest as it is in another row.
  ///
  /// - Parameter base: Needed unless every stored property is given.
  /// - Parameter values: By slot. A value that is given must have the property's type.
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

/// What the bitmaps of a row say about a variable property.
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

/// A row that is being written: its fixed parts, and perhaps some of what follows them.
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
  /// This value in the form that fields of a kind take, or nil when the kind cannot hold it exactly.
  ///
  /// Numbers and truth values convert into each other where nothing is lost; a float may lose precision.
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
