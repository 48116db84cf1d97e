// Sums and their terms as bytes: FORMAT.md, "Sums of groups".

package import PerdureNumbers

extension ExactSum.Term {
  private static let doubleTag: UInt8 = 1
  private static let decimalTag: UInt8 = 2

  /// Appends the bytes of the term. They follow the group's key.
  package func append(to bytes: inout [UInt8]) {
    switch self {
    case .integer(let value): withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    case .double(let value):
      bytes.append(Self.doubleTag)
      withUnsafeBytes(of: value.bitPattern.bigEndian) { bytes.append(contentsOf: $0) }
    case .decimal(let isNegative, let coefficient, let exponent):
      bytes.append(Self.decimalTag)
      bytes.append(isNegative ? 1 : 0)
      let exponent = Int16(clamping: exponent)
      withUnsafeBytes(of: exponent.bigEndian) { bytes.append(contentsOf: $0) }
      withUnsafeBytes(of: coefficient.bigEndian) { bytes.append(contentsOf: $0) }
    }
  }

  /// Decodes the bytes of a term. Bytes that do not encode a term give the term "not a number".
  package init(decoding bytes: UnsafeRawBufferPointer) {
    switch (bytes.count, bytes.first) {
    case (8, _): self = .integer(Int64(bigEndian: bytes.loadUnaligned(as: Int64.self)))
    case (9, Self.doubleTag):
      let bits = bytes.loadUnaligned(fromByteOffset: 1, as: UInt64.self)
      self = .double(Double(bitPattern: UInt64(bigEndian: bits)))
    case (20, Self.decimalTag) where bytes[1] <= 1:
      self = .decimal(
        isNegative: bytes[1] == 1,
        coefficient: UInt128(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt128.self)),
        exponent: Int(Int16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: Int16.self))))
    default: self = .double(.nan)
    }
  }
}

extension ExactSum {
  /// The class of a sum, in the order of sums: FORMAT.md.
  private enum Class: UInt8 {
    case notNumber = 0
    case negativeInfinity = 1
    case negative = 2
    case zero = 3
    case positive = 4
    case positiveInfinity = 5
  }

  private static let placeBias = 0x8000

  private var digitBase: Int64 { radix == .binary ? 128 : 100 }

  /// The possible positions of digits: from the least positive double or decimal to the greatest
  /// one times 2^63. FORMAT.md.
  private var digitPlaces: ClosedRange<Int> { radix == .binary ? -154...155 : -1024...1052 }

  /// Bytes whose order is the order of the sums' values. No key is a prefix of another key.
  package var orderKey: [UInt8] {
    let special: Class? =
      if notNumberCount > 0 || positiveInfinityCount > 0 && negativeInfinityCount > 0 {
        .notNumber
      } else if positiveInfinityCount > 0 {
        .positiveInfinity
      } else if negativeInfinityCount > 0 { .negativeInfinity } else { nil }
    if let special { return [classByte(special)] }
    var bytes: [UInt8] = []
    inOrder.appendNumber(to: &bytes)
    return bytes
  }

  /// The complete state of the sum. Equal sums have equal bytes.
  package var encoded: [UInt8] {
    var bytes: [UInt8] = []
    inOrder.appendNumber(to: &bytes)
    Self.append(count: termCount, to: &bytes)
    let specials = [notNumberCount, positiveInfinityCount, negativeInfinityCount]
    if specials.contains(where: { $0 > 0 }) {
      for count in specials { Self.append(count: count, to: &bytes) }
    }
    return bytes
  }

  private func classByte(_ value: Class) -> UInt8 { radix.rawValue << 4 | value.rawValue }

  /// Appends the sum of the finite terms: its class, the position of the first digit, and the
  /// digits.
  private func appendNumber(to bytes: inout [UInt8]) {
    guard let top = limbs.last, let bottom = limbs.first else { return bytes.append(classByte(.zero)) }
    let isNegative = top < 0
    bytes.append(classByte(isNegative ? .negative : .positive))
    let mask: UInt8 = isNegative ? 0xFF : 0
    let base = digitBase
    let topDigits = Self.digitCount(top.magnitude, UInt64(base))
    let topPlace = (low + limbs.count - 1) * Self.digitsPerLimb + topDigits - 1
    let biased = UInt16(truncatingIfNeeded: topPlace + Self.placeBias)
    bytes.append(UInt8(biased >> 8) ^ mask)
    bytes.append(UInt8(biased & 0xFF) ^ mask)
    var trailing = 0
    var rest = bottom.magnitude
    while rest % UInt64(base) == 0 {
      rest /= UInt64(base)
      trailing += 1
    }
    let lastPlace = low * Self.digitsPerLimb + trailing
    for place in stride(from: topPlace, through: lastPlace, by: -1) {
      let limb = limbs[Self.floor(place, Self.digitsPerLimb) - low].magnitude
      let within = place - Self.floor(place, Self.digitsPerLimb) * Self.digitsPerLimb
      let digit = limb / UInt64(Self.power(of: base, within)) % UInt64(base)
      bytes.append(UInt8(digit << 1 | (place > lastPlace ? 1 : 0)) ^ mask)
    }
  }

