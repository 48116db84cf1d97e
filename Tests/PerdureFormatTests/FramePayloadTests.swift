import PerdureFormat
import Testing

@Suite("Frame payload")
struct FramePayloadTests {
  private let records = [
    Sample.record(key: [1, 2, 3], value: []), Sample.record(key: [], value: [UInt8](repeating: 7, count: 40)),
    Sample.record(.tombstone, key: [9], value: [UInt8](repeating: 0, count: 8)),
  ]

  private func visit(_ header: FrameHeader, _ payload: [UInt8]) throws(FormatError) -> [(
    offset: Int, key: [UInt8]
  )] {
    var seen: [(Int, [UInt8])] = []
    try withBytes(payload) { bytes throws(FormatError) in
      try FramePayload.visitRecords(of: header, in: bytes, .unbound) { seen.append(($1, Array($0.key))) }
    }
    return seen
  }

  private func error(_ header: FrameHeader, _ payload: [UInt8]) -> FormatError? {
    do {
      let seen = try visit(header, payload)
      return seen.isEmpty && !payload.isEmpty ? FormatError(.incomplete, in: "nothing", at: 0) : nil
    } catch {
      return error
    }
  }

  @Test("Records are visited in order, with their offsets")
  func order() throws {
    let (header, payload) = Sample.frame(records)
    let seen = try visit(header, payload)
    #expect(seen.map { $0.key } == [[1, 2, 3], [], [9]])
    #expect(seen.map { $0.offset } == [0, 24, 80])
  }

  @Test("A frame may be empty")
  func empty() throws {
    let (header, payload) = Sample.frame([])
    #expect(try visit(header, payload).isEmpty)
  }

  @Test("Nonzero padding is reported with its offset")
  func padding() {
    var (header, payload) = Sample.frame(records)
    payload[22] = 1
    #expect(error(header, payload) == FormatError(.reservedNotZero, in: "record", at: 64 + 22))
    header.recordCount = 2
    #expect(error(header, payload) == FormatError(.reservedNotZero, in: "record", at: 64 + 22))
  }

  @Test("A damaged record is reported with its offset, and no record is visited")
  func damagedRecord() {
    let (header, original) = Sample.frame(records)
    var payload = original
    payload[24 + 20] ^= 1
    var visited = 0
    let error = #expect(throws: FormatError.self) {
      try payload.withUnsafeBytes {
        try FramePayload.visitRecords(of: header, in: $0, .unbound) { _, _ in visited += 1 }
      }
    }
    #expect(error == FormatError(.wrongChecksum, in: "record", at: 64 + 24))
    #expect(visited == 0)
  }

  @Test("A wrong record count is refused")
  func count() {
    var (header, payload) = Sample.frame(records)
    header.recordCount = 4
    #expect(error(header, payload) == FormatError(.illegalField, in: "frame", at: 28))
  }

  @Test("Valid records are refused if their digest differs from the header's")
  func otherRecords() {
    let (header, _) = Sample.frame(records)
    let (_, swapped) = Sample.frame([records[1], records[0], records[2]])
    #expect(error(header, swapped) == FormatError(.wrongChecksum, in: "frame", at: 32))
  }

  @Test("A payload is refused if its length differs from the length in the header")
  func length() {
    let (header, payload) = Sample.frame(records)
    #expect(error(header, payload + [0, 0, 0, 0, 0, 0, 0, 0])?.reason == .incomplete)
    var longer = header
    longer.payloadLength = .max
    #expect(error(longer, payload) == FormatError(.incomplete, in: "frame", at: 64 + payload.count))
  }

  @Test("A record that exceeds the payload is incomplete, and reported with its offset")
  func recordTooLong() {
    var (header, payload) = Sample.frame(records)
    header.payloadLength -= 8
    payload.removeLast(8)
    #expect(error(header, payload) == FormatError(.incomplete, in: "record", at: 64 + 80))
  }
}
