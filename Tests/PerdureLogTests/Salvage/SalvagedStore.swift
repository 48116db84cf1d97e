import PerdureCompression
import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport

@testable import PerdureLog

/// A key as stored in records, with the name of its keyspace.
struct StoredKey: Hashable {
  var keyspace: String
  var key: [UInt8]
}

/// A store with a random history, to be damaged and salvaged. Every record of its log is known.
struct SalvagedStore {
  static let path = "/damaged"
  static let target = "/salvaged"

  /// One record of the log as it was written.
  struct LogRecord {
    var place: StoredKey
    /// The value; nil if the record is a tombstone.
    var value: [UInt8]?
    var file: String
    /// The range of the record without padding. For a record in a group: the range of the group's
    /// stored bytes.
    var range: Range<Int>
    var sequence: UInt64
    /// The blob file with the value.
    var blobFile: String?
    /// The range of the group's entry in the table; nil if the record is not in a group.
    var entry: Range<Int>?
  }

  let image: CrashImage
  private(set) var records: [LogRecord] = []
  /// The frames of the log, with their files and ranges.
  private(set) var frames: [Frame] = []

  /// A frame. The range of a grouped frame has the stored bytes of all its groups.
  struct Frame {
    var file: String
    var range: Range<Int>
    var sequence: UInt64
    var isEnd: Bool
    var isGrouped: Bool
  }

  /// Optional properties of a random store.
  struct Features {
    /// Whether the store is compacted before its last commits.
    var compacts = false
    /// Whether old records are in groups, and values of one keyspace are compressed.
    var packs = false
    /// Whether some values look like structures that a salvage searches for.
    var deceives = false
  }

  /// Fills a store with random commits, compacts it if requested, and closes it.
  init(
    _ random: inout SeededGenerator, commits: Int, segmentCapacityBytes: Int,
    _ features: Features = Features()
  ) throws {
    let fileSystem = SimulatedFileSystem()
    var options = Self.options(fileSystem, segmentCapacityBytes)
    if features.packs {
      options.compression.modes = ["names": .eachValue]
      options.compression.groupsColdRecords = true
      options.compression.groupLengthTarget = random.pick([512, 2048])
    }
    let store = try Store(at: Self.path, options: options)
    let rows = try store.keyspace("rows", .dense)
    let names = try store.keyspace("names", .bytes)
    _ = try store.defineIndex(
      IndexDefinition(
        name: "first byte",
        source: .records(
          keyspaces: [rows], extractor: SliceExtractor.name,
          parameters: SliceExtractor.parameters([.value(offset: 0, length: 1)]))))
    for number in 0..<commits {
      let count = random.chance(10) ? random.pick(20...60) : random.pick(1...5)
      try store.write { transaction in
        for _ in 0..<count {
          let bait = features.deceives && random.chance(20) ? Bait.bytes(store.engine.storeID, &random) : []
          try Self.change(&transaction, number, rows, names, bait, &random)
        }
      }
      if features.compacts && number == commits * 2 / 3 {
        for _ in 0..<(features.packs ? 2 : 1) { try store.compact() }
      }
    }
    try store.close()
    try self.init(fileSystem.currentImage)
  }

  /// Reads the log of a closed store.
  init(_ image: CrashImage) throws {
    self.image = image
    try readLog()
  }

