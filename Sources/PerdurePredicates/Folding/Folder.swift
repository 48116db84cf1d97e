// The steps of folding, on an array of scalars. Only text with bytes beyond ASCII comes here.

struct Folder {
  private var scalars: [UInt32] = []
  private let table = FoldingTable.shared

  init(capacity: Int) {
    scalars.reserveCapacity(capacity)
  }

  /// Puts the canonical decomposition of UTF-8 bytes into the array, marks in order.
  mutating func decompose(_ bytes: UnsafeRawBufferPointer) {
    var index = 0
    while index < bytes.count {
      let (scalar, length) = UTF8Scalar.decode(bytes, at: index)
      index += length
      appendDecomposition(of: scalar)
    }
    order()
  }

  mutating func dropMarks() {
    scalars.removeAll { $0 >= 0x300 && table.record($0).isMark }
  }

  mutating func foldCase() {
    let source = scalars
    scalars.removeAll(keepingCapacity: true)
    for scalar in source {
      if scalar < 0x80 {
        scalars.append(UInt32(StringFolding.lowercased(UInt8(scalar))))
        continue
      }
      let folding = table.record(scalar).folding
      if folding.isEmpty {
        scalars.append(scalar)
      } else {
        scalars += table.scalars[Int(folding.lowerBound)..<Int(folding.upperBound)]
      }
    }
    order()
  }

  var utf8: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(scalars.count * 2)
    for scalar in scalars { UTF8Scalar.encode(scalar, into: &bytes) }
    return bytes
  }

  private mutating func appendDecomposition(of scalar: UInt32) {
    if scalar < 0xC0 {
      scalars.append(scalar)
    } else if (0xAC00...0xD7A3).contains(scalar) {
      appendHangul(scalar - 0xAC00)
    } else {
      let decomposition = table.record(scalar).decomposition
      if decomposition.isEmpty {
        scalars.append(scalar)
      } else {
        scalars += table.scalars[Int(decomposition.lowerBound)..<Int(decomposition.upperBound)]
      }
    }
  }

  /// A Hangul syllable is numbered by its letters: 19 leading, 21 vowels, 27 trailing or none.
  private mutating func appendHangul(_ number: UInt32) {
    scalars.append(0x1100 + number / 588)
    scalars.append(0x1161 + number % 588 / 28)
    if number % 28 != 0 { scalars.append(0x11A7 + number % 28) }
  }

  /// Canonical ordering: every run of scalars of class other than 0 in order of class, stable.
  private mutating func order() {
    var index = 0
    while index < scalars.count {
      guard scalars[index] >= 0x300, table.record(scalars[index]).combiningClass != 0 else {
        index += 1
        continue
      }
      let start = index
      while index < scalars.count, table.record(scalars[index]).combiningClass != 0 { index += 1 }
      if index - start > 1 { orderRun(start..<index) }
    }
  }

  /// By class and then by place, so that any sorting algorithm gives the stable order, in n log n.
  private mutating func orderRun(_ run: Range<Int>) {
    let keyed = run.map { (table.record(scalars[$0]).combiningClass, $0, scalars[$0]) }
    let sorted = keyed.sorted { ($0.0, $0.1) < ($1.0, $1.1) }
    for (place, entry) in zip(run, sorted) { scalars[place] = entry.2 }
  }
}

/// Scalars in and out of UTF-8.
enum UTF8Scalar {
  /// The scalar at an index and how many bytes it takes; U+FFFD and 1 for a byte that begins no scalar.
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
    switch scalar {
    case ..<0x80: bytes.append(UInt8(scalar))
    case ..<0x800: bytes += [UInt8(0xC0 | scalar >> 6), UInt8(0x80 | scalar & 0x3F)]
    case ..<0x10000:
      bytes += [UInt8(0xE0 | scalar >> 12), UInt8(0x80 | scalar >> 6 & 0x3F), UInt8(0x80 | scalar & 0x3F)]
    default:
      bytes += [
        UInt8(0xF0 | scalar >> 18), UInt8(0x80 | scalar >> 12 & 0x3F), UInt8(0x80 | scalar >> 6 & 0x3F),
        UInt8(0x80 | scalar & 0x3F),
      ]
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
