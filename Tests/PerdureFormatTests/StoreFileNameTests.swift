import PerdureFormat
import PerdureTestSupport
import Testing

@Suite("Names of a store's files")
struct StoreFileNameTests {
  @Test(
    "Each name decodes to its meaning, and the meaning encodes to the name",
    arguments: [
      ("LOCK", StoreFileName.lock), ("SUPERBLOCK", .superblock), ("READERS", .readers),
      ("0000000000000001.segment", .segment(1)),
      ("0000000003ffffff.segment", .segment(FormatLimits.segmentNumberMax)),
      ("00000000000000ab.blob", .blob(0xAB)), ("ffffffffffffffff.blob", .blob(.max)),
      ("0000000000000010.index", .index(16)), ("0000000000000002.reserve", .reserve(2)),
      ("SUPERBLOCK.tmp", .temporary("SUPERBLOCK")), (".tmp", .temporary("")), ("a.b.tmp", .temporary("a.b")),
      ("naïve.tmp", .temporary("naïve")),
    ])
  func bothWays(_ string: String, _ name: StoreFileName) {
    #expect(StoreFileName(string) == name)
    #expect(name.string == string)
  }

  @Test(
    "No other name belongs to the store",
    arguments: [
      "", ".", "..", "lock", "LOCK ", "LOC\u{212A}", "SUPERBLOC\u{212A}", "SUPERBLOCK2", "README", "tmp",
      "segment", ".segment", ".blob", "1.segment", "0000000000000000.segment", "0000000000000000.blob",
      "0000000000000000.index",
      "0000000004000000.segment", "00000000000000AB.blob", "+000000000000001.segment",
      "0000000000000001.segment2", "0000000000000001.Segment", "00000000000000001.segment",
      "0000000000000001segment", "0000000000000001.tmp.segment", "é000000000000001.segment", "a.tmp\u{301}",
    ])
  func strange(_ string: String) {
    #expect(StoreFileName(string) == nil)
  }

  @Test("Names with any number are decoded as encoded")
  func numbers() {
    var random = SeededGenerator.forTest("file names")
    for _ in 0..<1000 {
      let number = UInt64.random(in: 1 ... .max, using: &random) >> UInt64.random(in: 0..<63, using: &random)
      let blob = StoreFileName.blob(max(number, 1))
      #expect(StoreFileName(blob.string) == blob, "seed \(random.seed)")
    }
  }

  @Test("A store id prints as 32 hexadecimal digits, and random ids are never zero")
  func storeID() {
    #expect(StoreID(high: 0xA, low: 0xB).description == "000000000000000a000000000000000b")
    #expect((0..<100).allSatisfy { _ in StoreID.random().high != 0 })
  }
}
