import PerdureCompression
import PerdureFormat
package import PerdureLog
import PerdureTestSupport

/// A range of bytes in a store's file, and how it is read.
package struct RotPart: Sendable {
  /// The content of such a range.
  package enum Kind: CaseIterable, Hashable, Sendable {
    case superblock, segmentHeader, frameHeader, mark, groups, groupTable, offsetMap, footer
    /// A record that is the newest of its key, and has a value.
    case liveRecord
    /// A record that is not the newest of its key, or a removal.
    case deadRecord
    /// A definition, which every opening reads.
    case definition
    /// The zeros after a record.
    case recordPadding
    /// Zeros between the structures of a rewritten segment.
    case segmentPadding
    /// The bytes after the log in a segment.
    case room
    case blob, indexHeader, rootBlock, indexNode, keyBlock, freeUnits, reserve, readers, lock

    /// Whether its bits have no effect, so that damage to them may remain undetected.
    package var isOfNoAccount: Bool {
      switch self {
      case .room, .freeUnits, .reserve, .readers, .lock: true
      default: false
      }
    }
  }

  /// Entries of a derived index.
  package struct Entries: Hashable, Sendable {
    package var index: String
    package var key: [UInt8]
  }

  package var kind: Kind
  package var file: String
  package var range: Range<Int>
  /// A key whose value cannot be read if these bytes are damaged, or whose lookup reads them.
  package var key: CrashKey?
  /// The entries whose lookup reads this node of a derived index.
  package var entries: Entries?
  /// The ranges of the file that an error about this part may name.
  package var places: [Range<Int>]
  /// The offset of the frame that contains it.
  package var frame = 0
  /// Whether its frame is after the checkpoint, so that every opening reads it.
  package var isTail = false
  /// The number of the index node to check, for nodes and their blocks.
  package var page: Int?
}

/// One record of a key, which may be a removal.
struct RotVersion: Sendable {
  enum Value: Sendable {
    case removed
    case plain([UInt8])
    /// In a blob file with this number.
    case blob(UInt64)
    case packed
  }

  /// The part that contains the record: its own, or its group.
  var part: Int
  var value: Value

  var isRemoval: Bool { if case .removed = value { true } else { false } }
}

/// All parts of a store. Each byte of each file is in exactly one part.
package struct RotLayout: Sendable {
  package private(set) var parts: [RotPart] = []
  private let files: [String: [UInt8]]
  let names: [UInt32: (name: String, isDense: Bool)]
  private let store: StoreID
  private let checkpoint: CheckpointReference?
  private let tailStart: LogPosition?
  /// The part with the newest record of each key.
  package private(set) var newest: [CrashKey: Int] = [:]
  /// All records of each key, including removals, in the order of the log. This is the order of the
  /// segments' names, because compaction leaves each record in its segment.
  private(set) var versions: [CrashKey: [RotVersion]] = [:]
  /// The parts that define each keyspace, by the name of the keyspace.
  package private(set) var definitions: [String: Set<Int>] = [:]
  /// The parts that are dictionaries. Packed values cannot be read without them.
  package private(set) var dictionaries: Set<Int> = []
  /// The keys of all records in each part, including dead records.
  package private(set) var owners: [Int: [CrashKey]] = [:]
  /// The key of the value in each blob file.
  package private(set) var blobs: [UInt64: CrashKey] = [:]

  /// - Parameter opened: The open store with these files.
  package init(_ files: [String: [UInt8]], opened: Store) throws {
    self.files = files
    let superblock = try (files["SUPERBLOCK"] ?? []).withUnsafeBytes { try Superblock.newest(in: $0) }
    store = superblock.store
    checkpoint = superblock.checkpoint
    tailStart = try superblock.checkpoint.map { try Self.root($0, files).1.end }
    names = Dictionary(
      uniqueKeysWithValues: try opened.keyspaces.map { ($0.id, ($0.name, $0.kind == .dense)) })
    for name in files.keys.sorted() { try add(name, opened) }
    addKeys()
    try checkWhole()
  }

  private static func root(
    _ reference: CheckpointReference, _ files: [String: [UInt8]]
  ) throws -> (Range<Int>, CheckpointRoot) {
    let bytes = files[StoreFileName.index(reference.indexFile).string] ?? []
    let start = 64 * Int(reference.rootSlot)
    let range = start..<(start + Int(reference.rootLength))
    return (range, try bytes.withUnsafeBytes { try CheckpointRoot(reading: .init(rebasing: $0[range])) })
  }

  /// Gives each part without its own record a key whose lookup reads that part.
  private mutating func addKeys() {
    for (key, part) in newest { parts[part].key = key }
    var ofFile: [String: CrashKey] = [:]
    for part in parts { if let key = part.key, part.kind != .blob { ofFile[part.file] = key } }
    for index in parts.indices {
      switch parts[index].kind {
      case .offsetMap, .groupTable, .segmentPadding: parts[index].key = ofFile[parts[index].file]
      case .blob:
        guard case .blob(let number)? = StoreFileName(parts[index].file) else { continue }
        parts[index].key = blobs[number]
      default: continue
      }
    }
  }

  /// Checks that every byte is in exactly one part, so that each bit is tried exactly once.
  private func checkWhole() throws {
    for (name, bytes) in files {
      var end = 0
      for part in parts.filter({ $0.file == name }).sorted(by: { $0.range.lowerBound < $1.range.lowerBound })
      {
        guard part.range.lowerBound == end else { throw Violation("\(name) has no part at \(end): \(part)") }
        end = part.range.upperBound
      }
      guard end == bytes.count else { throw Violation("\(name) has no part at \(end)") }
    }
  }

  private mutating func add(
    _ kind: RotPart.Kind, _ file: String, _ range: Range<Int>, places: [Range<Int>]? = nil, frame: Int = 0
  ) {
    guard !range.isEmpty else { return }
    let places = places ?? (kind.isOfNoAccount ? [] : [range])
    parts.append(RotPart(kind: kind, file: file, range: range, places: places, frame: frame))
  }

  private mutating func add(_ name: String, _ opened: Store) throws {
    let count = files[name]?.count ?? 0
    switch StoreFileName(name) {
    case .superblock:
      for slot in 0..<4 { add(.superblock, name, (4096 * slot)..<(4096 * slot + 4096), places: [0..<count]) }
    case .segment(let number): try addSegment(name, number)
    case .blob: add(.blob, name, 0..<count)
    case .index(let number): try addIndex(name, number, opened)
    case .lock: add(.lock, name, 0..<count)
    case .reserve: add(.reserve, name, 0..<count)
    default: add(.readers, name, 0..<count)
    }
  }
}

