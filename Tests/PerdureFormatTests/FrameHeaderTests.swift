import PerdureFormat
import Testing

@Suite("Frame header")
struct FrameHeaderTests {
  private func decode(
    _ bytes: [UInt8], store: StoreID = Sample.store, at position: LogPosition = Sample.position
  ) throws(FormatError) -> FrameHeader {
    try withBytes(bytes) { bytes throws(FormatError) in
      try FrameHeader(reading: bytes, store: store, position: position)
    }
  }

  @Test(
    "Headers of each kind decode as encoded", arguments: [FrameHeader.Kind.commitPart, .commitEnd, .mark])
  func roundTrip(_ kind: FrameHeader.Kind) throws {
    var header = Sample.frameHeader
    header.kind = kind
    if kind == .mark {
      (header.part, header.payloadLength, header.recordCount) = (0, 0, 0)
      (header.recordDigest, header.chainDigest) = (0, 0)
    }
    #expect(try decode(Sample.bytes(of: header, at: Sample.position)) == header)
  }

  @Test("The same bytes are not a frame in another store, in another segment or at another offset")
  func boundToItsPlace() {
    let bytes = Structure.frameHeader.sample
    let strange = [
      (StoreID(high: Sample.store.high + 1, low: Sample.store.low), Sample.position),
      (StoreID(high: Sample.store.high, low: Sample.store.low + 1), Sample.position),
      (Sample.store, LogPosition(segment: 6, offset: 0x1240)),
      (Sample.store, LogPosition(segment: 5, offset: 0x1248)),
    ]
    for (store, position) in strange {
      #expect(throws: FormatError(.wrongChecksum, in: "frame header", at: 4)) {
        try decode(bytes, store: store, at: position)
      }
    }
  }

  @Test("The store id computed from a frame's checksum is the same at every position")
  func impliedStore() throws {
    var implied: Set<StoreID> = []
    for segment in [1, 5, 1 << 20] as [UInt64] {
      for offset in stride(from: 128, to: 4096, by: 320) as StrideTo<UInt64> {
        let position = LogPosition(segment: segment, offset: offset)
        var header = Sample.frameHeader
        (header.sequence, header.syncedOffset) = (offset, 128)
        let bytes = Sample.bytes(of: header, at: position)
        let store = bytes.withUnsafeBytes { FrameHeader.storeImplied(by: $0, at: position) }
        #expect(try decode(bytes, store: store, at: position) == header)
        #expect(throws: FormatError.self) {
          try decode(bytes, store: store, at: LogPosition(segment: segment, offset: offset + 8))
        }
        implied.insert(store)
      }
    }
    #expect(implied.count == 1)
  }

  @Test(
    "The synced offset may be at the end of the segment's header or at the frame", arguments: [128, 0x1240])
  func promise(_ offset: UInt64) throws {
    var header = Sample.frameHeader
    header.syncedOffset = offset
    #expect(try decode(Sample.bytes(of: header, at: Sample.position)).syncedOffset == offset)
  }

  @Test("A mark frame may be written before the first commit")
  func markBeforeAll() throws {
    let (header, _) = Sample.frame([], kind: .mark, sequence: 0)
    let start = LogPosition(segment: 1, offset: 128)
    #expect(try decode(Sample.bytes(of: header, at: start), at: start) == header)
  }
}
