import PerdureFormat
import Testing

@Suite("The worked example of FORMAT.md, encoded and decoded")
struct WorkedExampleTests {
  private let document: FormatDocument
  private let example = ExampleStore()

  init() throws {
    document = try FormatDocument()
  }

  @Test(
    "The codecs encode exactly the bytes in the document",
    arguments: [ExampleStore.superblockName, ExampleStore.segmentName, ExampleStore.blobName])
  func bytes(_ name: String) throws {
    let block = try document.hexBlock(name)
    let expected = try #require(example.files[name])
    guard block.bytes != expected else { return }
    let place = zip(block.bytes, expected).enumerated().first { $1.0 != $1.1 }?.offset ?? block.bytes.count
    Issue.record("\(name) differs from byte \(place) on; expected:\n\(Self.dump(expected))")
  }

  @Test("The newest superblock is the slot written at closing")
  func superblock() throws {
    let file = try document.hexBlock(ExampleStore.superblockName).bytes
    let superblock = try withBytes(file, Superblock.newest(in:))
    #expect(superblock == example.superblocks[2])
    let slots = [1, 2, 3].map { Array(file[($0 * 4096)..<(($0 + 1) * 4096)]) }
    #expect(try slots.map { try withBytes($0, Superblock.init(reading:)) } == example.superblocks)
  }

  @Test("A reader that follows the rules finds the documented keys and the end of the log")
  func reading() throws {
    let segment = try document.hexBlock(ExampleStore.segmentName).bytes
    let scan = try ExampleScan(segment, store: example.store)
    #expect(scan.kinds == [.commitEnd, .commitPart, .commitEnd, .commitEnd, .commitEnd, .mark])
    #expect(scan.sequences == [1, 2, 2, 3, 4, 4])
    #expect(scan.end == example.superblocks[2].durableEnd.offset)
    #expect(scan.catalog == [[1] + Array("notes".utf8): [1, 0, 0, 0, 0, 0, 0, 0]])
    let rows = scan.notes.sorted { $0.key < $1.key }.map { id, found in
      ["\(id)", "0x" + Self.hex(found.address.rawValue, digits: 16).uppercased()]
    }
    #expect(rows == document.exampleRows.map { Array($0.prefix(2)) })
    for row in document.exampleRows {
      let id = try #require(UInt64(row[0]))
      let text = row[2].split(separator: "`").first.map { Array($0.utf8) }
      let found = try #require(scan.notes[id])
      #expect(found.address == example.addresses[id])
      #expect(try found.address.isBlob ? blobValue(found.value) == text : found.value == text)
    }
  }

  @Test("A tombstone names the record that it shadows")
  func tombstone() throws {
    let segment = try document.hexBlock(ExampleStore.segmentName).bytes
    let scan = try ExampleScan(segment, store: example.store)
    let first = try #require(scan.shadowed[1])
    try segment.withUnsafeBytes { bytes in
      let record = try Record(reading: bytes.part(first.offset, first.recordLengthMax), .alone)
      #expect(Array(record.value) == Array("first".utf8))
    }
    #expect(scan.notes[1] == nil)
  }

  @Test("Reading detects every flipped bit of the segment")
  func flips() throws {
    var segment = try document.hexBlock(ExampleStore.segmentName).bytes
    for bit in 0..<(8 * segment.count) {
      segment[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: (any Error).self, "bit \(bit)") { _ = try ExampleScan(segment, store: example.store) }
      segment[bit / 8] ^= 1 << (bit % 8)
    }
  }

  @Test("The lines of the segment have unique offsets, and one line begins at the first frame")
  func lines() throws {
    let segment = try document.hexBlock(ExampleStore.segmentName)
    #expect(segment.lineOffsets.contains(128))
    #expect(Set(segment.lineOffsets).count == segment.lineOffsets.count)
  }