// MARK: - Segments

extension RotLayout {
  private mutating func addSegment(_ name: String, _ number: UInt64) throws {
    let file = files[name] ?? []
    try file.withUnsafeBytes { bytes in
      let header = try SegmentHeader(reading: bytes)
      add(.segmentHeader, name, 0..<SegmentHeader.length)
      guard header.generation > 0 else {
        let end = try addFrames(of: bytes, upTo: bytes.count, name, number)
        return add(.room, name, end..<bytes.count)
      }
      let footer = try RewrittenFooter(
        reading: .init(rebasing: bytes[(bytes.count - RewrittenFooter.length)...]), store: store,
        number: number, fileLength: bytes.count)
      if let groups = footer.groups(in: bytes) {
        try addGroups(groups, of: bytes, footer, name, number)
      } else {
        let end = try addFrames(of: bytes, upTo: Int(footer.dataEnd), name, number)
        add(.segmentPadding, name, end..<footer.mapOffset)
      }
      add(.offsetMap, name, footer.mapOffset..<footer.groupTableOffset)
      add(.groupTable, name, footer.groupTableOffset..<footer.offset)
      add(.footer, name, footer.offset..<footer.fileLength)
    }
  }

  /// Adds the frames that the file contains uncompressed. Returns where they end.
  private mutating func addFrames(
    of bytes: UnsafeRawBufferPointer, upTo end: Int, _ name: String, _ number: UInt64
  ) throws -> Int {
    var offset = SegmentHeader.length
    while offset < end {
      let position = LogPosition(segment: number, offset: UInt64(offset))
      let rest = UnsafeRawBufferPointer(rebasing: bytes[offset..<end])
      guard let header = try? FrameHeader(reading: rest, store: store, position: position) else { break }
      let frame = offset..<(offset + FrameHeader.length + Int(header.payloadLength))
      let first = parts.count
      add(header.kind == .mark ? .mark : .frameHeader, name, offset..<(offset + 64), frame: offset)
      try addRecords(in: bytes, (offset + 64)..<frame.upperBound, name, frame: offset)
      if let tailStart, position >= tailStart {
        for part in first..<parts.count { parts[part].isTail = true }
      }
      offset = frame.upperBound
    }
    return offset
  }

  private mutating func addRecords(
    in bytes: UnsafeRawBufferPointer, _ range: Range<Int>, _ name: String, frame: Int
  ) throws {
    var offset = range.lowerBound
    while offset < range.upperBound {
      let record = try Record(reading: .init(rebasing: bytes[offset..<range.upperBound]), .none)
      let whole = offset..<(offset + record.header.unpaddedLength)
      let kind: RotPart.Kind = record.header.keyspace == 0 ? .definition : .deadRecord
      let index = parts.count
      let padded = offset..<(offset + record.header.paddedLength)
      add(kind, name, whole, places: [padded], frame: frame)
      note(record, at: index)
      offset = padded.upperBound
      add(.recordPadding, name, whole.upperBound..<offset, places: [padded], frame: frame)
    }
  }

