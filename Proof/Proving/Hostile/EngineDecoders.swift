import PerdureCompression
import PerdureFormat
import PerdureLog
import PerdureTestSupport

/// The decoders of the engine's files.
package enum EngineDecoders {
  package static let all: [HostileDecoder] =
    [superblock, segmentHeader, frame, record, rewritten, groupSearch, blob, indexFile, checkpointRoot]
    + [readers, catalog, sum, index, block, segment]

  static let store = StoreID(high: 0x5065_7264_7572_6521, low: 0x0123_4567_89AB_CDEF)

  static func encoded(_ count: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    bytes.withUnsafeMutableBytes { write($0) }
    return bytes
  }

  /// Checks that encoding a decoded structure gives the same bytes. The minor version is always the
  /// writer's version. So the version may differ, and then the checksum at the end differs too.
  package static func same(
    _ read: [UInt8], _ bytes: UnsafeRawBufferPointer, hasVersion: Bool = false, _ what: String
  ) throws {
    var before = Array(bytes.prefix(read.count))
    if hasVersion, before.count == read.count {
      before.replaceSubrange(10..<12, with: read[10..<12])
      before.replaceSubrange((read.count - 4)..., with: read.suffix(4))
    }
    guard read == before else { throw Violation("\(what) is encoded differently after decoding") }
  }

  static let superblock = HostileDecoder(
    "superblock", throwing: FormatError.self,
    repair: { bytes in
      for start in stride(from: 0, to: bytes.count, by: 4096) { Seals.end(&bytes, start, 4096) }
    },
    samples: {
      var value = Superblock(store: store, segmentCapacity: 65_536)
      var slots: [UInt8] = []
      for generation in [4, 5, 6, 7] as [UInt64] {
        value.generation = generation
        value.durableEnd = LogPosition(segment: generation, offset: 4096)
        value.durableSequence = generation
        value.checkpoint = CheckpointReference(indexFile: 1, rootSlot: 9, rootLength: 80, rootChecksum: 5)
        slots += encoded(4096) { value.write(to: $0) }
      }
      return [slots, Array(slots.prefix(4096))]
    },
    decode: { bytes in
      for slot in Superblock.all(in: bytes) {
        let again = encoded(4096) { slot.write(to: $0) }
        guard try again.withUnsafeBytes({ try Superblock(reading: $0) }) == slot else {
          throw Violation("a slot differs after it is encoded and decoded again")
        }
      }
      _ = try Superblock.newest(in: bytes)
    })

  static let segmentHeader = HostileDecoder(
    "segment-header", throwing: FormatError.self, repair: { Seals.end(&$0, 0, 128) },
    samples: {
      let end = LogPosition(segment: 2, offset: 4096)
      let header = SegmentHeader(
        store: store, number: 3, capacity: 65_536, firstSequence: 7, predecessorEnd: end)
      return [encoded(128) { header.write(to: $0) }]
    },
    decode: { bytes in
      let header = try SegmentHeader(reading: bytes)
      try same(encoded(128) { header.write(to: $0) }, bytes, hasVersion: true, "a segment's header")
    })

  static let frame = HostileDecoder(
    "frame", throwing: FormatError.self, repair: { Seals.frames(&$0, from: 0, at: 128, of: 1) },
    samples: {
      let records = Samples.record(1, Array("key".utf8), Array("value".utf8)) + Samples.tombstone
      return [Samples.frame(records, count: 2, at: 128), Samples.frame([], count: 0, at: 128)]
    },
    decode: { bytes in
      let header = try FrameHeader(
        reading: bytes, store: store, position: LogPosition(segment: 1, offset: 128))
      let end = 64 + Int(header.payloadLength)
      guard end <= bytes.count else { return }
      try FramePayload.visitRecords(of: header, in: .init(rebasing: bytes[64..<end]), .unbound) { record, _ in
        _ = (record.key.reduce(0, ^), record.value.reduce(0, ^))
      }
    })

  static let record = HostileDecoder(
    "record", throwing: FormatError.self, repair: { _ = Seals.record(&$0, at: 0) },
    samples: {
      [
        Samples.record(1, [1, 2, 3], [4, 5]), Samples.tombstone, Samples.record(0, [1, 0x61], [1, 0, 0, 0]),
      ]
    },
    decode: { bytes in
      let record = try Record(reading: bytes, .alone)
      _ = (record.key.reduce(0, ^), record.value.reduce(0, ^))
      switch record.header.kind {
      case .blob: _ = try BlobReference(reading: record.value)
      case .tombstone: _ = try Tombstone(reading: record.value)
      case .packed: _ = try PackedValueHeader(reading: record.value)
      case .put: break
      }
    })

  /// The map, the groups and the footer of a rewritten segment.
  static let rewritten = HostileDecoder(
    "rewritten", throwing: FormatError.self, repair: { Seals.rewritten(&$0) },
    samples: { try Samples.segments().filter { Samples.isRewritten($0) } },
    decode: { bytes in
      guard bytes.count >= RewrittenFooter.length else { return }
      let end = UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - RewrittenFooter.length)...])
      let footer = try RewrittenFooter(reading: end, store: store, number: 1, fileLength: bytes.count)
      guard footer.fileLength == bytes.count else { return }
      let map = try footer.verifiedMap(in: bytes)
      // After its last line, a map must have no entries, even if the segment was longer. A single
      // lookup checks this.
      let lines = 128 + Int(footer.lineCount) * OffsetMap.unitsALine * 8
      let last = Int(footer.originalEnd) - 8
      guard last < lines || map.physicalOffset(of: last) == nil else {
        throw Violation("a map has entries past its end")
      }
      for offset in stride(from: 128, to: min(lines, Int(footer.originalEnd)), by: 8) {
        guard let place = map.physicalOffset(of: offset) else { continue }
        guard map.originalOffset(of: place) == offset else {
          throw Violation("a map leads to a wrong offset")
        }
      }
      guard let groups = footer.groups(in: bytes) else { return }
      for index in 0..<groups.count {
        let entry = try groups.entry(index)
        guard let stored = entry.stored(in: bytes), Checksum.crc32c(stored) == entry.checksum else {
          continue
        }
        guard !entry.isPlain else { continue }
        let block = UnsafeRawBufferPointer(rebasing: stored.prefix(entry.storedLength))
        _ = try? LZ4Block.decompress(block, size: entry.unpackedLength)
      }
    })

  static let groupSearch = HostileDecoder(
    "group-search", throwing: FormatError.self, repair: { Seals.groupEntries(&$0) },
    samples: { try Samples.segments().filter { Samples.isRewritten($0) } },
    decode: { bytes in
      for entry in GroupTable.search(in: bytes) where entry.stored(in: bytes) == nil {
        throw Violation("a group past the end of its file")
      }
    })

  static let blob = HostileDecoder(
    "blob", throwing: FormatError.self, repair: { Seals.end(&$0, 0, 64) },
    samples: { [encoded(64) { BlobHeader(store: store, number: 5, valueLength: 70_000).write(to: $0) }] },
    decode: { bytes in
      let header = try BlobHeader(reading: bytes)
      try same(encoded(64) { header.write(to: $0) }, bytes, hasVersion: true, "a blob file's header")
    })

  static let indexFile = HostileDecoder(
    "index-header", throwing: FormatError.self, repair: { Seals.end(&$0, 0, 64) },
    samples: { [encoded(64) { IndexFileHeader(store: store, number: 5).write(to: $0) }] },
    decode: { bytes in
      let header = try IndexFileHeader(reading: bytes)
      try same(encoded(64) { header.write(to: $0) }, bytes, "an index file's header")
    })

  static let checkpointRoot = HostileDecoder(
    "checkpoint-root", throwing: FormatError.self, samples: { [try Samples.root()] },
    decode: { bytes in
      let root = try CheckpointRoot(reading: bytes)
      try same(encoded(root.length) { root.write(to: $0) }, bytes, "a root block")
      // Segments without records may be missing from the encoding.
      let usage = try root.segmentUsage.withUnsafeBytes { try LogDecoders.segmentUsage($0) }
      guard try usage.withUnsafeBytes({ try LogDecoders.segmentUsage($0) }) == usage else {
        throw Violation("a usage table differs after it is encoded and decoded again")
      }
    })

  static let readers = HostileDecoder(
    "readers", throwing: FormatError.self,
    repair: { bytes in
      for start in stride(from: 0, to: bytes.count - 63, by: 64) { Seals.begin(&bytes, start, 64) }
    },
    samples: {
      let hold = ReaderSlot.Hold(sequence: 7, indexFile: 1, checkpoint: 2, lastSequence: 9)
      let slot = ReaderSlot(processID: 4711, since: 1_700_000_000, hold: hold)
      return [encoded(64) { slot.write(to: $0) }]
    },
    decode: { bytes in
      for start in stride(from: 0, to: bytes.count, by: 64) {
        let slot = UnsafeRawBufferPointer(rebasing: bytes[start..<min(bytes.count, start + 64)])
        let read = try ReaderSlot(reading: slot)
        try same(encoded(64) { read.write(to: $0) }, slot, "a reader's slot")
      }
    })

  /// A list of definitions, each with two lengths of one byte, the key and the value.
  static let catalog = HostileDecoder(
    "catalog", throwing: FormatError.self, samples: { [Samples.catalog] },
    decode: { bytes in
      var entries: [(key: [UInt8], value: [UInt8])] = []
      var rest = bytes[...]
      while rest.count >= 2 {
        let (keyLength, valueLength) = (Int(rest.removeFirst()), Int(rest.removeFirst()))
        let key = Array(rest.prefix(keyLength))
        rest = rest.dropFirst(keyLength)
        entries.append((key, Array(rest.prefix(valueLength))))
        rest = rest.dropFirst(valueLength)
      }
      _ = try LogDecoders.catalog(entries)
    })
}
