import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A store in memory. Checkpoints are written at every close, and on request.
struct CheckpointedStore {
  static let path = "/s.perdure"
  let fileSystem: any FileSystem
  var options = StoreOptions()

  init(_ fileSystem: any FileSystem = InMemoryFileSystem(), segmentCapacityBytes: Int = 16 << 10) {
    self.fileSystem = fileSystem
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = segmentCapacityBytes
    options.blobThresholdBytes = 2048
    options.checkpoints = .manual
    options.checkpoints.closeTailBytes = 0
    options.compactsAutomatically = false
  }

  func open(readOnly: Bool = false, checking: Bool = false) throws -> Store {
    var options = options
    options.isReadOnly = readOnly
    options.checksIndexAtOpening = checking
    return try Store(at: Self.path, options: options)
  }

  /// The names of the existing index files.
  func indexFiles() throws -> [String] {
    try fileSystem.contents(of: Self.path).filter { $0.hasSuffix(".index") }
  }

  func bytes(_ name: String) throws -> [UInt8] {
    let file = try fileSystem.open(Self.path + "/" + name, .read)
    return try file.read(Int(file.size()), at: 0)
  }

  /// The byte ranges of all dense nodes that the newest checkpoint in the index file reaches.
  func nodes(_ name: String) throws -> [Range<Int>] {
    let bytes = try bytes(name)
    let file = try fileSystem.open(Self.path + "/SUPERBLOCK", .read)
    let superblock = try file.read(Superblock.fileLength, at: 0).withUnsafeBytes {
      try Superblock.newest(in: $0)
    }
    let reference = try #require(superblock.checkpoint)
    let start = 64 * Int(reference.rootSlot)
    let root = try bytes.withUnsafeBytes {
      try CheckpointRoot(reading: $0.part(start, Int(reference.rootLength)))
    }
    var found: [Range<Int>] = []
    try bytes.withUnsafeBytes { file in
      let mapped = try MappedNodes(file, lastSegment: root.end.segment)
      for keyspace in root.keyspaces {
        let table = try DenseTable(TreeImage(keyspace.dense), in: mapped.records)
        if let top = table.root { Self.visit(DenseNode(top), in: mapped.records) { found.append($0) } }
      }
    }
    return found
  }

  private static func visit(_ node: DenseNode, in file: FileNodes, _ body: (Range<Int>) -> Void) {
    let header = NodeHeader(node.base)
    let start = header.slot.offset
    body(start..<(start + 64 * NodeSlot.unitCount(header.fileByteCount)))
    if node.level == 0 { return }
    for slot in 0..<DenseNode.slotCount {
      if let child = node.child(slot, in: file) { visit(DenseNode(child), in: file, body) }
    }
  }

  /// Changes the root block of the newest checkpoint, and corrects all checksums. The block keeps
  /// its length.
  func changeRoot(_ body: (inout CheckpointRoot) throws -> Void) throws {
    var superblock = try bytes("SUPERBLOCK").withUnsafeBytes { try Superblock.newest(in: $0) }
    let reference = try #require(superblock.checkpoint)
    let (start, length) = (64 * Int(reference.rootSlot), Int(reference.rootLength))
    let name = StoreFileName.index(reference.indexFile).string
    var root = try bytes(name).withUnsafeBytes { try CheckpointRoot(reading: $0.part(start, length)) }
    try body(&root)
    var block = [UInt8](repeating: 0, count: length)
    try #require(root.length == length)
    block.withUnsafeMutableBytes { root.write(to: $0) }
    try change(name) { $0.replaceSubrange(start..<(start + length), with: block) }
    superblock.checkpoint?.rootChecksum = block.withUnsafeBytes { Checksum.crc32c($0) }
    var slot = [UInt8](repeating: 0, count: Superblock.slotLength)
    slot.withUnsafeMutableBytes { superblock.write(to: $0) }
    let place = superblock.slot * Superblock.slotLength
    try change("SUPERBLOCK") { $0.replaceSubrange(place..<(place + slot.count), with: slot) }
  }

  func change(_ file: String, _ body: (inout [UInt8]) -> Void) throws {
    let file = try fileSystem.open(Self.path + "/" + file, .readWrite)
    var bytes = try file.read(Int(file.size()), at: 0)
    body(&bytes)
    try file.write(bytes, at: 0)
  }
}

/// A value with the group, a serial number and padding.
private func value(group: UInt8, serial: UInt64, length: Int = 40) -> [UInt8] {
  [0, 0, 0, 0, 0, 0, 0, group] + withUnsafeBytes(of: serial.bigEndian) { Array($0) }
    + [UInt8](repeating: UInt8(truncatingIfNeeded: serial), count: length)
}

