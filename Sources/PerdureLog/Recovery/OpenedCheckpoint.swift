import PerdureFileIO
import PerdureFormat

/// The index on disk cannot be used. Everything can still be rebuilt from the log.
struct IndexUnusable: Error {
  /// The error in the index, and its location.
  let reason: String
  let place: String
  /// Whether the index is intact, but cannot be used for one of three reasons. It has another
  /// format version, its checkpoint ends in a segment that was rewritten later, or the checkpoint
  /// is void (FORMAT.md, T4).
  var isOutdated = false

  init(_ reason: String, at place: String) {
    self.reason = reason
    self.place = place
  }

  init(_ error: FormatError, _ file: String) {
    self.init("\(error.structure): \(error.reason.rawValue)", at: "\(file), byte \(error.offset)")
    isOutdated = error.reason == .unsupported
  }
}

/// A checkpoint whose trees can be used in place. The root block and the roots were read. The nodes
/// below the roots are checked at their first use. FORMAT.md, "Checkpoints".
struct OpenedCheckpoint {
  let reference: CheckpointReference
  let root: CheckpointRoot
  let file: any File
  /// Whether the file had a second name when it was opened for writing. SharedFiles, SF3
  let isShared: Bool
  /// The mapping of the index file, with the file's length at opening.
  let mapping: FileMapping
  let nodes: MappedNodes
  let catalog: Catalog
  let usage: SegmentUsageTable
  /// The trees of the keyspaces, by keyspace id.
  let keyspaces: [KeyspaceRoot]
  /// The trees of the derived indexes, by index id.
  let indexes: [OrderedTree]
  /// Slots of the root blocks in this file that older superblocks reference.
  private let formerRootSlots: [UInt32]

  var rootRun: SlotAllocator.Run { Self.run(reference) }

  private static func run(_ reference: CheckpointReference) -> SlotAllocator.Run {
    SlotAllocator.Run(
      slot: reference.rootSlot, unitCount: NodeSlot.unitCount(Int(reference.rootLength)))
  }
}

extension OpenedCheckpoint {
  /// - Parameter chain: All segments of the log.
  /// - Parameter copiesFile: Whether the file is read into memory instead of mapped, because
  ///   another process may change it.
  init(
    _ reference: CheckpointReference, in directory: any Directory, _ mode: FileMode,
    _ superblock: SuperblockFile, _ chain: SegmentChain, copiesFile: Bool = false,
    verifiesChecksums: Bool = true
  ) throws {
    let name = StoreFileName.index(reference.indexFile).string
    self.reference = reference
    do {
      let store = superblock.current.store
      file = try directory.open(name, mode)
      isShared = try mode != .read && file.isShared()
      // Units have 32-bit numbers. Bytes after the last such unit are ignored.
      let length = Int(min(try file.size(), NodeSlot.fileLengthMax))
      guard length > 0 else { throw FormatError(.incomplete, in: "index file header", at: 0) }
      mapping = try copiesFile ? Self.copy(of: file, length) : file.map(length)
      let bytes = UnsafeRawBufferPointer(start: mapping.base, count: length)
      try IndexFileHeader(reading: bytes).check(store: store, number: reference.indexFile)
      root = try Self.readRoot(reference, in: bytes)
      usage = try Self.readUsage(root)
      try Self.check(root, chain, superblock.current, name)
      nodes = try MappedNodes(
        bytes, lastSegment: root.end.segment, verifiesChecksums: verifiesChecksums)
      catalog = try Self.readCatalog(root, nodes, chain, store)
      keyspaces = try Self.keyspaces(of: root, catalog, nodes)
      indexes = try Self.indexes(of: root, nodes)
      formerRootSlots = superblock.former.compactMap(\.checkpoint).filter {
        $0 != reference && $0.indexFile == reference.indexFile
      }.map(\.rootSlot)
    } catch let error as FormatError {
      throw IndexUnusable(error, name)
    } catch let error as FileIOError {
      // With too many open files, the opening fails, because the index may be intact. After any
      // other error the index is rebuilt. This includes lack of memory, because damage may have
      // made the file too long.
      if error.code == .tooManyOpenFiles { throw error }
      throw IndexUnusable("\(error)", at: name)
    } catch let error as StoreError {
      // The error comes from records of the catalog. The later reading of the log determines
      // whether the store is damaged.
      throw IndexUnusable(error.message, at: error.place ?? name)
    }
  }

