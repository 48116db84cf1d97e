import PerdureFormat

/// The store of FORMAT.md's worked example, encoded with the codecs.
struct ExampleStore {
  let store = StoreID(high: 0x5065_7264_7572_6521, low: 0x0123_4567_89AB_CDEF)
  let notes: UInt32 = 1
  private(set) var segment: [UInt8] = []
  private(set) var addresses: [UInt64: RecordAddress] = [:]

  static let superblockName = "SUPERBLOCK"
  static let segmentName = "0000000000000001.segment"
  static let blobName = "0000000000000001.blob"
  static let blobValue = Array("a long value".utf8)

  init() {
    let header = SegmentHeader(
      store: store, number: 1, capacity: 4096, firstSequence: 1, predecessorEnd: .start)
    segment = encoded(SegmentHeader.length) { header.write(to: $0) }
    appendCommits()
  }

  private mutating func appendCommits() {
    let keyspace = Sample.record(
      keyspace: 0, key: [1] + Array("notes".utf8), value: [1, 0, 0, 0, 0, 0, 0, 0])
    append([keyspace, put(1, Array("first".utf8))], sequence: 1, syncedOffset: 128)
    let chain = append(
      [put(2, Array("second".utf8))], .commitPart, sequence: 2, syncedOffset: 256)
    append([put(3, Array("third".utf8))], part: 1, sequence: 2, chain: chain, syncedOffset: 256)
    append([removal(of: 1)], sequence: 3, syncedOffset: 448)
    append([blob(4)], sequence: 4, syncedOffset: 544)
    append([], .mark, sequence: 4, syncedOffset: 656)
  }

  @discardableResult
  private mutating func append(
    _ records: [[UInt8]], _ kind: FrameHeader.Kind = .commitEnd, part: UInt32 = 0, sequence: UInt64,
    chain: UInt32 = 0, syncedOffset: UInt64
  ) -> UInt32 {
    let position = LogPosition(segment: 1, offset: UInt64(segment.count))
    let (header, payload) = Sample.frame(
      records, kind: kind, part: part, sequence: sequence, chain: chain, syncedOffset: syncedOffset)
    segment += Sample.bytes(of: header, at: position, store: store)
    for record in records {
      note(record)
      segment += record
    }
    precondition(payload.count == Int(header.payloadLength))
    return header.chainDigest
  }

  /// Stores the address of a record in keyspace `notes`.
  private mutating func note(_ record: [UInt8]) {
    guard record.integer(at: 8, as: UInt32.self) == notes else { return }
    addresses[record.integer(at: 16)] = RecordAddress(
      segment: 1, offset: segment.count, recordLength: record.count, isBlob: record[4] == 3)
  }

  private func key(_ id: UInt64) -> [UInt8] { encoded(8) { $0.setInteger(id, at: 0) } }

  private func put(_ id: UInt64, _ value: [UInt8]) -> [UInt8] {
    Sample.record(keyspace: notes, key: key(id), value: value)
  }

  private func removal(of id: UInt64) -> [UInt8] {
    let value = encoded(8) { Tombstone(shadowing: addresses[id]).write(to: $0) }
    return Sample.record(.tombstone, keyspace: notes, key: key(id), value: value)
  }

  private func blob(_ id: UInt64) -> [UInt8] {
    let value = encoded(BlobReference.length) { blobReference.write(to: $0) }
    return Sample.record(.blob, keyspace: notes, key: key(id), value: value)
  }

  private var blobChecksums: [UInt8] {
    encoded(4) { $0.setInteger(checksum(Self.blobValue, 0..<Self.blobValue.count), at: 0) }
  }

  private var blobReference: BlobReference {
    BlobReference(
      number: 1, valueLength: UInt64(Self.blobValue.count), digest: checksum(blobChecksums, 0..<4))
  }

  var blob: [UInt8] {
    let header = BlobHeader(store: store, number: 1, valueLength: UInt64(Self.blobValue.count))
    return encoded(BlobHeader.length) { header.write(to: $0) } + Self.blobValue + [0, 0, 0, 0] + blobChecksums
  }

  /// The superblocks written at creation, at opening and at closing.
  var superblocks: [Superblock] {
    let created = Superblock(store: store, segmentCapacity: 4096)
    var opened = created
    opened.generation = 2
    opened.isClosed = false
    var closed = created
    closed.generation = 3
    closed.durableEnd = LogPosition(segment: 1, offset: UInt64(segment.count))
    closed.durableSequence = 4
    closed.nextBlob = 2
    return [created, opened, closed]
  }

  var superblockFile: [UInt8] {
    superblocks.reduce(into: [UInt8](repeating: 0, count: Superblock.fileLength)) { file, superblock in
      let start = superblock.slot * Superblock.slotLength
      let slot = encoded(Superblock.slotLength) { superblock.write(to: $0) }
      file.replaceSubrange(start..<(start + Superblock.slotLength), with: slot)
    }
  }

  var files: [String: [UInt8]] {
    [Self.superblockName: superblockFile, Self.segmentName: segment, Self.blobName: blob]
  }
}