@Suite("A checkpoint")
struct CheckpointTests {
  private let memory = CheckpointedStore()

  /// Puts rows in counted groups, and names of different lengths. Long names are stored outside the
  /// nodes.
  private func fill(_ store: Store, _ ids: ClosedRange<UInt64>) throws -> (rows: Keyspace, names: Keyspace) {
    let rows = try store.keyspace("rows", .dense)
    let names = try store.keyspace("names", .bytes)
    let groups = try store.defineIndex(.slices("groups", rows, .value(offset: 0, length: 8)))
    _ = try store.defineIndex(IndexDefinition(name: "counts", source: .groupCounts(of: groups)))
    _ = try store.defineIndex(.slices("serials", rows, .value(offset: 8, length: 8), isUnique: true))
    for id in ids {
      try store.write(durability: .relaxed) { transaction in
        try transaction.put(
          value(group: UInt8(id % 7), serial: id, length: id % 50 == 0 ? 3000 : 40), id: id, in: rows)
        let name = [UInt8](repeating: UInt8(id % 251), count: id % 20 == 0 ? 300 : Int(id % 30))
        try transaction.put(value(group: 1, serial: id), key: name, in: names)
        if id % 3 == 0 { try transaction.remove(id: id - 2, in: rows) }
      }
    }
    return (rows, names)
  }

  @Test("After a close with a checkpoint, opening reads no log bytes")
  func nothingToRead() throws {
    let store = try memory.open()
    let (rows, _) = try fill(store, 1...300)
    let before = try CrashOracle.content(of: store)
    try store.close()
    let again = try memory.open()
    let report = again.recoveryReport
    #expect(report.checkpointSequence == report.commits && report.logBytes == 0)
    #expect(report.indexRebuild == nil && report.wasClosed)
    #expect(try CrashOracle.content(of: again) == before)
    #expect(again.snapshot().count(in: rows) == 200)
    #expect(try again.verify().findings.map(\.description) == [])
  }

  @Test("Opening reads the log after the checkpoint and updates derived indexes")
  func tail() throws {
    let store = try memory.open()
    let (rows, names) = try fill(store, 1...200)
    try store.checkpoint()
    let sequence = store.snapshot().sequence
    _ = try fill(store, 150...260)
    try store.write { try $0.remove(id: 160, in: rows) }
    try store.write { try $0.remove(key: [7], in: names) }
    let before = try CrashOracle.content(of: store)
    let last = store.snapshot().sequence
    store.engine.abandon()
    let again = try memory.open()
    #expect(again.recoveryReport.checkpointSequence == sequence)
    #expect(again.recoveryReport.commits == last && again.recoveryReport.logBytes > 0)
    #expect(try CrashOracle.content(of: again) == before)
    #expect(try again.verify().findings.map(\.description) == [])
    try again.close()
    let third = try memory.open()
    #expect(third.recoveryReport.checkpointSequence == last)
    #expect(try CrashOracle.content(of: third) == before)
    #expect(try third.verify().isClean)
  }

  @Test("Opening from a checkpoint reads no older log records except those of the catalog")
  func oldLogUntouched() throws {
    var memory = memory
    memory.options.segmentCapacityBytes = 64 << 10
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    for id in 1...400 as ClosedRange<UInt64> {
      try store.write(durability: .relaxed) {
        try $0.put(value(group: 1, serial: id, length: 600), id: id, in: rows)
      }
    }
    try store.checkpoint()
    try store.write { try $0.put([9], id: 1, in: rows) }
    let last = store.snapshot().sequence
    store.engine.abandon()
    // Overwrites all frames and records of the older segments. The segment headers and the catalog
    // stay.
    let segments = try memory.fileSystem.contents(of: CheckpointedStore.path).filter {
      $0.hasSuffix(".segment")
    }
    #expect(segments.count > 3)
    for segment in segments.dropLast() {
      try memory.change(segment) { bytes in
        for place in (segment == segments[0] ? 600 : 128)..<bytes.count { bytes[place] ^= 0x5A }
      }
    }
    let again = try memory.open()
    #expect(again.recoveryReport.commits == last && again.recoveryReport.indexRebuild == nil)
    #expect(try again.snapshot().value(id: 1, in: rows) == [9])
    #expect(again.snapshot().count(in: rows) == 400)
    #expect(throws: StoreError.self) { try again.snapshot().value(id: 300, in: rows) }
  }

