import PerdureFormat

/// One value of every structure. The fields of a sample have different values.
enum Sample {
  static let store = StoreID(high: 0x1122_3344_5566_7788, low: 0x99AA_BBCC_DDEE_FF01)
  static let position = LogPosition(segment: 5, offset: 0x1240)

  static var superblock: Superblock {
    var value = Superblock(store: store, segmentCapacity: 65_536)
    value.generation = 0x0102_0304_0506_0708
    value.compatibleFeatures = 0xF0E0
    value.readOnlyCompatibleFeatures = 0xD0C0
    value.branch = StoreBranch(
      high: 0x3333_0000_0000_0011, low: 0x4444_0000_0000_0022, isUnopenedCopy: true)
    value.durableEnd = LogPosition(segment: 7, offset: 0x0123_4560)
    value.durableSequence = 0x1_0000_0009
    value.nextBlob = 0x2_0000_000B
    value.isClosed = true
    value.checkpoint = CheckpointReference(
      indexFile: 0xA_0000_0077, rootSlot: 0xB0B0, rootLength: 0xC0C0, rootChecksum: 0xABCD_0003)
    return value
  }

  static var indexFileHeader: IndexFileHeader { IndexFileHeader(store: store, number: 0xB_0000_0088) }

  static var readerSlot: ReaderSlot {
    ReaderSlot(
      processID: 0x1_2345, since: 0x6_7777_0001,
      hold: .init(
        sequence: 0x8_0000_0021, indexFile: 0x9_0000_0031, checkpoint: 0xA_0000_0041,
        lastSequence: 0xB_0000_0051))
  }

  static let backupChunk = BackupChunk(
    kind: .blob, isLast: true, payloadLength: 5, number: 0x9_0000_0077, offset: 0x1_2345_6780)

  static var checkpointRoot: CheckpointRoot {
    let (first, second) = (
      CheckpointRoot.Tree(slot: 0x1001, height: 2, count: 0x3_0000_1003, tag: 0xAB_CDEF),
      CheckpointRoot.Tree(slot: 0x2001, height: 4, count: 0x4_0000_2003)
    )
    return CheckpointRoot(
      number: 0xC_0000_0099, end: LogPosition(segment: 6, offset: 0x3330), sequence: 0x2_0000_0010,
      nextBlob: 0x3_0000_000C, unitsInUse: 0x7777_0000_8888_0001,
      keyspaces: [.init(dense: .init(), ordered: first), .init(dense: second, ordered: .init())],
      indexes: [.init(tree: second, isComplete: true, hasDuplicates: true)],
      blobs: [0x5_0000_0001, 0x5_0000_0007, 0x6_0000_0002], segmentUsage: [9, 8, 7, 6, 5])
  }

  static var segmentHeader: SegmentHeader {
    var value = SegmentHeader(
      store: store, number: 0x3AB_CDEF, capacity: 1 << 24, firstSequence: 0x4_0000_0123,
      predecessorEnd: LogPosition(segment: 0x2AB_CDE0, offset: 0x8888))
    value.generation = 0x5_0000_0003
    value.cleanedThrough = 0x6_0000_0077
    value.incompatibleFeatures = 1
    return value
  }

  static var frameHeader: FrameHeader {
    FrameHeader(
      kind: .commitPart, part: 0x0A0B0, sequence: 0x7_0000_0042, payloadLength: 0x0003_1230,
      recordCount: 0x0000_1234, recordDigest: 0xCAFE_0001, chainDigest: 0xBEEF_0002, syncedOffset: 0x1100)
  }

  static var blobHeader: BlobHeader { BlobHeader(store: store, number: 0x8_0000_0055, valueLength: 200_001) }

  static let rewrittenNumber: UInt64 = 9

  static var rewrittenFooter: RewrittenFooter {
    RewrittenFooter(
      generation: 0x7_0000_0044, originalEnd: 0x123_4560, dataEnd: 0x98_7650, recordBytes: 0x55_4400,
      tombstoneBytes: 0x33_2200, lineCount: 0x1357, mapDigest: 0x2468_ACE1,
      groups: (0x0ACE, 0x55_4440))
  }

