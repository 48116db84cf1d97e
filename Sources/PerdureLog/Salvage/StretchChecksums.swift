import PerdureFormat

// Computes the checksum of any stretch of given bytes, in about the same time for every length.
//
// The method: a CRC is the remainder of a division of polynomials whose coefficients are bits. So
// the contribution of some bytes to the CRC of everything after them is a product: crc(a + b) =
// crc(a) * x^(8 * length of b) + crc(b). The checksums of the bytes before each 64th byte are
// stored. With them, a stretch costs at most three products and the reading of less than 128 bytes,
// instead of all its bytes.

/// For each 64th byte of a buffer: the checksum of all bytes before it. The buffer must not change.
struct StretchChecksums {
  private static let step = 64
  private let prefixes: [UInt32]
  /// x^(8 * n), in three tables of 256 values: for the lowest byte n of a length, for its second
  /// byte, and for its third. A length has three bytes.
  private let powers: [UInt32]

  /// One more than the maximum length of a stretch.
  static let lengthEnd = 1 << 24

  /// - Complexity: O(n) for n bytes; needs memory for a sixteenth of them.
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
    // x^8 in the bit order of a checksum.
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

  /// The checksum of a stretch of the bytes with which this value was created.
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

  /// The contribution of a checksum to the checksum of `length` bytes after it.
  private func carried(_ checksum: UInt32, over length: Int) -> UInt32 {
    var carried = checksum
    for place in 0..<3 {
      let digit = length >> (8 * place) & 0xFF
      if digit > 0 { carried = Self.product(carried, powers[256 * place + digit]) }
    }
    return carried
  }

  /// The remainder of a product. The highest power is in the lowest bit.
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
