import PerdureFormat
import Testing

@Suite("Records")
struct RecordTests {
  @Test("Key, value and header are decoded as encoded", arguments: [0, 1, 7, 8, 9, 300])
  func roundTrip(_ length: Int) throws {
    let key = [UInt8](repeating: 0x4B, count: length)
    let value = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
    let bytes = Sample.record(keyspace: .max, key: key, value: value)
    try bytes.withUnsafeBytes { buffer in
      let record = try Record(reading: buffer, .alone)
      #expect(record.header.kind == .put && record.header.keyspace == .max)
      #expect(Array(record.key) == key)
      #expect(Array(record.value) == value)
      #expect(record.header.paddedLength == bytes.count)
      #expect(record.checksum == bytes.integer(at: 0, as: UInt32.self))
    }
  }

  @Test("A record with the longest key and value has the maximum length")
  func longest() throws {
    let bytes = Sample.record(
      key: [UInt8](repeating: 1, count: FormatLimits.keyLengthMax),
      value: [UInt8](repeating: 2, count: FormatLimits.inlineValueLengthMax))
    #expect(bytes.count == FormatLimits.recordLengthMax)
    _ = try withBytes(bytes) { bytes throws(FormatError) in try Record(reading: bytes, .alone).header.kind }
  }

  @Test("Sealing zeroes the padding")
  func padding() {
    let bytes = Sample.record(key: [1], value: [])
    #expect(Array(bytes[17...]) == [UInt8](repeating: 0, count: 7))
  }

  @Test("The bytes after a record do not affect it")
  func followed() throws {
    let bytes = Sample.record() + [UInt8](repeating: 0xFF, count: 100)
    _ = try withBytes(bytes) { bytes throws(FormatError) in try Record(reading: bytes, .alone).header.kind }
  }

  @Test("A tombstone names the record that it shadows, or no record")
  func tombstone() throws {
    let address = RecordAddress(segment: 3, offset: 0x1000, recordLength: 64, isBlob: false)
    for shadowed in [address, nil] {
      let bytes = encoded(Tombstone.valueLength) { Tombstone(shadowing: shadowed).write(to: $0) }
      #expect(bytes.integer(at: 0) == shadowed?.rawValue ?? 0)
      #expect(try withBytes(bytes, Tombstone.init(reading:)).shadowed == shadowed)
    }
  }

  @Test("Each kind of record has its own range of value lengths")
  func fixedLengths() {
    #expect(RecordHeader.Kind.put.valueLengths == 0...1_048_576)
    #expect(RecordHeader.Kind.tombstone.valueLengths == 8...8)
    #expect(RecordHeader.Kind.blob.valueLengths == 24...24)
    #expect(RecordHeader.Kind.packed.valueLengths == 5...1_048_576)
  }

  #if os(Linux) || os(macOS) || os(Windows)
    @Test("Sealing a record with a too long key stops the process")
    func tooLong() async {
      await #expect(processExitsWith: .failure) {
        var bytes = [UInt8](repeating: 0, count: 70_000)
        let header = RecordHeader(kind: .put, keyspace: 1, keyLength: 65_536, valueLength: 0)
        bytes.withUnsafeMutableBytes { header.seal($0) }
      }
    }
  #endif
}
