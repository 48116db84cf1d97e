import PerdureFormat

// The checksum of any stretch of some bytes, in about the same time however long it is.
//
// The idea: a CRC is a polynomial remainder over one bit, so the contribution of some bytes to the
// CRC of everything after them is a product: crc(a + b) = crc(a) * x^(8 * length of b) + crc(b).
// With the checksums of the bytes before each 64th byte, a stretch costs one product and less than
// 128 bytes, instead of all its bytes.

/// The checksums of all that is before each 64th of some bytes, which stay as they are.
struct StretchChecksums {
  private static let step = 64
  private let prefixes: [UInt32]
  /// x^(8 * n) for each n of one byte, then for each of the next byte alone, and so on. A length
  /// has three.
  private let powers: [UInt32]

  /// The longest stretch and one byte.
  static let lengthEnd = 1 << 24

  /// - Complexity: O(n) for n bytes; memory for a sixteenth of them.
  init(_ bytes: UnsafeRawBufferPointer) {
    var prefixes: [UInt32] = [0]
    prefixes.reserveCapacity(bytes.count / Self.step + 1)
    var checksum: UInt32 = 0
    for start in stride(from: 0, through: bytes.count - Self.step, by: Self.step) {
      checksum = Checksum.crc32c(bytes.part(start, Self.step), continuing: checksum)
      prefixes.append(checksum)
    }
    self.prefixes = prefixes
    var powers: [UInt32] = []
    powers.reserveCapacity(3 * 256)
    // x^8, in the bit order of a checksum.
    var power: UInt32 = 1 << (31 - 8)
    for _ in 0..<3 {
      var product: UInt32 = 1 << 31
      for _ in 0..<256 {
        powers.append(product)
        product = Self.product(product, power)
      }
      power = product
    }
    self.powers = powers
  }

  /// The checksum of a stretch of the bytes that it was made of.
  func checksum(of range: Range<Int>, in bytes: UnsafeRawBufferPointer) -> UInt32 {
    precondition(range.count < Self.lengthEnd, "A stretch is longer than \(Self.lengthEnd - 1) bytes.")
    let (before, all) = (prefix(range.lowerBound, bytes), prefix(range.upperBound, bytes))
    return all ^ carried(before, over: range.count)
  }

  private func prefix(_ end: Int, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
    let index = end / Self.step
    let start = index * Self.step
    return Checksum.crc32c(bytes.part(start, end - start), continuing: prefixes[index])
  }

  /// The contribution of a checksum to that of bytes after it.
  private func carried(_ checksum: UInt32, over length: Int) -> UInt32 {
    var carried = checksum
    for place in 0..<3 {
      let digit = length >> (8 * place) & 0xFF
      if digit > 0 { carried = Self.product(carried, powers[256 * place + digit]) }
    }
    return carried
  }

  /// The remainder of a product, the highest power in the lowest bit.
  private static func product(_ a: UInt32, _ b: UInt32) -> UInt32 {
    var (sum, power) = (0 as UInt32, b)
    var rest = a
    while rest != 0 {
      if rest & 1 << 31 != 0 { sum ^= power }
      rest <<= 1
      power = power & 1 != 0 ? power >> 1 ^ 0x82F6_3B78 : power >> 1
    }
    return sum
  }
}