  @Test("Opening rebuilds a missing or damaged index from the log and reports the reason")
  func rebuild() throws {
    let store = try memory.open()
    _ = try fill(store, 1...100)
    let before = try CrashOracle.content(of: store)
    try store.close()
    let file = try #require(try memory.indexFiles().first)
    try memory.change(file) { $0[200] ^= 1 }
    let reader = try memory.open(readOnly: true)
    #expect(try CrashOracle.content(of: reader) == before)
    #expect(reader.recoveryReport.indexRebuild?.place.hasPrefix(file) == true)
    let again = try memory.open()
    #expect(again.recoveryReport.indexRebuild?.reason == "index node: wrongChecksum")
    #expect(again.recoveryReport.checkpointSequence == 0)
    #expect(try CrashOracle.content(of: again) == before)
    try again.close()
    // The next checkpoint uses the next file number, and the damaged file is removed.
    #expect(try memory.indexFiles() == ["0000000000000002.index"])
    let third = try memory.open()
    #expect(third.recoveryReport.indexRebuild == nil && third.recoveryReport.checkpointSequence > 0)
    #expect(try third.verify().isClean)
    try third.close()
    try memory.fileSystem.remove(CheckpointedStore.path + "/0000000000000002.index")
    let fourth = try memory.open()
    #expect(fourth.recoveryReport.indexRebuild?.place == "0000000000000002.index")
    #expect(try CrashOracle.content(of: fourth) == before)
  }

  @Test("After many checkpoints and log tails, the content equals that of a model")
  func random() throws {
    var random = SeededGenerator.forTest("checkpoints")
    for round in 0..<6 {
      let memory = CheckpointedStore()
      var model: [UInt64: [UInt8]] = [:]
      var store = try memory.open()
      let rows = try fill(store, 1...UInt64.random(in: 1...40, using: &random)).rows
      for (key, value) in try CrashOracle.content(of: store) {
        if key.keyspace == "rows", case .id(let id) = key.key { model[id] = value }
      }
      for _ in 0..<40 {
        for _ in 0..<Int.random(in: 0...60, using: &random) {
          let id = UInt64.random(in: 1...400, using: &random)
          let new =
            Int.random(in: 0..<4, using: &random) == 0
            ? nil : value(group: UInt8(id % 5), serial: random.next())
          model[id] = new
          try store.write(durability: .relaxed) { transaction in
            if let new {
              try transaction.put(new, id: id, in: rows)
            } else {
              try transaction.remove(id: id, in: rows)
            }
          }
        }
        switch Int.random(in: 0..<5, using: &random) {
        case 0: try store.checkpoint()
        case 1: try store.close(); store = try memory.open()
        case 2: store.engine.abandon(); store = try memory.open()
        default: break
        }
      }
      store.engine.abandon()
      let last = try memory.open()
      var found: [UInt64: [UInt8]] = [:]
      try last.snapshot().forEach(in: rows) { (id: UInt64, value: RawSpan) in
        found[id] = value.withUnsafeBytes { Array($0) }
        return true
      }
      #expect(found == model, "seed \(random.seed), round \(round)")
      #expect(try last.verify().findings.map(\.description) == [], "seed \(random.seed), round \(round)")
    }
  }

  @Test("The index file has a bounded length when the same keys are overwritten repeatedly")
  func reuse() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    var lengths: [Int] = []
    for round in 0..<30 as Range<UInt64> {
      try store.write { transaction in
        for id in 0..<2000 as Range<UInt64> { try transaction.put([UInt8(round)], id: id, in: rows) }
      }
      try store.checkpoint()
      let file = try #require(try memory.indexFiles().first)
      lengths.append(Int(try memory.fileSystem.open(CheckpointedStore.path + "/" + file, .read).size()))
    }
    // The bound allows the units of two checkpoints, and some space for fragmentation.
    #expect(lengths[29] <= lengths[0] * 3, "\(lengths)")
    #expect(lengths[29] <= lengths[20] + 8192, "\(lengths)")
    try store.close()
    for round in 0..<20 as Range<UInt64> {
      let again = try memory.open()
      try again.write { transaction in
        for id in 0..<2000 as Range<UInt64> { try transaction.put([UInt8(round)], id: id, in: rows) }
      }
      try again.close()
    }
    let file = try #require(try memory.indexFiles().first)
    let length = Int(try memory.fileSystem.open(CheckpointedStore.path + "/" + file, .read).size())
    // The first close had no older checkpoint whose units it could reuse.
    #expect(length <= lengths[0] * 4)
    let last = try memory.open()
    #expect(last.recoveryReport.checkpointSequence > 0)
    #expect(try last.verify().isClean)
  }
}