  private static func digitCount(_ limb: UInt64, _ base: UInt64) -> Int {
    var (count, rest) = (0, limb)
    while rest > 0 {
      rest /= base
      count += 1
    }
    return count
  }

  /// Appends a count with seven bits in each byte, the highest bits first. The lowest bit of each
  /// byte is set if another byte follows.
  private static func append(count: Int, to bytes: inout [UInt8]) {
    let value = UInt64(max(0, count))
    var shift = 0
    while value >> UInt64(shift + 7) != 0 { shift += 7 }
    while shift >= 0 {
      bytes.append(UInt8(value >> UInt64(shift) & 0x7F) << 1 | (shift > 0 ? 1 : 0))
      shift -= 7
    }
  }

  /// Decodes the bytes of `encoded`.
  ///
  /// - Throws: `FormatError` for bytes that are not the encoding of any sum.
  package init(decoding bytes: UnsafeRawBufferPointer) throws(FormatError) {
    var place = 0
    try self.init(number: bytes, &place)
    termCount = try Self.count(in: bytes, &place)
    guard termCount > 0 else { throw Self.wrong(place) }
    if place == bytes.count { return }
    notNumberCount = try Self.count(in: bytes, &place)
    positiveInfinityCount = try Self.count(in: bytes, &place)
    negativeInfinityCount = try Self.count(in: bytes, &place)
    let hasSpecials = notNumberCount > 0 || positiveInfinityCount > 0 || negativeInfinityCount > 0
    let (some, overflows) = notNumberCount.addingReportingOverflow(positiveInfinityCount)
    let (all, overflowsToo) = some.addingReportingOverflow(negativeInfinityCount)
    guard hasSpecials, !overflows, !overflowsToo, place == bytes.count,
      all < termCount || all == termCount && limbs.isEmpty
    else {
      throw Self.wrong(place)
    }
  }

  private static func wrong(_ place: Int) -> FormatError {
    FormatError(.illegalField, in: "sum of a group", at: place)
  }

  private static func byte(
    _ bytes: UnsafeRawBufferPointer, _ place: inout Int
  ) throws(FormatError) -> UInt8 {
    guard place < bytes.count else { throw FormatError(.incomplete, in: "sum of a group", at: bytes.count) }
    defer { place += 1 }
    return bytes[place]
  }

  private static func count(
    in bytes: UnsafeRawBufferPointer, _ place: inout Int
  ) throws(FormatError) -> Int {
    var value: UInt64 = 0
    let start = place
    while true {
      let byte = try byte(bytes, &place)
      guard value < 1 << 56, byte != 1 || place > start + 1 else { throw wrong(place - 1) }
      value = value << 7 | UInt64(byte >> 1)
      if byte & 1 == 0 { break }
    }
    guard value <= Int64.max else { throw wrong(start) }
    return Int(value)
  }

  private init(number bytes: UnsafeRawBufferPointer, _ place: inout Int) throws(FormatError) {
    let first = try Self.byte(bytes, &place)
    guard let radix = Radix(rawValue: first >> 4), let kind = Class(rawValue: first & 0xF),
      kind == .negative || kind == .zero || kind == .positive
    else { throw Self.wrong(0) }
    self.init(radix)
    if kind == .zero { return }
    let mask: UInt8 = kind == .negative ? 0xFF : 0
    let high = try Self.byte(bytes, &place) ^ mask
    let biased = Int(high) << 8 | Int(try Self.byte(bytes, &place) ^ mask)
    let topPlace = biased - Self.placeBias
    // Check the range. Otherwise two bytes could request a number of half a million bits.
    guard digitPlaces.contains(topPlace) else { throw Self.wrong(1) }
    var digits: [Int64] = []
    while true {
      guard digitPlaces.contains(topPlace - digits.count) else { throw Self.wrong(place) }
      let byte = try Self.byte(bytes, &place) ^ mask
      let digit = Int64(byte >> 1)
      let isFirstOrLast = digits.isEmpty || byte & 1 == 0
      guard digit < digitBase, digit > 0 || !isFirstOrLast else { throw Self.wrong(place - 1) }
      digits.append(digit)
      if byte & 1 == 0 { break }
    }
    low = Self.floor(topPlace - digits.count + 1, Self.digitsPerLimb)
    let high2 = Self.floor(topPlace, Self.digitsPerLimb)
    limbs = [Int64](repeating: 0, count: high2 - low + 1)
    for (index, digit) in digits.enumerated() {
      let at = topPlace - index
      let limb = Self.floor(at, Self.digitsPerLimb)
      let weighted = digit * Self.power(of: digitBase, at - limb * Self.digitsPerLimb)
      limbs[limb - low] += kind == .negative ? -weighted : weighted
    }
  }
}
