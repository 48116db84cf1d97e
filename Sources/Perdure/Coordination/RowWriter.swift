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
    var bytes: [UInt8] = []
    append(to: &bytes, base: base, input)
    return bytes
  }

  /// Appends a row to a buffer; as `row(base:_:)`.
  @inline(__always)
  package func append(to bytes: inout [UInt8], base: RowView? = nil, _ input: (Int) -> RowInput) {
    let layout = layouts.current
    let draft = RowDraft(layout, at: bytes.count)
    bytes.append(contentsOf: layouts.nullBytes)
    for slot in layout.columnSlots {
      guard let slot else { preconditionFailure("A stored property has no slot in its entity.") }
      let field = layout.fields[slot]
      switch input(slot) {
      case .value(let value): draft.put(value, field, &bytes)
      case .copied: copy(slot, field, from: base, draft, &bytes)
      }
      if field.kind.isVariable { draft.putEnd(field, &bytes) }
    }
  }

  private func copy(
    _ slot: Int, _ field: RowField, from base: RowView?, _ draft: RowDraft, _ bytes: inout [UInt8]
  ) {
    guard let base else { preconditionFailure("A copied property needs a base row.") }
    let old = base.fields[slot]
    guard old.kind == field.kind else {
      draft.put(old.kind == .absent ? layouts.defaults[slot] : base.value(slot), field, &bytes)
      return
    }
    if base.isPresent(old) { draft.copy(old, of: base, to: field, &bytes) }
  }
}

/// A row that is being written at the end of a buffer.
private struct RowDraft {
  /// Where the row starts in the buffer.
  private let start: Int
  /// Where its variable section starts.
  private let variableStart: Int

  init(_ layout: RowLayout, at start: Int) {
    self.start = start
    variableStart = start + layout.shape.variableOffset
  }

  /// Notes that the variable bytes of a field are complete.
  func putEnd(_ field: RowField, _ bytes: inout [UInt8]) {
    let length = bytes.count - variableStart
    precondition(length <= Int(UInt32.max), "A row is at most 4 GiB.")
    store(UInt32(length).littleEndian, field, &bytes)
  }

  /// Copies a present field of the same kind.
  func copy(_ old: RowField, of base: RowView, to field: RowField, _ bytes: inout [UInt8]) {
    setPresent(field, &bytes)
    if field.kind.isVariable {
      bytes.append(contentsOf: base.bytes(old))
      if field.kind != .data, base.isASCII(old) { setASCII(field, &bytes) }
    } else {
      let source = UnsafeRawBufferPointer(
        start: base.base + Int(old.offset), count: field.kind.fixedSizeBytes)
      bytes.withUnsafeMutableBytes {
        UnsafeMutableRawBufferPointer(rebasing: $0[(start + Int(field.offset))...]).copyMemory(from: source)
      }
    }
  }

  func put(_ value: Value, _ field: RowField, _ bytes: inout [UInt8]) {
    if case .null = value { return }
    setPresent(field, &bytes)
    switch (field.kind, value) {
    case (.bool, .bool(let bool)): store(UInt8(bool ? 1 : 0), field, &bytes)
    case (.int16, .integer(let integer)): store(Int16(integer).littleEndian, field, &bytes)
    case (.int32, .integer(let integer)): store(Int32(integer).littleEndian, field, &bytes)
    case (.int64, .integer(let integer)): store(integer.littleEndian, field, &bytes)
    case (.float, .double(let double)): store(Float(double).bitPattern.littleEndian, field, &bytes)
    case (.double, .double(let double)): store(double.bitPattern.littleEndian, field, &bytes)
    case (.date, .date(let date)):
      store(date.timeIntervalSinceReferenceDate.bitPattern.littleEndian, field, &bytes)
    case (.uuid, .uuid(let uuid)): store(uuid.uuid, field, &bytes)
    case (.reference, .reference(let reference)): store(reference.rawValue.littleEndian, field, &bytes)
    case (.decimal, .decimal(let decimal)):
      bytes.withUnsafeMutableBytes {
        DecimalParts(decimal).store(to: $0.baseAddress! + start + Int(field.offset))
      }
    case (.string, .string(let text)): putText(text, field, &bytes)
    case (.url, .url(let url)): putText(url.absoluteString, field, &bytes)
    case (.data, .data(let data)): bytes.append(contentsOf: data)
    default: preconditionFailure("A property of kind \(field.kind) cannot hold \(value.kindName).")
    }
  }

  private func putText(_ text: String, _ field: RowField, _ bytes: inout [UInt8]) {
    var text = text
    let bits = text.withUTF8 { source in
      bytes.append(contentsOf: source)
      return source.reduce(0, |)
    }
    if bits < 0x80 { setASCII(field, &bytes) }
  }

  private func setPresent(_ field: RowField, _ bytes: inout [UInt8]) {
    bytes[start + RowShape.presenceOffset + Int(field.presenceBit >> 3)] |= 1 << (field.presenceBit & 7)
  }

  private func setASCII(_ field: RowField, _ bytes: inout [UInt8]) {
    bytes[start + Int(field.asciiOffset) + Int(field.asciiBit >> 3)] |= 1 << (field.asciiBit & 7)
  }

  private func store<T: BitwiseCopyable>(_ value: T, _ field: RowField, _ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes {
      $0.storeBytes(of: value, toByteOffset: start + Int(field.offset), as: T.self)
    }
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

  /// The number, when it is whole and has 64 bits.
  package var wholeNumber: Int64? {
    switch self {
    case .bool(let bool): return bool ? 1 : 0
    case .integer(let integer): return integer
    case .double(let double): return Int64(exactly: double)
    case .decimal(let decimal): return DecimalParts(decimal).wholeNumber
    default: return nil
    }
  }
}

extension DecimalParts {
  /// The number, when it is whole and has 64 bits.
  package var wholeNumber: Int64? {
    if isZero { return 0 }
    guard !isNaN, exponent >= 0, exponent <= 18, high == 0 else { return nil }
    var magnitude = low
    for _ in 0..<exponent {
      let (product, overflow) = magnitude.multipliedReportingOverflow(by: 10)
      if overflow { return nil }
      magnitude = product
    }
    if isNegative { return magnitude == 1 << 63 ? .min : Int64(exactly: magnitude).map { -$0 } }
    return Int64(exactly: magnitude)
  }
}