  static func options(_ fileSystem: any FileSystem, _ segmentCapacityBytes: Int) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = segmentCapacityBytes
    options.blobThresholdBytes = 1024
    options.durability = .processCrash
    return options
  }

  private static func change(
    _ transaction: inout WriteTransaction, _ number: Int, _ rows: Keyspace, _ names: Keyspace,
    _ bait: [UInt8],
    _ random: inout SeededGenerator
  ) throws {
    let id = UInt64(random.pick(1...60))
    let length = random.chance(2) ? random.pick(1025...3000) : random.pick(0...random.pick([8, 100, 700]))
    // Every value is different from all others.
    let tag = withUnsafeBytes(of: (UInt32(number), UInt32.random(in: 0 ... .max, using: &random))) {
      Array($0)
    }
    let value = tag + bait + (0..<length).map { _ in UInt8.random(in: 0...3, using: &random) }
    let key = Array("name \(id)".utf8)
    switch random.pick(0..<10) {
    case 0: try transaction.remove(id: id, in: rows)
    case 1: try transaction.remove(key: key, in: names)
    case 2...5: try transaction.put(value, id: id, in: rows)
    default: try transaction.put(value, key: key, in: names)
    }
  }

  /// All files except the lock file.
  var files: [String] { image.paths.filter { !$0.hasSuffix("/") && !$0.hasSuffix("/LOCK") } }

  private mutating func readLog() throws {
    let superblock = try (image.bytes(at: Self.path + "/SUPERBLOCK") ?? []).withUnsafeBytes {
      try Superblock.newest(in: $0)
    }
    for file in files {
      guard case .segment(let number) = StoreFileName(Self.name(file)) else { continue }
      try (image.bytes(at: file) ?? []).withUnsafeBytes { bytes in
        var end: Int?
        var groups: [(entry: GroupEntry, place: Int)] = []
        var body: [UInt8] = []
        if try SegmentHeader(reading: bytes).generation > 0 {
          let footer = try RewrittenFooter(
            reading: bytes.part(bytes.count - RewrittenFooter.length, RewrittenFooter.length),
            store: superblock.store, number: number, fileLength: bytes.count)
          end = Int(footer.dataEnd)
          if let table = footer.groups(in: bytes) {
            body = try Self.unpack(table, bytes, Int(footer.dataEnd))
            groups = try (0..<table.count).map {
              (try table.entry($0), footer.groupTableOffset + $0 * GroupEntry.length)
            }
          }
        }
        try (groups.isEmpty ? Array(bytes) : body).withUnsafeBytes {
          try readFrames(in: $0, number, superblock.store, end, file, groups)
        }
      }
    }
  }

  private static func unpack(_ table: GroupTable, _ file: UnsafeRawBufferPointer, _ end: Int) throws
    -> [UInt8]
  {
    var body = [UInt8](repeating: 0, count: end)
    for index in 0..<table.count {
      let entry = try table.entry(index)
      guard let stored = entry.stored(in: file) else { throw Violation("a group that is not in its file") }
      let isRight = body.withUnsafeMutableBytes {
        entry.unpack(
          stored, into: UnsafeMutableRawBufferPointer(rebasing: $0[entry.offset..<entry.end]), LZ4Block.self)
      }
      guard isRight else { throw Violation("a group that does not unpack") }
    }
    return body
  }

  private mutating func readFrames(
    in bytes: UnsafeRawBufferPointer, _ number: UInt64, _ store: StoreID, _ end: Int?, _ file: String,
    _ groups: [(entry: GroupEntry, place: Int)]
  ) throws {
    var search = SegmentSearch(bytes, number, store, end: end, durableEnd: 0)
    while case .frame(let header, let offset, let payload)? = search.next() {
      let inFile = groups.filter { $0.entry.offset < payload.upperBound && offset < $0.entry.end }
      let first = inFile.first?.entry.fileOffset ?? offset
      frames.append(
        Frame(
          file: file, range: first..<(inFile.last?.entry.fileEnd ?? payload.upperBound),
          sequence: header.sequence, isEnd: header.kind == .commitEnd, isGrouped: !groups.isEmpty))
      var payloadRecords = SealedRecords(in: bytes.part(payload.lowerBound, payload.count))
      while let next = try payloadRecords.next() {
        let start = payload.lowerBound + next.offset
        note(next.record, file, start, header.sequence)
        guard let group = groups.first(where: { ($0.entry.offset..<$0.entry.end).contains(start) }) else {
          continue
        }
        records[records.count - 1].range = group.entry.fileOffset..<group.entry.fileEnd
        records[records.count - 1].entry = group.place..<(group.place + GroupEntry.length)
      }
    }
  }

  private mutating func note(_ record: Record, _ file: String, _ offset: Int, _ sequence: UInt64) {
    let keyspace = ["", "rows", "names"][Int(record.header.keyspace)]
    var value: [UInt8]? = record.header.kind == .tombstone ? nil : Array(record.value)
    var blobFile: String?
    if record.header.kind == .packed,
      let unpacked = try? DictionaryTable.unpacked(record, dictionary: { _ in nil })
    {
      value = unpacked
    }
    if record.header.kind == .blob, let reference = try? BlobReference(in: record) {
      let name = Self.path + "/" + StoreFileName.blob(reference.number).string
      blobFile = name
      value = Array(
        (image.bytes(at: name) ?? []).dropFirst(BlobHeader.length).prefix(Int(reference.valueLength)))
    }
    records.append(
      LogRecord(
        place: StoredKey(keyspace: keyspace, key: Array(record.key)), value: value, file: file,
        range: offset..<(offset + record.header.unpaddedLength), sequence: sequence, blobFile: blobFile))
  }

  static func name(_ file: String) -> String { String(file.split(separator: "/").last ?? "") }

  /// The content of a store without its catalog. Throws if verification has findings.
  static func content(of path: String, _ fileSystem: any FileSystem) throws -> [StoredKey: [UInt8]] {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    let store = try Store(at: path, options: options)
    defer { try? store.close() }
    let snapshot = store.snapshot()
    var content: [StoredKey: [UInt8]] = [:]
    for keyspace in try store.keyspaces {
      switch keyspace.kind {
      case .dense:
        try snapshot.forEach(in: keyspace) { id, value in
          let key = withUnsafeBytes(of: id.littleEndian) { Array($0) }
          content[StoredKey(keyspace: keyspace.name, key: key)] = value.withUnsafeBytes { Array($0) }
          return true
        }
      case .bytes:
        try snapshot.forEach(in: keyspace) { key, value in
          let key = key.withUnsafeBytes { Array($0) }
          content[StoredKey(keyspace: keyspace.name, key: key)] = value.withUnsafeBytes { Array($0) }
          return true
        }
      }
    }
    guard try store.verify().isClean else { throw Violation("the salvaged store is damaged") }
    return content
  }
}