  /// Notes a record as the newest of its key so far.
  ///
  /// - Parameter index: The part with the record or with its group.
  private mutating func note(_ record: Record, at index: Int) {
    if record.header.keyspace == 0 { return noteDefinition(record, at: index) }
    guard let keyspace = names[record.header.keyspace] else { return }
    let key: Key =
      keyspace.isDense ? .id(record.key.integer(at: 0, as: UInt64.self)) : .bytes(Array(record.key))
    let place = CrashKey(keyspace: keyspace.name, key: key)
    owners[index, default: []].append(place)
    versions[place, default: []].append(RotVersion(part: index, value: Self.value(of: record)))
    if let before = newest[place], parts[before].kind == .liveRecord { parts[before].kind = .deadRecord }
    guard record.header.kind != .tombstone else {
      newest[place] = nil
      return
    }
    newest[place] = index
    if parts[index].kind == .deadRecord { parts[index].kind = .liveRecord }
    guard record.header.kind == .blob, let reference = try? BlobReference(reading: record.value) else {
      return
    }
    blobs[reference.number] = place
  }

  private static func value(of record: Record) -> RotVersion.Value {
    switch record.header.kind {
    case .tombstone: .removed
    case .put: .plain(Array(record.value))
    case .packed: .packed
    case .blob: .blob((try? BlobReference(reading: record.value))?.number ?? 0)
    }
  }

  private mutating func noteDefinition(_ record: Record, at index: Int) {
    switch record.key.first {
    case 1: definitions[String(decoding: record.key.dropFirst(), as: UTF8.self), default: []].insert(index)
    case 3: dictionaries.insert(index)
    default: break
    }
  }

  private mutating func addGroups(
    _ groups: GroupTable, of bytes: UnsafeRawBufferPointer, _ footer: RewrittenFooter, _ name: String,
    _ number: UInt64
  ) throws {
    var body = [UInt8](repeating: 0, count: SegmentHeader.length)
    var end = SegmentHeader.length
    var starts: [(offset: Int, part: Int)] = []
    for index in 0..<groups.count {
      let entry = try groups.entry(index)
      body += try Self.unpacked(entry, in: bytes)
      starts.append((entry.offset, parts.count))
      add(.groups, name, entry.fileOffset..<entry.fileEnd)
      end = entry.fileEnd
    }
    add(.segmentPadding, name, end..<footer.mapOffset)
    try body.withUnsafeBytes { body in
      try visitRecords(of: body, upTo: Int(footer.dataEnd), number) { record, offset in
        guard let group = starts.last(where: { $0.offset <= offset }) else { return }
        note(record, at: group.part)
      }
    }
  }

  private static func unpacked(_ entry: GroupEntry, in bytes: UnsafeRawBufferPointer) throws -> [UInt8] {
    guard let stored = entry.stored(in: bytes) else { throw Violation("a group past the end of its file") }
    if entry.isPlain { return Array(stored.prefix(entry.storedLength)) }
    let block = UnsafeRawBufferPointer(rebasing: stored.prefix(entry.storedLength))
    return try LZ4Block.decompress(block, size: entry.unpackedLength)
  }

  private func visitRecords(
    of body: UnsafeRawBufferPointer, upTo end: Int, _ number: UInt64, _ visit: (Record, Int) -> Void
  ) throws {
    var offset = SegmentHeader.length
    while offset < end {
      let rest = UnsafeRawBufferPointer(rebasing: body[offset..<end])
      let position = LogPosition(segment: number, offset: UInt64(offset))
      let header = try FrameHeader(reading: rest, store: store, position: position)
      let start = offset + FrameHeader.length
      offset = start + Int(header.payloadLength)
      var records = SealedRecords(in: .init(rebasing: body[start..<offset]))
      while let next = try records.next() { visit(next.record, start + next.offset) }
    }
  }
}

// MARK: - The index file

extension RotLayout {
  private mutating func addIndex(_ name: String, _ number: UInt64, _ opened: Store) throws {
    var found: [RotPart] = [part(.indexHeader, name, 0..<64)]
    if let checkpoint, checkpoint.indexFile == number {
      found.append(part(.rootBlock, name, try Self.root(checkpoint, files).0))
      let indexes = Dictionary(uniqueKeysWithValues: try opened.indexes.map { ($0.index.id, $0.index.name) })
      for (index, page) in try opened.indexPages().enumerated() {
        var node = part(.indexNode, name, page.range)
        node.page = index
        lead(to: &node, of: page, indexes)
        found.append(node)
        for block in page.blocks {
          (node.kind, node.range, node.places) = (.keyBlock, block, [block, page.range])
          found.append(node)
        }
      }
    }
    var end = 0
    for part in found.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
      add(.freeUnits, name, end..<part.range.lowerBound)
      parts.append(part)
      end = part.range.upperBound
    }
    add(.freeUnits, name, end..<(files[name]?.count ?? 0))
  }

  private func part(_ kind: RotPart.Kind, _ file: String, _ range: Range<Int>) -> RotPart {
    RotPart(kind: kind, file: file, range: range, places: [range])
  }

  /// Sets the key or the entries whose lookup reads a node.
  private func lead(to part: inout RotPart, of page: IndexPage, _ indexes: [UInt32: String]) {
    switch (page.tree, page.key) {
    case (.keyspace(let id), let key):
      if let name = names[id]?.name { part.key = CrashKey(keyspace: name, key: key) }
    case (.index(let id), .bytes(let key)):
      if let name = indexes[id] { part.entries = RotPart.Entries(index: name, key: key) }
    case (.index, .id): break
    }
  }
}
