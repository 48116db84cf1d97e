import PerdureCompression
import Testing

@Suite("xxHash32") struct XXHash32Tests {
  @Test(
    "gives the published values",
    arguments: [
      ("", 0x02CC_5D05), ("a", 0x550D_7456), ("abc", 0x32D1_53FF),
      ("Nobody inspects the spammish repetition", 0xE229_3B2F),
    ] as [(String, UInt32)])
  func publishedValues(text: String, expected: UInt32) {
    #expect(Array(text.utf8).withUnsafeBytes { bytes in XXHash32.hash(bytes) } == expected)
  }

  @Test("does not depend on how the input is cut", arguments: 0..<100)
  func anyCut(size: Int) {
    let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 73) }
    let whole = bytes.withUnsafeBytes { all in XXHash32.hash(all) }
    for cut in 0...size {
      var hash = XXHash32()
      bytes[..<cut].withUnsafeBytes { part in hash.update(part) }
      bytes[cut...].withUnsafeBytes { part in hash.update(part) }
      #expect(hash.value == whole, "cut at \(cut) of \(size)")
    }
  }

  @Test("tells apart inputs that differ in one bit")
  func oneBit() {
    var bytes = [UInt8](repeating: 0, count: 40)
    var seen: Set<UInt32> = [bytes.withUnsafeBytes { all in XXHash32.hash(all) }]
    for bit in 0..<(8 * bytes.count) {
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      seen.insert(bytes.withUnsafeBytes { all in XXHash32.hash(all) })
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
    }
    #expect(seen.count == 8 * bytes.count + 1)
  }
}
