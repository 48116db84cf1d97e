import PerdureFileIO
import PerdureFormat

/// What a checkpoint is made of: taken in a turn, true as long as the root is pinned.
struct CheckpointSource {
  let root: UnsafeMutablePointer<Root>
  let catalog: Catalog
  /// Indexes whose trees are not what their definitions say.
  let untrusted: Set<UInt32>
  /// Unique indexes that hold a key twice, or did when that was last looked at.
  let duplicated: Set<UInt32>
  /// The blob files that live records name.
  let blobs: Set<UInt64>
  let nextBlob: UInt64
  /// What no root from this one on reaches.
  let freed: [FreedSlot]
  /// The nodes of the version that the writer has the sum of which this root does not reach; nil: not known.
  let left: [NodeSlot]?
  let segmentUsage: [UInt8]
  /// Bytes of the log behind the checkpoint before.
  let tailBytes: UInt64
}

/// Writes checkpoints into the index file. Belongs to whoever writes one; the checkpointer sees to that.
///
/// The order (FORMAT.md, K-rules): the log is durable up to the checkpoint's place before it begins here;
/// nodes and root block are written and synced; then the caller names the root block in a superblock,
/// and says so (`didName`).
///
/// `nodeSum` is over all nodes that a checkpoint reaches, and follows from the one before
/// (CheckpointWriter+Sum).
struct CheckpointWriter: ~Copyable {
  private let directory: String
  private let fileSystem: any FileSystem
  private let store: StoreID
  private var file: IndexFile?
  private var nextFileNumber: UInt64
  /// Of the newest checkpoint; 0: there is none in this file.
  private var number: UInt64
  /// The checkpoint that the newest but one superblock names, or an older one: see A2.
  private var confirmedNumber: UInt64
  private var root: SlotAllocator.Run?
  /// Root blocks that are to be made unreadable before their units are used again.
  private var formerRoots: [(notReachedFrom: UInt64, slot: UInt32)] = []
  private var written: (reference: CheckpointReference, root: SlotAllocator.Run)?
  /// The version of which `file` has the sum; nil: not known.
  var summedVersion: UInt64?
  /// Why the file can be written no more.
  private(set) var failure: (any Error)?
  /// Asked before each node: true stops writing.
  var isCancelled: () -> Bool = { false }

  init(
    directory: String, fileSystem: any FileSystem, store: StoreID, opened: OpenedCheckpoint?,
    nextFileNumber: UInt64
  ) {
    self.directory = directory
    self.fileSystem = fileSystem
    self.store = store
    self.nextFileNumber = nextFileNumber
    number = opened?.root.number ?? 0
    confirmedNumber = number
    // Without a checkpoint no node has a place yet.
    summedVersion = opened == nil ? 0 : nil
    guard let opened else { return }
    file = IndexFile(
      opened.file, number: opened.reference.indexFile,
      slots: SlotAllocator(opened.reached, notReachedFrom: opened.root.number),
      checksums: opened.checksums)
    root = opened.rootRun
    formerRoots = opened.formerRootSlots.map { (number, $0) }
  }

  /// Bytes written to index files since the store was opened.
  var writtenByteCount: UInt64 { file?.writtenByteCount ?? 0 }

  /// Bytes of the index file that hold something that is needed.
  var byteCountInUse: Int { file?.byteCountInUse ?? 0 }

  /// Writes what is not in the file yet, and makes it durable.
  mutating func write(_ source: CheckpointSource) throws -> CheckpointReference {
    if let failure { throw failure }
    do {
      return try writeUnguarded(source)
    } catch {
      // For lack of room it may be tried again. After a failed sync nobody knows what the file holds.
      let isPassing = (error as? FileIOError)?.code.isLackOfRoom ?? false
      let isSync = (error as? FileIOError)?.isSync ?? false
      if !(error is IndexFile.Cancelled), isSync || !isPassing { failure = error }
      throw error
    }
  }

