// Keys whose byte order is the order of values.
//
// A key is a sequence of components. Comparing two keys as unsigned bytes compares the values of
// their components in order. The encodings never change, because indexes are stored in them.
//
//     null         00
//     otherwise    01, then
//       integer    8 bytes big-endian, sign bit flipped
//       double,    8 bytes big-endian. For negative numbers, all bits are flipped, otherwise only
//       float,     the sign bit. -0.0 is written as 0.0. Every NaN is written as 0, before all
//       date       numbers
//       bool       1 byte, 0 or 1
//       uuid       its 16 bytes
//       decimal    class 0 (not a number), 1 (negative), 2 (zero) or 3 (positive). Classes 1 and 3
//                  continue with the position of the first digit (u16 big-endian, biased), the
//                  digits in pairs plus 1, and 00; all of these are flipped for negative numbers
//       string,    the canonical decomposition as UTF-8, with 00 written as 00 FF, then 00 00
//       URL
//       data       its bytes, escaped and ended like a string, without decomposition
//       reference  8 bytes big-endian
//
// The result of a function of text (`canonical:`, `lowercase:`, `uppercase:`) is written as a
// string.
//
// In a descending component, all bytes are flipped. So null is last.
//
// Invariants:
//   IK1. No encoded component is a proper prefix of another one of its kind. So components can be
//        concatenated.
//   IK2. An encoded string without its 00 00 is a prefix of another encoded string if and only if
//        the same holds for their decompositions.

package import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A key under construction.
package struct OrderedKey: Hashable, Sendable {
  package var bytes: [UInt8]

  package init(_ bytes: [UInt8] = []) {
    self.bytes = bytes
  }

  /// Appends a value that has the form of a kind (`Value.stored(as:)`), or `.null`.
  package mutating func append(_ value: Value, as kind: FieldKind, descending: Bool = false) {
    let start = bytes.count
    appendAscending(value, as: kind)
    if descending { invert(from: start) }
  }

  /// Appends the bytes with which all strings with this prefix begin (IK2), as an ascending
  /// component.
  package mutating func appendPrefix(ofText text: String) {
    bytes.append(1)
    appendDecomposed(text)
  }

  /// Appends a row's value in a slot, or the result of `function` for the text in that slot.
  package mutating func append(
    _ row: RowView, _ slot: Int, default value: Value, function: TextFunction? = nil, descending: Bool = false
  ) {
    let field = row.fields[slot]
    let start = bytes.count
    if field.kind == .absent {
      appendDefault(function.map { value.applying($0) } ?? value)
    } else if row.isPresent(field) {
      if let function { appendText(row.bytes(field), function) } else { appendPresent(row, field) }
    } else {
      bytes.append(0)
    }
    if descending { invert(from: start) }
  }

  /// Appends a reference without a mark for null: the form of keys of relation indexes.
  package mutating func append(bare reference: ObjectReference) {
    append(bigEndian: reference.rawValue)
  }

  /// Appends a number without a mark for null: the form of keys of count indexes.
  package mutating func append(bareCount count: Int) {
    append(bigEndian: UInt64(count))
  }
}

extension OrderedKey {
  private mutating func appendDefault(_ value: Value) {
    switch value {
    case .null: bytes.append(0)
    case .bool: appendAscending(value, as: .bool)
    case .integer: appendAscending(value, as: .int64)
    case .double: appendAscending(value, as: .double)
    case .decimal: appendAscending(value, as: .decimal)
    case .string: appendAscending(value, as: .string)
    case .date: appendAscending(value, as: .date)
    case .uuid: appendAscending(value, as: .uuid)
    case .data: appendAscending(value, as: .data)
    case .url: appendAscending(value, as: .url)
    case .reference: appendAscending(value, as: .reference)
    case .list, .objectID: preconditionFailure("A property holds no list and no id in text.")
    }
  }

  private mutating func appendAscending(_ value: Value, as kind: FieldKind) {
    if case .null = value {
      bytes.append(0)
      return
    }
    bytes.append(1)
    switch (kind, value) {
    case (.bool, .bool(let bool)): bytes.append(bool ? 1 : 0)
    case (.int16, .integer(let integer)), (.int32, .integer(let integer)), (.int64, .integer(let integer)):
      append(integer: integer)
    case (.float, .double(let double)), (.double, .double(let double)): append(double: double)
    case (.date, .date(let date)): append(double: date.timeIntervalSinceReferenceDate)
    case (.uuid, .uuid(let uuid)): withUnsafeBytes(of: uuid.uuid) { bytes.append(contentsOf: $0) }
    case (.decimal, .decimal(let decimal)): append(decimal: DecimalParts(decimal))
    case (.reference, .reference(let reference)): append(bigEndian: reference.rawValue)
    case (.string, .string(let text)):
      appendDecomposed(text)
      appendEnd()
    case (.url, .url(let url)):
      appendDecomposed(url.absoluteString)
      appendEnd()
    case (.data, .data(let data)):
      data.withUnsafeBytes { appendEscaped($0) }
      appendEnd()
    default: preconditionFailure("A key component of kind \(kind) cannot hold \(value.kindName).")
    }
  }

