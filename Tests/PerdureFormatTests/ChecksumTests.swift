import PerdureFormat
import Testing

@Suite("Checksum")
struct ChecksumTests {
  private func crc(_ bytes: [UInt8], continuing previous: UInt32 = 0) -> UInt32 {
    bytes.withUnsafeBytes { Checksum.crc32c($0, continuing: previous) }
  }

  /// The checksum, computed bit by bit from its definition.
  private func slowly(_ bytes: [UInt8]) -> UInt32 {
    var state: UInt32 = .max
    for byte in bytes {
      state ^= UInt32(byte)
      for _ in 0..<8 { state = state & 1 == 0 ? state >> 1 : state >> 1 ^ 0x82F6_3B78 }
    }
    return ~state
  }

  @Test("The checksums equal published test vectors, such as those of RFC 3720")
  func vectors() {
    #expect(crc(Array("123456789".utf8)) == 0xE306_9283)
    #expect(crc([UInt8](repeating: 0, count: 32)) == 0x8A91_36AA)
    #expect(crc([UInt8](repeating: 0xFF, count: 32)) == 0x62A8_AB43)
    #expect(crc(Array(0..<32)) == 0x46DD_794E)
    #expect(crc([]) == 0)
  }

  @Test("From a checksum and the last bytes, the checksum before these bytes can be computed")
  func rewound() {
    let bytes = (0..<97).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ 7) }
    for length in 0...bytes.count {
      for previous in [0, 1, 0x8000_0000, 0x1234_5678, .max] as [UInt32] {
        let part = Array(bytes.prefix(length))
        let checksum = crc(part, continuing: previous)
        #expect(part.withUnsafeBytes { Checksum.rewound(checksum, over: $0) } == previous)
      }
    }
  }

  @Test("For all lengths, alignments and divisions into parts, the checksum matches its definition")
  func cuts() {
    let bytes = (0..<200).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ 7) }
    for length in 0..<bytes.count {
      let part = Array(bytes.suffix(length))
      let expected = slowly(part)
      #expect(crc(part) == expected)
      let cut = length / 3
      #expect(crc(Array(part[cut...]), continuing: crc(Array(part[..<cut]))) == expected)
      bytes.withUnsafeBytes { whole in
        #expect(Checksum.crc32c(whole.part(200 - length, length)) == expected)
      }
    }
  }

  @Test("The checksum of a word is that of its four little-endian bytes")
  func word() {
    #expect(Checksum.crc32c(word: 0x0403_0201, continuing: 5) == crc([1, 2, 3, 4], continuing: 5))
  }

  @Test("An empty buffer leaves the checksum unchanged")
  func nothing() {
    #expect(Checksum.crc32c(UnsafeRawBufferPointer(start: nil, count: 0), continuing: 42) == 42)
  }
}