  private mutating func writeUnguarded(_ source: CheckpointSource) throws -> CheckpointReference {
    let next = number + 1
    for slot in source.freed { file?.slots.free(SlotAllocator.Run(slot), notReachedFrom: next) }
    let file = try openFile()
    file.isCancelled = isCancelled
    takeAway(source, from: file)
    try reuse(in: file)
    let block = try writeTrees(of: source, number: next, to: file)
    let bytes = Self.encode(block)
    let slot = try file.allocate(unitCount: NodeSlot.unitCount(block.length))
    do {
      try bytes.withUnsafeBytes { try file.writeBlock($0, at: slot) }
      try file.sync(in: directory, fileSystem)
    } catch {
      file.free(slot, unitCount: NodeSlot.unitCount(block.length))
      throw error
    }
    let checksum = bytes.withUnsafeBytes { Checksum.crc32c($0.part(0, block.length)) }
    let reference = CheckpointReference(
      indexFile: file.number, rootSlot: slot.number, rootLength: UInt32(block.length), rootChecksum: checksum)
    written = (reference, SlotAllocator.Run(slot: slot.number, unitCount: NodeSlot.unitCount(block.length)))
    return reference
  }

  /// Whether only the newest superblock names the newest checkpoint, and units wait for another one.
  var isUnconfirmed: Bool {
    failure == nil && confirmedNumber < number && (file?.slots.waitingUnitCount ?? 0) > 0
  }

  /// Both of the newest superblocks name the newest checkpoint.
  mutating func didConfirm() { confirmedNumber = number }

  /// The newest superblock names what was written last.
  mutating func didName() {
    guard let written else { return }
    confirmedNumber = number
    number += 1
    if let root {
      file?.slots.free(root, notReachedFrom: number)
      formerRoots.append((number, root.slot))
    }
    root = written.root
    self.written = nil
  }

  private mutating func openFile() throws(FileIOError) -> IndexFile {
    if let file { return file }
    let created = try IndexFile.create(nextFileNumber, in: directory, store: store, fileSystem)
    nextFileNumber += 1
    file = created
    return created
  }

  /// Makes free what the two newest superblocks do not reach, and no reader in another opening. A2, X4
  private mutating func reuse(in file: IndexFile) throws(FileIOError) {
    let readers = ReaderTable(directory: directory, fileSystem: fileSystem).needs()
    let limit = min(confirmedNumber, readers.checkpointLimit(inIndexFile: file.number))
    for former in formerRoots where former.notReachedFrom <= limit {
      try file.invalidate(rootAt: former.slot)
    }
    formerRoots.removeAll { $0.notReachedFrom <= limit }
    file.slots.release(upTo: limit)
  }

  private mutating func writeTrees(
    of source: CheckpointSource, number: UInt64, to file: IndexFile
  ) throws -> CheckpointRoot {
    var writer = NodeWriter(to: file)
    let root = source.root.pointee
    let keyspaces = try source.catalog.keyspaces.map { keyspace in
      let trees = root.trees(of: keyspace)
      return switch keyspace.kind {
      case .dense: CheckpointRoot.Keyspace(dense: try writer.write(trees.dense).formatted, ordered: .init())
      case .bytes: CheckpointRoot.Keyspace(dense: .init(), ordered: try writer.write(trees.ordered).formatted)
      }
    }
    let indexes = try source.catalog.indexes.map { entry in
      let isComplete = !source.untrusted.contains(entry.index.id)
      return CheckpointRoot.Index(
        tree: isComplete ? try writer.write(root.tree(of: entry.index)).formatted : .init(),
        isComplete: isComplete, hasDuplicates: source.duplicated.contains(entry.index.id))
    }
    let sum = sum(of: source, in: file)
    return CheckpointRoot(
      number: number, end: root.end, sequence: root.sequence, nextBlob: source.nextBlob,
      nodeSum: sum.value, keyspaces: keyspaces, indexes: indexes,
      blobs: source.blobs.sorted(), segmentUsage: source.segmentUsage)
  }

  /// The block in whole units.
  private static func encode(_ block: CheckpointRoot) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: NodeSlot.unitCount(block.length) * NodeSlot.unitByteCount)
    bytes.withUnsafeMutableBytes { block.write(to: $0) }
    return bytes
  }
}

extension TreeImage {
  /// As the root block says it.
  var formatted: CheckpointRoot.Tree {
    CheckpointRoot.Tree(slot: slot.number, height: UInt32(height), count: UInt64(count))
  }

  init(_ tree: CheckpointRoot.Tree) {
    // What does not fit is no tree, and is refused when it is verified.
    self.init(
      slot: NodeSlot(number: tree.slot), height: Int(tree.height), count: Int(exactly: tree.count) ?? -1)
  }
}