  private mutating func appendPresent(_ row: RowView, _ field: RowField) {
    bytes.append(1)
    switch field.kind {
    case .absent: break
    case .bool: bytes.append(row.bool(field) ? 1 : 0)
    case .int16, .int32, .int64: append(integer: row.integer(field))
    case .float, .double, .date: append(double: row.double(field))
    case .uuid:
      bytes.append(contentsOf: UnsafeRawBufferPointer(start: row.base + Int(field.offset), count: 16))
    case .decimal: append(decimal: row.decimal(field))
    case .reference: append(bigEndian: row.reference(field).rawValue)
    case .string, .url:
      if row.isASCII(field) {
        appendEscaped(row.bytes(field))
      } else {
        StringFolding.fold(row.bytes(field), []).withUnsafeBytes { appendEscaped($0) }
      }
      appendEnd()
    case .data:
      appendEscaped(row.bytes(field))
      appendEnd()
    }
  }

  private mutating func appendText(_ text: UnsafeRawBufferPointer, _ function: TextFunction) {
    bytes.append(1)
    function.applied(to: text).withUnsafeBytes { made in
      if function == .canonical || StringFolding.isASCII(made) {
        appendEscaped(made)
      } else {
        StringFolding.fold(made, []).withUnsafeBytes { appendEscaped($0) }
      }
    }
    appendEnd()
  }

  /// The 8 encoded bytes of a field that is present, as a number; nil for all kinds except
  /// integers, floats, doubles and dates.
  @inline(__always)
  static func word(_ row: RowView, _ field: RowField) -> UInt64? {
    switch field.kind {
    case .int16, .int32, .int64: UInt64(bitPattern: row.integer(field)) ^ 1 << 63
    case .float, .double, .date: orderedBits(row.double(field))
    case .absent, .bool, .uuid, .decimal, .string, .url, .data, .reference: nil
    }
  }

  private mutating func append(bigEndian word: UInt64) {
    withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
  }

  private mutating func append(integer: Int64) {
    append(bigEndian: UInt64(bitPattern: integer) ^ 1 << 63)
  }

  private mutating func append(double: Double) {
    append(bigEndian: Self.orderedBits(double))
  }

  /// Bits whose unsigned order is the order of doubles, with one zero and one NaN.
  static func orderedBits(_ double: Double) -> UInt64 {
    if double.isNaN { return 0 }
    let bits = (double == 0 ? 0 : double).bitPattern
    return bits >> 63 == 0 ? bits ^ 1 << 63 : ~bits
  }

  private mutating func append(decimal: DecimalParts) {
    if decimal.isNaN || decimal.isZero {
      bytes.append(decimal.isNaN ? 0 : 2)
      return
    }
    bytes.append(decimal.isNegative ? 1 : 3)
    let start = bytes.count
    var digits = decimal.digits
    let place = UInt16(clamping: Int(decimal.exponent) + digits.count + 1 << 14)
    while digits.last == 0 { digits.removeLast() }
    bytes.append(UInt8(place >> 8))
    bytes.append(UInt8(place & 0xFF))
    if digits.count % 2 == 1 { digits.append(0) }
    for pair in stride(from: 0, to: digits.count, by: 2) {
      bytes.append(digits[pair] * 10 + digits[pair + 1] + 1)
    }
    bytes.append(0)
    if decimal.isNegative { invert(from: start) }
  }

  private mutating func appendDecomposed(_ text: String) {
    StringFolding.fold(text, []).withUnsafeBytes { appendEscaped($0) }
  }

  private mutating func appendEscaped(_ source: UnsafeRawBufferPointer) {
    guard source.contains(0) else {
      bytes.append(contentsOf: source)
      return
    }
    for byte in source {
      bytes.append(byte)
      if byte == 0 { bytes.append(0xFF) }
    }
  }

  private mutating func appendEnd() {
    bytes.append(0)
    bytes.append(0)
  }

  private mutating func invert(from start: Int) {
    for position in start..<bytes.count { bytes[position] = ~bytes[position] }
  }
}

extension Value {
  /// The result of a function of a text. Other values are returned unchanged.
  func applying(_ function: TextFunction) -> Value {
    if case .string(let text) = self { .string(function.applied(to: text)) } else { self }
  }
}