  static var groupEntry: GroupEntry {
    GroupEntry(
      offset: 0x98_7650, unpackedLength: 0x1_2340, fileOffset: 0x12_3458, storedLength: 0x4321,
      checksum: 0xABCD_0005)
  }

  static var packedValueHeader: PackedValueHeader {
    PackedValueHeader(valueLength: 0x1234, dictionary: 0x5A5)
  }

  static var blobReference: BlobReference {
    BlobReference(number: 0x9_0000_0066, valueLength: 0x8000_1234, digest: 0x1357_9BDF)
  }

  static let recordKey: [UInt8] = Array("a key".utf8)
  static let recordValue: [UInt8] = Array("and its value".utf8)

  /// A sealed record with its padding.
  static func record(
    _ kind: RecordHeader.Kind = .put, keyspace: UInt32 = 0x0102_0304, key: [UInt8] = recordKey,
    value: [UInt8] = recordValue
  ) -> [UInt8] {
    let header = RecordHeader(
      kind: kind, keyspace: keyspace, keyLength: key.count, valueLength: value.count)
    return encoded(header.paddedLength) { bytes in
      UnsafeMutableRawBufferPointer(rebasing: bytes[16...]).copyBytes(from: key)
      UnsafeMutableRawBufferPointer(rebasing: bytes[(16 + key.count)...]).copyBytes(from: value)
      header.seal(bytes)
    }
  }

  /// A frame header for the records, and the bytes of the records.
  static func frame(
    _ records: [[UInt8]], kind: FrameHeader.Kind = .commitEnd, part: UInt32 = 0, sequence: UInt64 = 1,
    chain: UInt32 = 0, syncedOffset: UInt64 = 128
  ) -> (header: FrameHeader, payload: [UInt8]) {
    var digest: UInt32 = 0
    for record in records {
      digest = Checksum.crc32c(word: record.integer(at: 0, as: UInt32.self), continuing: digest)
    }
    let payload = Array(records.joined())
    let isMark = kind == .mark
    let header = FrameHeader(
      kind: kind, part: part, sequence: sequence, payloadLength: UInt32(payload.count),
      recordCount: UInt32(records.count), recordDigest: digest,
      chainDigest: isMark ? 0 : Checksum.crc32c(word: digest, continuing: chain), syncedOffset: syncedOffset)
    return (header, payload)
  }

  static func bytes(of header: FrameHeader, at position: LogPosition, store: StoreID = store) -> [UInt8] {
    encoded(FrameHeader.length) { header.write(to: $0, store: store, position: position) }
  }
}

extension Structure {
  /// Corrects the checksum at the end of a structure of `length` bytes. The checksum covers all
  /// bytes before it.
  private static func sealing(_ length: Int) -> @Sendable (inout [UInt8]) -> Void {
    { bytes in
      guard bytes.count >= length else { return }
      bytes.set(checksum(bytes, 0..<(length - 4)), at: length - 4)
    }
  }

  /// A structure whose encoding and decoding need no other values.
  private static func plain<Value: Sendable>(
    _ name: String, _ length: Int, _ sample: Value,
    _ write: @escaping @Sendable (Value, UnsafeMutableRawBufferPointer) -> Void,
    _ read: @escaping @Sendable (UnsafeRawBufferPointer) throws(FormatError) -> Value,
    repair: @escaping @Sendable (inout [UInt8]) -> Void = { _ in }
  ) -> Structure {
    Structure(
      name: name, sample: encoded(length) { write(sample, $0) },
      roundTrip: { bytes throws(FormatError) in
        let value = try read(bytes)
        return encoded(length) { write(value, $0) }
      }, repair: repair)
  }

  static let superblock = plain(
    "superblock", Superblock.slotLength, Sample.superblock, { $0.write(to: $1) },
    { bytes throws(FormatError) in try Superblock(reading: bytes) }, repair: sealing(4096))

