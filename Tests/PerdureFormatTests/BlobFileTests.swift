import PerdureFormat
import Testing

@Suite("Blob file")
struct BlobFileTests {
  @Test("All fields are decoded as encoded")
  func roundTrip() throws {
    let header = Structure.blobHeader.sample
    #expect(try withBytes(header, BlobHeader.init(reading:)) == Sample.blobHeader)
    let reference = Structure.blobReference.sample
    #expect(try withBytes(reference, BlobReference.init(reading:)) == Sample.blobReference)
  }

  @Test(
    "The offsets in the file follow from the length of the value",
    arguments: [
      (0, 0, 64, 64), (1, 1, 72, 76), (8, 1, 72, 76), (65_536, 1, 65_600, 65_604),
      (65_537, 2, 65_608, 65_616), (1 << 32, 65_536, (1 << 32) + 64, (1 << 32) + 64 + 4 * 65_536),
    ] as [(UInt64, Int, UInt64, UInt64)])
  func parts(_ length: UInt64, _ chunks: Int, _ checksums: UInt64, _ end: UInt64) {
    let header = BlobHeader(store: Sample.store, number: 1, valueLength: length)
    #expect(header.chunkCount == chunks)
    #expect(header.checksumsOffset == checksums)
    #expect(header.fileLength == end)
  }

  @Test("A file of another store or number is misplaced")
  func misplaced() throws {
    let header = Sample.blobHeader
    try header.check(store: Sample.store, number: header.number)
    #expect(throws: FormatError(.misplaced, in: "blob header", at: 16)) {
      try header.check(store: StoreID(high: 1, low: 1), number: header.number)
    }
    #expect(throws: FormatError(.misplaced, in: "blob header", at: 32)) {
      try header.check(store: Sample.store, number: 1)
    }
  }
}