  private static func copy(of file: any File, _ length: Int) throws(FileIOError) -> FileMapping {
    // The copy has zeros in place of bytes that were never written. If the file has become shorter
    // meanwhile, the copy also has zeros after the file's end. The verification detects the second
    // case.
    let memory = try ReservedMemory(byteCount: length, for: "a copy of the index")
    let copy = UnsafeMutableRawBufferPointer(start: memory.base, count: length)
    // The memory is freed with the last owner of the mapping.
    let mapping = FileMapping(base: memory.base, length: length) { _ = memory }
    var offset = 0
    while offset < length, let data = try file.nextData(from: UInt64(offset)), data < UInt64(length) {
      let piece = UnsafeMutableRawBufferPointer(rebasing: copy[Int(data)...].prefix(1 << 20))
      offset = Int(data) + piece.count
      if try file.readToEnd(into: piece, at: data) < piece.count { break }
    }
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

  /// Checks that the position of the checkpoint is a position in this log.
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

  /// The catalog at the time of the checkpoint. Its records are read from the log.
  private static func readCatalog(
    _ root: CheckpointRoot, _ nodes: MappedNodes, _ chain: SegmentChain, _ store: StoreID
  ) throws -> Catalog {
    guard let first = root.keyspaces.first else {
      throw FormatError(.illegalField, in: "checkpoint root", at: 48)
    }
    let last = chain.links.map(\.segment.number).max() ?? 0
    let segments = try SegmentTable(reaching: last)
    for link in chain.links { segments.add(link.segment, endingAt: link.end) }
    let view = Root.allocate(keyspaceCount: 1, indexCount: 0)
    defer { Root.free(view) }
    view.pointee.keyspaces[0].ordered = try OrderedTree(TreeImage(first.ordered), in: nodes.records)
    view.pointee.segments = segments.entries
    view.pointee.end = root.end
    var records: [CatalogRecord.Entry] = []
    let reader = RecordReader(root: view, verifiesChecksum: true)
    var hold = GroupHold()
    defer { hold.release() }
    var cursor = OrderedCursor(view.pointee.keyspaces[0].ordered)
    while cursor.next() {
      try nodes.check()
      try segments.check(RecordAddress(rawValue: cursor.payload))
      let record = try reader.record(at: cursor.payload, keyspace: 0, key: cursor.key, &hold)
      records.append(CatalogRecord.Entry(key: Array(record.key), value: Array(record.value)))
    }
    try nodes.check()
    let catalog = try Catalog(records, of: store)
    guard catalog.keyspaces.count == root.keyspaces.count, catalog.indexes.count == root.indexes.count else {
      throw FormatError(.illegalField, in: "checkpoint root", at: 48)
    }
    return catalog
  }

  private static func indexes(
    of root: CheckpointRoot, _ nodes: MappedNodes
  ) throws(FormatError) -> [OrderedTree] {
    var indexes: [OrderedTree] = []
    for index in root.indexes {
      indexes.append(try OrderedTree(TreeImage(index.tree), in: nodes.entries))
    }
    return indexes
  }

  private static func keyspaces(
    of root: CheckpointRoot, _ catalog: Catalog, _ nodes: MappedNodes
  ) throws(FormatError) -> [KeyspaceRoot] {
    var keyspaces: [KeyspaceRoot] = []
    for (keyspace, trees) in zip(catalog.keyspaces, root.keyspaces) {
      guard (keyspace.kind == .dense ? trees.ordered : trees.dense) == .init() else {
        throw FormatError(.illegalField, in: "checkpoint root", at: CheckpointRoot.headLength)
      }
      keyspaces.append(
        KeyspaceRoot(
          dense: try DenseTable(TreeImage(trees.dense), in: nodes.records),
          ordered: try OrderedTree(TreeImage(trees.ordered), in: nodes.records)))
    }
    return keyspaces
  }
}

// MARK: - The whole checkpoint

extension OpenedCheckpoint {
  /// The units that a checkpoint uses in its file.
  struct Extent {
    /// The units of the trees and of the root block.
    let reached: SlotMap
    /// Slots of root blocks that older superblocks reference, in units that this checkpoint does
    /// not use.
    let formerRootSlots: [UInt32]
  }

  /// Reads all trees. Checks them, and the data in the root block about segments.
  ///
  /// - Complexity: O(n); about 10 ms for a million keys.
  func extent() throws(FormatError) -> Extent {
    var verification = NodeVerification(of: nodes.file, lastSegment: root.end.segment)
    try verification.claim(NodeSlot(number: rootRun.slot), unitCount: rootRun.unitCount)
    for trees in root.keyspaces {
      try verification.verify(dense: TreeImage(trees.dense), leadsToRecords: true)
      try verification.verify(ordered: TreeImage(trees.ordered), leadsToRecords: true)
    }
    for index in root.indexes {
      try verification.verify(ordered: TreeImage(index.tree), leadsToRecords: false)
    }
    try verification.check(usage)
    let reached = verification.reached
    return Extent(
      reached: reached,
      formerRootSlots: formerRootSlots.filter {
        Int($0) < reached.unitCount && !reached.isTaken(Int($0))
      })
  }
}

extension OpenedCheckpoint {
  /// The number of bytes of the file in use, according to the checkpoint.
  var byteCountInUse: Int {
    min(Int(clamping: root.unitsInUse), nodes.file.count / NodeSlot.unitByteCount) * NodeSlot.unitByteCount
  }

  /// - Throws: `IndexUnusable` if a node is damaged, or if the counts of live bytes are wrong.
  func checkAll() throws(IndexUnusable) {
    do { _ = try extent() } catch {
      throw IndexUnusable(error, StoreFileName.index(reference.indexFile).string)
    }
  }

  /// - Throws: `IndexUnusable` if a read has reached a damaged node.
  func checkNodes() throws(IndexUnusable) {
    do { try nodes.check() } catch {
      throw IndexUnusable(error, StoreFileName.index(reference.indexFile).string)
    }
  }
}

extension MappedNodes {
  /// - Throws: `FormatError` with the first error found, if a read has reached a damaged node.
  func check() throws(FormatError) {
    if isDamaged, let error = damage.error { throw error }
  }
}
