// Folds UTF-8 in one pass. Only text with non-ASCII bytes needs it.
//
// Scalars are decomposed one by one. Marks (class other than 0) are kept until the next starter;
// then they are sorted and written. Case is folded while writing. U+0345 is the only mark with a
// case folding. It has the highest class, so it is the last of its marks, and it folds to a
// starter. No other folding of a decomposed scalar has a class, so the order remains correct.

struct Folder {
  private(set) var utf8: [UInt8] = []
  private var waiting: [UInt32] = []
  private let table = FoldingTable.shared
  private let foldsCase: Bool
  private let dropsMarks: Bool

  init(_ options: StringOptions, capacity: Int) {
    foldsCase = options.contains(.caseInsensitive)
    dropsMarks = options.contains(.diacriticInsensitive)
    utf8.reserveCapacity(capacity + capacity / 2)
  }

  /// Folds the whole text.
  mutating func fold(_ bytes: UnsafeRawBufferPointer) {
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if byte < 0x80 {
        if !waiting.isEmpty { writeMarks() }
        utf8.append(foldsCase ? StringFolding.lowercased(byte) : byte)
        index += 1
      } else {
        let (scalar, length) = UTF8Scalar.decode(bytes, at: index)
        index += length
        decompose(scalar)
      }
    }
    if !waiting.isEmpty { writeMarks() }
  }

  private mutating func decompose(_ scalar: UInt32) {
    if (0xAC00...0xD7A3).contains(scalar) { return decomposeHangul(scalar - 0xAC00) }
    let record = table.record(scalar)
    if record.decomposition.isEmpty { return take(scalar, record) }
    for place in record.decomposition {
      let part = table.scalars[Int(place)]
      take(part, table.record(part))
    }
  }

  /// The number of a Hangul syllable encodes its letters: 19 leading, 21 vowels, 27 trailing or
  /// none.
  private mutating func decomposeHangul(_ number: UInt32) {
    if !waiting.isEmpty { writeMarks() }
    UTF8Scalar.encode(0x1100 + number / 588, into: &utf8)
    UTF8Scalar.encode(0x1161 + number % 588 / 28, into: &utf8)
    if number % 28 != 0 { UTF8Scalar.encode(0x11A7 + number % 28, into: &utf8) }
  }

  /// Processes a decomposed scalar. A mark is kept until the next starter; a starter is written.
  private mutating func take(_ scalar: UInt32, _ record: FoldingTable.Record) {
    if record.isMark && dropsMarks { return }
    if record.combiningClass != 0 {
      waiting.append(scalar)
    } else {
      if !waiting.isEmpty { writeMarks() }
      write(scalar, record)
    }
  }

  private mutating func write(_ scalar: UInt32, _ record: FoldingTable.Record) {
    if scalar < 0x80 {
      utf8.append(foldsCase ? StringFolding.lowercased(UInt8(scalar)) : UInt8(scalar))
    } else if foldsCase, !record.folding.isEmpty {
      for place in record.folding { UTF8Scalar.encode(table.scalars[Int(place)], into: &utf8) }
    } else {
      UTF8Scalar.encode(scalar, into: &utf8)
    }
  }

  /// Writes the marks in canonical order: a stable sort by class. The position is part of the sort
  /// key, so any sort algorithm gives the stable order, in O(n log n).
  private mutating func writeMarks() {
    let marks = waiting
    waiting.removeAll(keepingCapacity: true)
    if marks.count == 1 { return write(marks[0], table.record(marks[0])) }
    let keyed = marks.indices.map { (table.record(marks[$0]).combiningClass, $0) }
    for (_, place) in keyed.sorted(by: <) { write(marks[place], table.record(marks[place])) }
  }
}

/// Decodes and encodes scalars in UTF-8.
enum UTF8Scalar {
  /// The scalar at an index and its number of bytes. For a byte that begins no scalar, U+FFFD and
  /// 1.
  static func decode(_ bytes: UnsafeRawBufferPointer, at index: Int) -> (scalar: UInt32, length: Int) {
    let first = UInt32(bytes[index])
    if first < 0x80 { return (first, 1) }
    let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
    guard (0xC2...0xF4).contains(first), index + length <= bytes.count else { return (0xFFFD, 1) }
    var scalar = first & (0x7F >> UInt32(length))
    for offset in 1..<length {
      let byte = UInt32(bytes[index + offset])
      guard byte & 0xC0 == 0x80 else { return (0xFFFD, 1) }
      scalar = scalar << 6 | (byte & 0x3F)
    }
    let least: UInt32 = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80
    let isScalar = scalar >= least && scalar <= 0x10FFFF && !(0xD800...0xDFFF).contains(scalar)
    return isScalar ? (scalar, length) : (0xFFFD, 1)
  }

  static func encode(_ scalar: UInt32, into bytes: inout [UInt8]) {
    func append(_ bits: UInt32) { bytes.append(UInt8(truncatingIfNeeded: bits)) }
    switch scalar {
    case ..<0x80: append(scalar)
    case ..<0x800:
      append(0xC0 | scalar >> 6)
      append(0x80 | scalar & 0x3F)
    case ..<0x10000:
      append(0xE0 | scalar >> 12)
      append(0x80 | scalar >> 6 & 0x3F)
      append(0x80 | scalar & 0x3F)
    default:
      append(0xF0 | scalar >> 18)
      append(0x80 | scalar >> 12 & 0x3F)
      append(0x80 | scalar >> 6 & 0x3F)
      append(0x80 | scalar & 0x3F)
    }
  }

  /// Whether a scalar belongs to the one before it: a mark, or a Hangul vowel or trailing letter.
  static func extendsPrevious(_ scalar: UInt32) -> Bool {
    if scalar < 0x300 { return false }
    if (0x1160...0x11FF).contains(scalar) { return true }
    let record = FoldingTable.shared.record(scalar)
    return record.isMark || record.combiningClass != 0
  }
}