  private func blobValue(_ reference: [UInt8]) throws -> [UInt8] {
    let file = try document.hexBlock(ExampleStore.blobName).bytes
    let named = try withBytes(reference, BlobReference.init(reading:))
    let header = try withBytes(file, BlobHeader.init(reading:))
    try header.check(store: example.store, number: named.number)
    #expect(header.valueLength == named.valueLength)
    #expect(UInt64(file.count) == header.fileLength)
    let table = Int(header.checksumsOffset)..<file.count
    #expect(checksum(file, table) == named.digest)
    let value = BlobHeader.length..<(BlobHeader.length + Int(header.valueLength))
    #expect(checksum(file, value) == file.integer(at: table.lowerBound, as: UInt32.self))
    return Array(file[value])
  }

  /// Prints 16 bytes per line, as in the document. Omits lines that have only zeros.
  private static func dump(_ bytes: [UInt8]) -> String {
    stride(from: 0, to: bytes.count, by: 16).compactMap { start in
      let line = bytes[start..<min(start + 16, bytes.count)]
      guard line.contains(where: { $0 != 0 }) else { return nil }
      return hex(UInt64(start), digits: 4) + ": "
        + line.map { hex(UInt64($0), digits: 2) }.joined(separator: " ")
    }.joined(separator: "\n")
  }

  private static func hex(_ value: UInt64, digits: Int) -> String {
    let text = String(value, radix: 16)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
  }
}

/// Reads one segment by the rules of FORMAT.md, without the engine. Each violation is an error.
struct ExampleScan {
  enum Doubt: Error { case chain, sequence, tombstone, end }

  private(set) var kinds: [FrameHeader.Kind] = []
  private(set) var sequences: [UInt64] = []
  private(set) var end: UInt64 = 0
  private(set) var catalog: [[UInt8]: [UInt8]] = [:]
  private(set) var notes: [UInt64: (address: RecordAddress, value: [UInt8])] = [:]
  private(set) var shadowed: [UInt64: RecordAddress] = [:]

  init(_ segment: [UInt8], store: StoreID) throws {
    try segment.withUnsafeBytes { bytes in
      let header = try SegmentHeader(reading: bytes)
      try header.check(store: store, number: 1)
      var offset = SegmentHeader.length
      var nextPart: UInt32 = 0
      var sequence: UInt64 = 0
      var chain: UInt32 = 0
      while offset < bytes.count {
        let position = LogPosition(segment: 1, offset: UInt64(offset))
        let rest = bytes.part(offset, bytes.count - offset)
        let frame = try FrameHeader(reading: rest, store: store, position: position)
        offset += FrameHeader.length
        guard offset + Int(frame.payloadLength) <= bytes.count else { throw Doubt.end }
        if frame.kind == .mark {
          guard nextPart == 0, frame.sequence == sequence else { throw Doubt.sequence }
        } else {
          guard frame.part == nextPart, frame.sequence == sequence + 1 else { throw Doubt.sequence }
          chain = Checksum.crc32c(word: frame.recordDigest, continuing: chain)
          guard frame.chainDigest == chain else { throw Doubt.chain }
          nextPart = frame.kind == .commitPart ? nextPart + 1 : 0
          if frame.kind == .commitEnd { (sequence, chain) = (frame.sequence, 0) }
        }
        try apply(frame, bytes.part(offset, Int(frame.payloadLength)), at: offset)
        offset += Int(frame.payloadLength)
      }
      guard nextPart == 0 else { throw Doubt.end }
      end = UInt64(offset)
    }
  }

  private mutating func apply(_ frame: FrameHeader, _ payload: UnsafeRawBufferPointer, at start: Int) throws {
    kinds.append(frame.kind)
    sequences.append(frame.sequence)
    var records: [(Record, Int)] = []
    try FramePayload.visitRecords(of: frame, in: payload, .unbound) { records.append(($0, $1)) }
    for (record, offset) in records {
      guard record.header.keyspace != 0 else {
        catalog[Array(record.key)] = Array(record.value)
        continue
      }
      let id: UInt64 = record.key.integer(at: 0)
      if record.header.kind == .tombstone {
        shadowed[id] = try Tombstone(reading: record.value).shadowed
        guard shadowed[id] == notes[id]?.address else { throw Doubt.tombstone }
        notes[id] = nil
      } else {
        let address = RecordAddress(
          segment: 1, offset: start + offset, recordLength: record.header.paddedLength,
          isBlob: record.header.kind == .blob)
        notes[id] = (address, Array(record.value))
      }
    }
  }
}