/// Bytes that look like the structures that a salvage searches for. Their checksums were not
/// computed for the position where the bytes are stored.
enum Bait {
  static func bytes(_ store: StoreID, _ random: inout SeededGenerator) -> [UInt8] {
    switch random.pick(0..<4) {
    case 0: return entry(&random)
    case 1: return entry(&random) + footer(store, &random)
    case 2: return footer(StoreID(high: 1, low: 2), &random)
    default:
      // A valid frame header of another position in this store.
      let header = FrameHeader(
        kind: .mark, part: 0, sequence: random.pick(1...200), payloadLength: 0, recordCount: 0,
        recordDigest: 0,
        chainDigest: 0, syncedOffset: 128)
      var bytes = [UInt8](repeating: 0, count: FrameHeader.length)
      let position = LogPosition(
        segment: random.pick(1...4), offset: UInt64(8 * random.pick(1_000_000...2_000_000)))
      bytes.withUnsafeMutableBytes { header.write(to: $0, store: store, position: position) }
      return bytes
    }
  }

  static func entry(_ random: inout SeededGenerator) -> [UInt8] {
    let length = 8 * random.pick(1...500)
    let entry = GroupEntry(
      offset: SegmentHeader.length, unpackedLength: length, fileOffset: SegmentHeader.length,
      storedLength: random.pick(1...length), checksum: .random(in: 0 ... .max, using: &random))
    var bytes = [UInt8](repeating: 0, count: GroupEntry.length)
    bytes.withUnsafeMutableBytes { entry.write(to: $0) }
    return bytes
  }

  static func footer(_ store: StoreID, _ random: inout SeededGenerator) -> [UInt8] {
    footer(store, number: random.pick(1...4), dataEnd: 8 * random.pick(20...200), fileEnd: nil)
  }

  /// - Parameter fileEnd: Nil for a footer with one group. Otherwise the footer has no groups.
  static func footer(_ store: StoreID, number: UInt64, dataEnd: Int, fileEnd: Int?) -> [UInt8] {
    let footer = RewrittenFooter(
      generation: 1, originalEnd: UInt64(dataEnd), dataEnd: UInt64(dataEnd), recordBytes: 0,
      tombstoneBytes: 0,
      lineCount: 0, mapDigest: 0, groups: fileEnd == nil ? (1, dataEnd) : nil)
    var bytes = [UInt8](repeating: 0, count: RewrittenFooter.length)
    bytes.withUnsafeMutableBytes { footer.write(to: $0, store: store, number: number) }
    return bytes
  }
}
