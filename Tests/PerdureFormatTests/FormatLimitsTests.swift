import PerdureFormat
import Testing

@Suite("Limits of the format")
struct FormatLimitsTests {
  @Test("The longest record fits into one frame, and the longest frame into the largest segment")
  func records() {
    #expect(FormatLimits.recordLengthMax <= FormatLimits.framePayloadMax)
    #expect(FormatLimits.framePayloadTarget <= FormatLimits.framePayloadMax)
    #expect(
      SegmentHeader.length + FrameHeader.length + FormatLimits.framePayloadMax
        <= FormatLimits.segmentCapacityMax)
  }

  @Test("The maximum of every length fits into its field")
  func fields() {
    #expect(FormatLimits.keyLengthMax <= Int(UInt16.max))
    #expect(UInt64(FormatLimits.inlineValueLengthMax) <= UInt64(UInt32.max))
    #expect(UInt64(FormatLimits.segmentCapacityMax) <= UInt64(UInt32.max))
    #expect(FormatLimits.segmentCapacityMax - FormatLimits.alignment <= 0x1FF_FFFF * 8)
    #expect(FormatLimits.segmentNumberMax <= 0x3FF_FFFF)
    #expect(FormatLimits.commitPartsMax <= Int(UInt32.max))
  }

  @Test("The lengths of all parts of the log are multiples of the alignment")
  func alignment() {
    for length in [
      SegmentHeader.length, FrameHeader.length, RecordHeader.length, FormatLimits.framePayloadMax,
      FormatLimits.segmentCapacityMin, FormatLimits.segmentCapacityMax, FormatLimits.recordLengthMax,
    ] {
      #expect(length % FormatLimits.alignment == 0)
    }
    #expect([0, 1, 7, 8, 9].map { $0.roundedUpToAlignment } == [0, 8, 8, 8, 16])
  }

  @Test("Legal capacities are the multiples of 8 from the minimum to the maximum")
  func capacities() {
    let legal = [4096, 4104, 1 << 28] as [UInt64]
    let illegal = [0, 4088, 4100, (1 << 28) + 8, .max] as [UInt64]
    #expect(legal.allSatisfy { FormatLimits.isLegal(segmentCapacity: $0) })
    #expect(illegal.allSatisfy { !FormatLimits.isLegal(segmentCapacity: $0) })
  }
}
