import PerdureFormat
import Testing

@Suite("Segment header")
struct SegmentHeaderTests {
  @Test("All fields are decoded as encoded")
  func roundTrip() throws {
    let bytes = Structure.segmentHeader.sample
    #expect(try withBytes(bytes, SegmentHeader.init(reading:)) == Sample.segmentHeader)
  }

  @Test("The first segment has no predecessor")
  func first() {
    let header = SegmentHeader(
      store: Sample.store, number: 1, capacity: 4096, firstSequence: 1, predecessorEnd: .start)
    let bytes = encoded(SegmentHeader.length) { header.write(to: $0) }
    #expect(Structure.segmentHeader.errorOfDecoding(bytes) == nil)
    #expect(header.generation == 0 && header.cleanedThrough == 0)
  }

  @Test("A header with another store id or segment number is reported as misplaced")
  func misplaced() throws {
    let header = Sample.segmentHeader
    try header.check(store: Sample.store, number: header.number)
    #expect(throws: FormatError(.misplaced, in: "segment header", at: 16)) {
      try header.check(store: StoreID(high: Sample.store.high, low: 0), number: header.number)
    }
    #expect(throws: FormatError(.misplaced, in: "segment header", at: 32)) {
      try header.check(store: Sample.store, number: header.number + 1)
    }
  }
}
