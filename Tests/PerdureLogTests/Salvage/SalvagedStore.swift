import PerdureFileIO
import PerdureFormat
import PerdureTestSupport

@testable import PerdureLog

/// A key as it stands in records, with the name of its keyspace.
struct StoredKey: Hashable {
  var keyspace: String
  var key: [UInt8]
}

/// A store with a history, to be damaged and salvaged: what its log holds is known record by record.
struct SalvagedStore {
  static let path = "/damaged"
  static let target = "/salvaged"

  /// One record of the log as it was written.
  struct LogRecord {
    var place: StoredKey
    /// nil: a tombstone.
    var value: [UInt8]?
    var file: String
    /// Without padding.
    var range: Range<Int>
    var sequence: UInt64
    /// The blob file that holds the value.
    var blobFile: String?
  }

  let image: CrashImage
  private(set) var records: [LogRecord] = []
  /// Where frames stand: their file, the begin of the header and the end.
  private(set) var frames: [(file: String, range: Range<Int>, sequence: UInt64, isEnd: Bool)] = []

  /// Fills a store with random commits, compacts it if asked to, and closes it.
  init(
    _ random: inout SeededGenerator, commits: Int, segmentCapacityBytes: Int, compacts: Bool = false
  ) throws {
    let fileSystem = SimulatedFileSystem()
    let store = try Store(at: Self.path, options: Self.options(fileSystem, segmentCapacityBytes))
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
        for _ in 0..<count { try Self.change(&transaction, number, rows, names, &random) }
      }
      if compacts && number == commits * 2 / 3 { try store.compact() }
    }
    try store.close()
    image = fileSystem.currentImage
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
    _ random: inout SeededGenerator
  ) throws {
    let id = UInt64(random.pick(1...60))
    let length = random.chance(2) ? random.pick(1025...3000) : random.pick(0...random.pick([8, 100, 700]))
    // Every value is the only one of its kind.
    let tag = withUnsafeBytes(of: (UInt32(number), UInt32.random(in: 0 ... .max, using: &random))) {
      Array($0)
    }
    let value = tag + (0..<length).map { _ in UInt8.random(in: 0...3, using: &random) }
    let key = Array("name \(id)".utf8)
    switch random.pick(0..<10) {
    case 0: try transaction.remove(id: id, in: rows)
    case 1: try transaction.remove(key: key, in: names)
    case 2...5: try transaction.put(value, id: id, in: rows)
    default: try transaction.put(value, key: key, in: names)
    }
  }

  /// The files that say something.
  var files: [String] { image.paths.filter { !$0.hasSuffix("/") && !$0.hasSuffix("/LOCK") } }

  private mutating func readLog() throws {
    let superblock = try (image.bytes(at: Self.path + "/SUPERBLOCK") ?? []).withUnsafeBytes {
      try Superblock.newest(in: $0)
    }
    for file in files {
      guard case .segment(let number) = StoreFileName(Self.name(file)) else { continue }
      try (image.bytes(at: file) ?? []).withUnsafeBytes { bytes in
        var end: Int?
        if try SegmentHeader(reading: bytes).generation > 0 {
          let footer = try RewrittenFooter(
            reading: bytes.part(bytes.count - RewrittenFooter.length, RewrittenFooter.length),
            store: superblock.store, number: number, fileLength: bytes.count)
          end = Int(footer.dataEnd)
        }
        var search = SegmentSearch(bytes, number, superblock.store, end: end, durableEnd: 0)
        while case .frame(let header, let offset, let payload)? = search.next() {
          frames.append((file, offset..<payload.upperBound, header.sequence, header.kind == .commitEnd))
          try FramePayload.visitRecords(of: header, in: bytes.part(payload.lowerBound, payload.count)) {
            note($0, file, payload.lowerBound + $1, header.sequence)
          }
        }
      }
    }
  }

  private mutating func note(_ record: Record, _ file: String, _ offset: Int, _ sequence: UInt64) {
    let keyspace = ["", "rows", "names"][Int(record.header.keyspace)]
    var value: [UInt8]? = record.header.kind == .tombstone ? nil : Array(record.value)
    var blobFile: String?
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

  /// What a store holds, without its catalog; and whether it is well.
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
    guard try store.verify().isClean else { throw Violation("the salvaged store is not well") }
    return content
  }
}