  static let segmentHeader = plain(
    "segment header", SegmentHeader.length, Sample.segmentHeader, { $0.write(to: $1) },
    { bytes throws(FormatError) in try SegmentHeader(reading: bytes) }, repair: sealing(128))

  static let frameHeader = Structure(
    name: "frame header", sample: Sample.bytes(of: Sample.frameHeader, at: Sample.position),
    roundTrip: { bytes throws(FormatError) in
      let value = try FrameHeader(reading: bytes, store: Sample.store, position: Sample.position)
      return Sample.bytes(of: value, at: Sample.position)
    },
    repair: { bytes in
      guard bytes.count >= 64 else { return }
      var covered = [UInt8](repeating: 0, count: 32) + bytes[8..<64]
      covered.set(Sample.store.high, at: 0)
      covered.set(Sample.store.low, at: 8)
      covered.set(Sample.position.segment, at: 16)
      covered.set(Sample.position.offset, at: 24)
      bytes.set(checksum(covered, 0..<covered.count), at: 4)
    })

  static let blobHeader = plain(
    "blob header", BlobHeader.length, Sample.blobHeader, { $0.write(to: $1) },
    { bytes throws(FormatError) in try BlobHeader(reading: bytes) }, repair: sealing(64))

  static let groupEntry = Structure(
    name: "group entry", sample: encoded(GroupEntry.length) { Sample.groupEntry.write(to: $0) },
    roundTrip: { bytes throws(FormatError) in
      let value = try GroupEntry(reading: bytes)
      return encoded(GroupEntry.length) { value.write(to: $0) }
    },
    repair: sealing(24))

  static let rewrittenFooter = Structure(
    name: "rewritten footer",
    sample: encoded(RewrittenFooter.length) {
      Sample.rewrittenFooter.write(to: $0, store: Sample.store, number: Sample.rewrittenNumber)
    },
    roundTrip: { bytes throws(FormatError) in
      let value = try RewrittenFooter(
        reading: bytes, store: Sample.store, number: Sample.rewrittenNumber,
        fileLength: Sample.rewrittenFooter.fileLength)
      return encoded(RewrittenFooter.length) {
        value.write(to: $0, store: Sample.store, number: Sample.rewrittenNumber)
      }
    },
    repair: { bytes in
      guard bytes.count >= 64 else { return }
      var covered = [UInt8](repeating: 0, count: 24) + bytes[0..<60]
      covered.set(Sample.store.high, at: 0)
      covered.set(Sample.store.low, at: 8)
      covered.set(Sample.rewrittenNumber, at: 16)
      bytes.set(checksum(covered, 0..<covered.count), at: 60)
    })

  static let record = Structure(
    name: "record",
    // Excludes the padding, because the frame checks it.
    sample: Array(Sample.record().prefix(16 + Sample.recordKey.count + Sample.recordValue.count)),
    roundTrip: { bytes throws(FormatError) in
      let record = try Record(reading: bytes, .alone)
      let copy = Sample.record(
        record.header.kind, keyspace: record.header.keyspace, key: Array(record.key),
        value: Array(record.value))
      return Array(copy.prefix(record.header.unpaddedLength))
    },
    repair: { bytes in
      guard bytes.count >= 16 else { return }
      let end = 16 + Int(bytes.integer(at: 6, as: UInt16.self)) + Int(bytes.integer(at: 12, as: UInt32.self))
      guard end <= bytes.count else { return }
      bytes.set(checksum(bytes, 4..<end), at: 0)
    })

  static let blobReference = plain(
    "blob reference", BlobReference.length, Sample.blobReference, { $0.write(to: $1) },
    { bytes throws(FormatError) in try BlobReference(reading: bytes) })

  /// The header, followed by a block.
  static let packedValue = Structure(
    name: "packed value",
    sample: encoded(PackedValueHeader.length) { Sample.packedValueHeader.write(to: $0) } + [0x00],
    roundTrip: { bytes throws(FormatError) in
      let value = try PackedValueHeader(reading: bytes)
      return encoded(PackedValueHeader.length) { value.write(to: $0) } + bytes.dropFirst(4)
    }, repair: { _ in })

