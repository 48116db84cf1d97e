import PerdureFileIO
import PerdureFormat
import PerdureTestSupport

@testable import PerdureLog

/// The log of a store that was not closed. A test appends frames with correct checksums to it.
struct HandmadeLog {
  static let path = "/s.perdure"
  /// The ids that the store has put, each with three bytes.
  static let ids: ClosedRange<UInt64> = 1...4

  let fileSystem = InMemoryFileSystem()
  let rows: Keyspace
  private let storeID: StoreID
  /// The position of the next frame.
  private(set) var end: LogPosition
  /// The sequence number of the last commit.
  private(set) var sequence: UInt64
  private var chain: UInt32 = 0

  static func options(_ fileSystem: any FileSystem, readOnly: Bool = false) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.isReadOnly = readOnly
    options.createsIfMissing = false
    options.segmentCapacityBytes = 64 << 10
    options.checkpoints = .manual
    options.compactsAutomatically = false
    options.reserveBytes = 0
    // The test builds records before their addresses are known.
    options.bindsRecords = false
    return options
  }

  init() throws {
    var options = Self.options(fileSystem)
    options.createsIfMissing = true
    let store = try Store(at: Self.path, options: options)
    let rows = try store.keyspace("rows", .dense)
    for id in Self.ids { try store.write { try $0.put([1, 2, 3], id: id, in: rows) } }
    self.rows = rows
    storeID = store.engine.storeID
    (end, sequence) = try store.engine.readingState { ($0.end, $0.root.pointee.sequence) }
  }

  func open(readOnly: Bool = false) throws -> Store {
    try Store(at: Self.path, options: Self.options(fileSystem, readOnly: readOnly))
  }

  /// A record with its checksum.
  static func record(
    _ kind: RecordHeader.Kind = .put, keyspace: UInt32, key: [UInt8], value: [UInt8] = [7]
  ) -> [UInt8] {
    let header = RecordHeader(
      kind: kind, keyspace: keyspace, keyLength: key.count, valueLength: value.count)
    var bytes = [UInt8](repeating: 0, count: header.paddedLength)
    bytes.replaceSubrange(RecordHeader.length..<header.unpaddedLength, with: key + value)
    bytes.withUnsafeMutableBytes { header.seal($0) }
    return bytes
  }

  /// The record of a row.
  func row(_ id: UInt64) -> [UInt8] {
    Self.record(keyspace: rows.id, key: withUnsafeBytes(of: id.littleEndian) { Array($0) })
  }

  /// Appends a frame. The defaults are correct for a commit of one frame.
  mutating func append(
    _ kind: FrameHeader.Kind = .commitEnd, part: UInt32 = 0, sequence: UInt64? = nil,
    breaksChain: Bool = false,
    vouches: Bool = false, _ records: [[UInt8]] = []
  ) throws {
    let payload = records.flatMap { $0 }
    let digest = records.flatMap { $0.prefix(4) }.withUnsafeBytes { Checksum.crc32c($0) }
    chain = Checksum.crc32c(word: digest, continuing: part == 0 ? 0 : chain)
    let header = FrameHeader(
      kind: kind, part: part, sequence: sequence ?? (kind == .mark ? self.sequence : self.sequence + 1),
      payloadLength: UInt32(payload.count), recordCount: UInt32(records.count),
      recordDigest: kind == .mark ? 0 : digest, chainDigest: kind == .mark ? 0 : breaksChain ? ~chain : chain,
      syncedOffset: vouches ? end.offset : 128)
    var bytes = [UInt8](repeating: 0, count: FrameHeader.length)
    bytes.withUnsafeMutableBytes { header.write(to: $0, store: storeID, position: end) }
    let file = try fileSystem.open(
      Self.path + "/" + StoreFileName.segment(end.segment).string, .readWrite)
    try file.write(bytes + payload, at: end.offset)
    end = LogPosition(segment: end.segment, offset: end.offset + UInt64(bytes.count + payload.count))
    if kind == .commitEnd { self.sequence += 1 }
  }

  /// All files of the store, except the lock file and the table of readers.
  func files() throws -> [String: [UInt8]] {
    try fileSystem.files(in: Self.path).filter { !["LOCK", "READERS"].contains($0.key) }
  }

  /// Writes a changed superblock with the next generation.
  func changeSuperblock(_ change: (inout Superblock) -> Void) throws {
    let file = try fileSystem.open(Self.path + "/SUPERBLOCK", .readWrite)
    let bytes = try file.read(Superblock.fileLength, at: 0)
    var superblock = try bytes.withUnsafeBytes { try Superblock.newest(in: $0) }
    superblock.generation += 1
    change(&superblock)
    var slot = [UInt8](repeating: 0, count: Superblock.slotLength)
    slot.withUnsafeMutableBytes { superblock.write(to: $0) }
    try file.write(slot, at: UInt64(superblock.slot * Superblock.slotLength))
  }
}
