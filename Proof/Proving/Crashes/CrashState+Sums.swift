// Sums of groups as FORMAT.md describes them, calculated with 128 bits. That is enough, because
// values contain integers of 64 bits, and the tested stores have few values.

extension CrashState {
  /// The sums of the entries of slices. Each entry has a group and a whole number.
  func sums(of entries: [[UInt8]]) throws -> [[UInt8]: (sum: Int128, count: Int)] {
    try entries.reduce(into: [:]) { sums, entry in
      guard entry.count == 24 else { throw Violation("\(entry) is not a group with a number") }
      let number = entry[8..<16].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      let (sum, count) = sums[Array(entry.prefix(8)), default: (0, 0)]
      sums[Array(entry.prefix(8))] = (sum + Int128(Int64(bitPattern: number)), count + 1)
    }
  }

  package static func number(_ sum: Int128) -> [UInt8] {
    if sum == 0 { return [3] }
    var (digits, place) = (digits(of: sum.magnitude), 0x7FFF)
    place += digits.count
    while digits.last == 0 { digits.removeLast() }
    let bytes = [UInt8(place >> 8), UInt8(place & 0xFF)] + marked(digits)
    return sum < 0 ? [2] + bytes.map { ~$0 } : [4] + bytes
  }

  package static func number(of count: Int) -> [UInt8] { marked(digits(of: UInt128(count))) }

  /// The digits of a number in base 128, the most significant one first.
  private static func digits(of number: UInt128) -> [UInt8] {
    number < 128 ? [UInt8(number)] : digits(of: number / 128) + [UInt8(number % 128)]
  }

  /// Marks all digits except the last. The mark means that another digit follows.
  private static func marked(_ digits: [UInt8]) -> [UInt8] {
    digits.enumerated().map { $1 * 2 + ($0 < digits.count - 1 ? 1 : 0) }
  }
}
