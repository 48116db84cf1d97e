import PerdureFileIO
import PerdureFormat

/// The index on disk cannot be used; everything follows from the log all the same.
struct IndexUnusable: Error {
  /// What is wrong with it, and where.
  let reason: String
  let place: String
  /// Nothing is wrong: its place is in a segment that was rewritten since, or is void (FORMAT.md, T4).
  var isOutdated = false

  init(_ reason: String, at place: String) {
    self.reason = reason
    self.place = place
  }

  init(_ error: FormatError, _ file: String) {
    self.init("\(error.structure): \(error.reason.rawValue)", at: "\(file), byte \(error.offset)")
  }
}

/// A checkpoint that was read and verified: its trees can be used where they lie. FORMAT.md, "Checkpoints".
struct OpenedCheckpoint {
  let reference: CheckpointReference
  let root: CheckpointRoot
  let file: any File
  /// The index file as long as it was at opening.
  let mapping: FileMapping
  /// What the trees and the root block take of the file.
  let reached: SlotMap
  /// By the first unit of a node: its checksum.
  let checksums: [UInt32]
  /// Root blocks that older superblocks name, in units that nothing here takes.
  let formerRootSlots: [UInt32]
  let catalog: Catalog
  let usage: SegmentUsageTable

  var rootRun: SlotAllocator.Run { Self.run(reference) }

  /// By keyspace id.
  var keyspaces: [KeyspaceRoot] {
    root.keyspaces.map { keyspace in
      KeyspaceRoot(
        dense: DenseTable(TreeImage(keyspace.dense), in: mapping.base),
        ordered: OrderedTree(TreeImage(keyspace.ordered), in: mapping.base))
    }
  }

  func tree(ofIndex id: Int) -> OrderedTree {
    OrderedTree(TreeImage(root.indexes[id].tree), in: mapping.base)
  }

  private static func run(_ reference: CheckpointReference) -> SlotAllocator.Run {
    SlotAllocator.Run(
      slot: reference.rootSlot, unitCount: NodeSlot.unitCount(Int(reference.rootLength)))
  }
}

extension OpenedCheckpoint {
  /// - Parameter chain: All segments on the way.
  /// - Parameter copiesFile: Whether the file is read into memory and not mapped: nobody keeps it from changing.
  init(
    _ reference: CheckpointReference, in directory: String, _ mode: FileMode, _ superblock: SuperblockFile,
    _ chain: SegmentChain, _ fileSystem: any FileSystem, copiesFile: Bool = false
  ) throws {
    let name = StoreFileName.index(reference.indexFile).string
    do {
      let store = superblock.current.store
      file = try fileSystem.open(directory + "/" + name, mode)
      let length = Int(try file.size())
      guard length > 0 else { throw FormatError(.incomplete, in: "index file header", at: 0) }
      mapping = try copiesFile ? Self.copy(of: file, length) : file.map(length)
      let bytes = UnsafeRawBufferPointer(start: mapping.base, count: length)
      try IndexFileHeader(reading: bytes).check(store: store, number: reference.indexFile)
      root = try Self.readRoot(reference, in: bytes)
      usage = try Self.readUsage(root)
      try Self.check(root, chain, superblock.current, name)
      var verification = NodeVerification(of: bytes)
      let run = Self.run(reference)
      try verification.claim(NodeSlot(number: run.slot), unitCount: run.unitCount)
      catalog = try Self.readCatalog(root, mapping, chain, &verification)
      try Self.verify(root, catalog, &verification)
      try verification.check(usage)
      guard verification.sum.value == root.nodeSum else {
        throw FormatError(.wrongChecksum, in: "checkpoint root", at: 72)
      }
      let reached = verification.reached
      checksums = verification.checksums
      self.reached = reached
      self.reference = reference
      formerRootSlots = superblock.former.compactMap(\.checkpoint).filter {
        $0 != reference && $0.indexFile == reference.indexFile && Int($0.rootSlot) < reached.unitCount
          && !reached.isTaken(Int($0.rootSlot))
      }.map(\.rootSlot)
    } catch let error as FormatError {
      throw IndexUnusable(error, name)
    } catch let error as FileIOError {
      throw IndexUnusable("\(error)", at: name)
    } catch let error as StoreError {
      // Of the catalog's records; what it means for the store is found when the log is read.
      throw IndexUnusable(error.message, at: error.place ?? name)
    }
  }

