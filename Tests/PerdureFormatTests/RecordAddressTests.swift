import PerdureFormat
import Testing

@Suite("Record address")
struct RecordAddressTests {
  @Test("Each part of an address has its own bits")
  func layout() {
    func word(_ segment: UInt64, _ offset: Int, _ length: Int, _ isBlob: Bool) -> UInt64 {
      RecordAddress(segment: segment, offset: offset, recordLength: length, isBlob: isBlob).rawValue
    }
    #expect(word(0, 8, 0, false) == 1)
    #expect(word(0, (1 << 28) - 8, 0, false) == 0x1FF_FFFF)
    #expect(word(1, 0, 0, false) == 1 << 25)
    #expect(word(FormatLimits.segmentNumberMax, 0, 0, false) == 0x3FF_FFFF << 25)
    #expect(word(0, 0, 33, false) == 1 << 51)
    #expect(word(0, 0, 0, true) == 1 << 57)
  }

  @Test(
    "Addresses are decoded as encoded",
    arguments: [(1, 192, 16, false), (FormatLimits.segmentNumberMax, (1 << 28) - 8, 1_114_128, true)])
  func roundTrip(_ segment: UInt64, _ offset: Int, _ length: Int, _ isBlob: Bool) {
    let address = RecordAddress(segment: segment, offset: offset, recordLength: length, isBlob: isBlob)
    #expect(address.segment == segment && address.offset == offset && address.isBlob == isBlob)
    #expect(address.sizeClass == RecordAddress.sizeClass(of: length))
    #expect(address.position == LogPosition(segment: segment, offset: UInt64(offset)))
    #expect(address.isLegal)
  }

  @Test("The size class of a record is the smallest class that the record fits into")
  func sizeClass() {
    func longest(_ sizeClass: Int) -> Int {
      RecordAddress(rawValue: UInt64(sizeClass) << 51).recordLengthMax
    }
    #expect((0...6).map(longest) == [32, 48, 64, 96, 128, 192, 256])
    for length in Array(0...5000) + [1 << 20, (1 << 20) + 1, FormatLimits.recordLengthMax, 1 << 28] {
      let sizeClass = RecordAddress.sizeClass(of: length)
      #expect(longest(sizeClass) >= length)
      #expect(sizeClass == 0 || longest(sizeClass - 1) < length)
      #expect(sizeClass < 64)
    }
  }

  @Test("An address that no record can have is illegal")
  func illegal() {
    #expect(!RecordAddress(rawValue: 0).isLegal)
    #expect(!RecordAddress(rawValue: .max).isLegal)
    #expect(!RecordAddress(segment: 1, offset: 184, recordLength: 16, isBlob: false).isLegal)
    #expect(RecordAddress(segment: 1, offset: 192, recordLength: 16, isBlob: false).isLegal)
  }

  @Test("Positions are ordered by segment, then by offset")
  func positions() {
    let ordered = [(0, 0), (1, 128), (1, 136), (2, 128)].map { LogPosition(segment: $0, offset: $1) }
    #expect(ordered.shuffled().sorted() == ordered)
    #expect(ordered[0] == .start)
    #expect(ordered.allSatisfy { $0.isLegal })
    let illegal = [(0, 128), (1, 0), (1, 132), (1, (1 << 28) + 8), (1 << 26, 128)] as [(UInt64, UInt64)]
    #expect(illegal.allSatisfy { !LogPosition(segment: $0, offset: $1).isLegal })
    #expect(ordered[1].description == "segment 1, byte 128")
  }
}
