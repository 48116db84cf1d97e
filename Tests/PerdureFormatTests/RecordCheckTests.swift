import PerdureFormat
import PerdureTestSupport
import Testing

@Suite("Checksums bound to record addresses")
struct RecordCheckTests {
  /// A record with a key of three bytes. Its checksum is bound to `address`, if given.
  private func record(_ kind: RecordHeader.Kind = .put, at address: RecordAddress?) -> [UInt8] {
    let header = RecordHeader(kind: kind, keyspace: 7, keyLength: 3, valueLength: kind == .blob ? 24 : 40)
    var bytes = [UInt8](repeating: 9, count: header.paddedLength)
    bytes.withUnsafeMutableBytes { bytes in
      header.seal(bytes)
      guard let address else { return }
      let alone = UnsafeRawBufferPointer(bytes).integer(at: 0, as: UInt32.self)
      bytes.setInteger(Checksum.crc32c(word64: address.rawValue, continuing: alone), at: 0)
    }
    return bytes
  }

  private func isValid(_ bytes: [UInt8], _ check: RecordCheck) -> Bool {
    bytes.withUnsafeBytes { (try? Record(reading: $0, check)) != nil }
  }

  @Test("A checksum continued over a word equals that of the concatenated bytes")
  func joined() {
    var random = SeededGenerator.forTest("checksums with a word")
    for length in Array(0...70) + [1000, 4096] {
      let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
      let word = random.next()
      let joined = bytes + withUnsafeBytes(of: word.littleEndian) { Array($0) }
      let expected = joined.withUnsafeBytes { Checksum.crc32c($0) }
      #expect(bytes.withUnsafeBytes { Checksum.crc32c($0, thenWord: word) } == expected)
      let alone = bytes.withUnsafeBytes { Checksum.crc32c($0) }
      #expect(Checksum.crc32c(word64: word, continuing: alone) == expected)
    }
  }

  @Test(
    "A check of the address accepts a bound record only at its own address",
    arguments: [RecordHeader.Kind.put, .blob])
  func place(kind: RecordHeader.Kind) {
    let length = kind == .blob ? 48 : 64
    let address = RecordAddress(segment: 5, offset: 4096, recordLength: length, isBlob: kind == .blob)
    let bytes = record(kind, at: address)
    #expect(isValid(bytes, .word(address.rawValue)))
    #expect(isValid(bytes, .place(segment: 5, offset: 4096)))
    #expect(isValid(bytes, .none))
    #expect(!isValid(bytes, .alone))
    #expect(!isValid(bytes, .place(segment: 5, offset: 4104)))
    #expect(!isValid(bytes, .place(segment: 6, offset: 4096)))
    #expect(!isValid(record(kind, at: nil), .word(address.rawValue)))
    #expect(isValid(record(kind, at: nil), .alone))
  }
}