  private static func copy(of file: any File, _ length: Int) throws(FileIOError) -> FileMapping {
    // Zeros where the file has become shorter, which is found when it is verified.
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 4096)
    copy.initializeMemory(as: UInt8.self, repeating: 0)
    let start = UnsafeRawPointer(copy.baseAddress.unsafelyUnwrapped)
    // Unsafe: freed once, when nobody reads it any more.
    nonisolated(unsafe) let memory = copy
    let mapping = FileMapping(base: start, length: length) { memory.deallocate() }
    _ = try file.read(into: copy, at: 0)
    return mapping
  }

  private static func readRoot(
    _ reference: CheckpointReference, in bytes: UnsafeRawBufferPointer
  ) throws(FormatError) -> CheckpointRoot {
    let start = Int(reference.rootSlot) * IndexFileHeader.unitLength
    let length = Int(reference.rootLength)
    guard start + length <= bytes.count else {
      throw FormatError(.incomplete, in: "checkpoint root", at: bytes.count)
    }
    let block = bytes.part(start, length)
    guard Checksum.crc32c(block) == reference.rootChecksum else {
      throw FormatError(.wrongChecksum, in: "checkpoint root", at: start)
    }
    return try CheckpointRoot(reading: block)
  }

  private static func readUsage(_ root: CheckpointRoot) throws -> SegmentUsageTable {
    try root.segmentUsage.withUnsafeBytes { try SegmentUsageTable(decoding: $0) }
  }

  /// The checkpoint's place is one in this log.
  private static func check(
    _ root: CheckpointRoot, _ chain: SegmentChain, _ superblock: Superblock, _ name: String
  ) throws(IndexUnusable) {
    var misplaced = IndexUnusable(FormatError(.misplaced, in: "checkpoint root", at: 16), name)
    guard let link = chain.links.first(where: { $0.segment.number == root.end.segment }),
      link.segment.header.generation == 0
    else {
      misplaced.isOutdated = true
      throw misplaced
    }
    guard root.end.offset <= link.end ?? min(link.size, UInt64(link.segment.capacity)),
      root.end <= superblock.durableEnd, root.sequence <= superblock.durableSequence
    else { throw misplaced }
  }

  /// The catalog as it was then: the tree is verified, and its records are read in the log.
  private static func readCatalog(
    _ root: CheckpointRoot, _ mapping: FileMapping, _ chain: SegmentChain,
    _ verification: inout NodeVerification
  ) throws -> Catalog {
    guard let first = root.keyspaces.first else {
      throw FormatError(.illegalField, in: "checkpoint root", at: 48)
    }
    let image = TreeImage(first.ordered)
    try verification.verify(ordered: image, lastSegment: root.end.segment)
    let segments = SegmentTable()
    for link in chain.links { segments.add(link.segment, endingAt: link.end) }
    let view = Root.allocate(keyspaceCount: 1, indexCount: 0)
    defer { Root.free(view) }
    view.pointee.keyspaces[0].ordered = OrderedTree(image, in: mapping.base)
    view.pointee.segments = segments.entries
    view.pointee.end = root.end
    var records: [CatalogRecord.Entry] = []
    let reader = RecordReader(root: view, verifiesChecksum: true)
    var cursor = OrderedCursor(view.pointee.keyspaces[0].ordered)
    while cursor.next() {
      try segments.check(RecordAddress(rawValue: cursor.payload))
      let record = try reader.record(at: cursor.payload, keyspace: 0, key: cursor.key)
      records.append(CatalogRecord.Entry(key: Array(record.key), value: Array(record.value)))
    }
    let catalog = try Catalog(records)
    guard catalog.keyspaces.count == root.keyspaces.count, catalog.indexes.count == root.indexes.count else {
      throw FormatError(.illegalField, in: "checkpoint root", at: 48)
    }
    return catalog
  }

  private static func verify(
    _ root: CheckpointRoot, _ catalog: Catalog, _ verification: inout NodeVerification
  ) throws(FormatError) {
    for (keyspace, trees) in zip(catalog.keyspaces, root.keyspaces) {
      guard (keyspace.kind == .dense ? trees.ordered : trees.dense) == .init() else {
        throw FormatError(.illegalField, in: "checkpoint root", at: CheckpointRoot.headLength)
      }
      if keyspace.kind == .dense {
        try verification.verify(dense: TreeImage(trees.dense), lastSegment: root.end.segment)
      }
      // The catalog's own tree was verified before it was read.
      if keyspace.kind == .bytes, keyspace.id > 0 {
        try verification.verify(ordered: TreeImage(trees.ordered), lastSegment: root.end.segment)
      }
    }
    for index in root.indexes { try verification.verify(ordered: TreeImage(index.tree), lastSegment: nil) }
  }
}