  static let indexFileHeader = plain(
    "index file header", IndexFileHeader.length, Sample.indexFileHeader, { $0.write(to: $1) },
    { bytes throws(FormatError) in try IndexFileHeader(reading: bytes) }, repair: sealing(64))

  static let readerSlot = plain(
    "reader slot", ReaderSlot.length, Sample.readerSlot, { $0.write(to: $1) },
    { bytes throws(FormatError) in try ReaderSlot(reading: bytes) },
    repair: { bytes in
      guard bytes.count >= 64 else { return }
      bytes.set(checksum(bytes, 4..<64), at: 0)
    })

  static let backupStreamHeader = plain(
    "backup stream header", BackupStreamHeader.length, BackupStreamHeader(store: Sample.store),
    { $0.write(to: $1) }, { bytes throws(FormatError) in try BackupStreamHeader(reading: bytes) },
    repair: sealing(64))

  /// A chunk, followed by its payload.
  static let backupStreamChunk: Structure = {
    let payload: [UInt8] = [1, 2, 3, 4, 5]
    @Sendable func encode(_ chunk: BackupChunk, _ payload: UnsafeRawBufferPointer) -> [UInt8] {
      encoded(BackupChunk.length) { chunk.write(to: $0, payload, store: Sample.store, place: 7) } + payload
    }
    return Structure(
      name: "backup stream chunk", sample: payload.withUnsafeBytes { encode(Sample.backupChunk, $0) },
      roundTrip: { bytes throws(FormatError) in
        let length = try BackupChunk.payloadLength(in: bytes)
        let payload = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(BackupChunk.length).prefix(length))
        return encode(try BackupChunk(reading: bytes, payload, store: Sample.store, place: 7), payload)
      },
      repair: { bytes in
        guard bytes.count >= BackupChunk.length else { return }
        var place: [UInt8] = []
        for word in [Sample.store.high, Sample.store.low, 7] {
          withUnsafeBytes(of: word.littleEndian) { place += $0 }
        }
        let covered = place + bytes[4...]
        bytes.set(checksum(covered, 0..<covered.count), at: 0)
      })
  }()

  /// The checksum is in the superblock, so `repair` does nothing.
  static let checkpointRoot = Structure(
    name: "checkpoint root",
    sample: encoded(Sample.checkpointRoot.length) { Sample.checkpointRoot.write(to: $0) },
    roundTrip: { bytes throws(FormatError) in
      let value = try CheckpointRoot(reading: bytes)
      return encoded(value.length) { value.write(to: $0) }
    }, repair: { _ in })

  static let tombstone = plain(
    "tombstone", Tombstone.valueLength,
    Tombstone(shadowing: RecordAddress(segment: 9, offset: 0x4000, recordLength: 100, isBlob: true)),
    { $0.write(to: $1) }, { bytes throws(FormatError) in try Tombstone(reading: bytes) })

  /// The payload of a frame with records of all kinds.
  static let framePayload: Structure = {
    let (header, payload) = Sample.frame([
      Sample.record(), Sample.record(.tombstone, value: tombstone.sample),
      Sample.record(.blob, key: [], value: blobReference.sample),
      Sample.record(.packed, value: packedValue.sample),
    ])
    return Structure(
      name: "frame payload", sample: payload,
      roundTrip: { bytes throws(FormatError) in
        var copy: [UInt8] = []
        try FramePayload.visitRecords(of: header, in: bytes, .unbound) { record, offset in
          copy += Sample.record(
            record.header.kind, keyspace: record.header.keyspace, key: Array(record.key),
            value: Array(record.value))
        }
        return copy
      }, repair: { _ in }, firstPlace: FrameHeader.length)
  }()

  /// Structures in which each bit is covered by a checksum.
  static let covered = [
    superblock, segmentHeader, frameHeader, blobHeader, rewrittenFooter, record, framePayload,
    indexFileHeader, readerSlot, groupEntry, backupStreamHeader, backupStreamChunk,
  ]
  static let all = covered + [blobReference, packedValue, tombstone, checkpointRoot]
}
