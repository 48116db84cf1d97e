import PerdureFileIO
import PerdureFormat

/// The input of a checkpoint. It is created in a turn, and is valid as long as the root is pinned.
struct CheckpointSource {
  let root: UnsafeMutablePointer<Root>
  let catalog: Catalog
  /// The indexes whose trees do not match their definitions.
  let untrusted: Set<UInt32>
  /// The unique indexes with a duplicate key at the last check.
  let duplicated: Set<UInt32>
  /// The blob files that live records reference.
  let blobs: Set<UInt64>
  let nextBlob: UInt64
  /// The units that neither this root nor a later root reaches.
  let freed: [FreedSlot]
  let segmentUsage: [UInt8]
  /// The number of bytes of the log after the previous checkpoint.
  let tailBytes: UInt64
}

/// Writes checkpoints into the index file. The checkpointer ensures that only one thread at a time
/// uses it.
///
/// The order (FORMAT.md, K-rules): the caller makes the log durable up to the checkpoint's
/// position. This writer writes and syncs the nodes and the root block. Then the caller writes a
/// superblock that references the root block, and calls `didReference`.
///
/// After a failed sync the content of the file is unknown, so the file is never written again (S7).
/// The next checkpoint begins a new file and copies all nodes to it, including the nodes of the
/// mapped file.
struct CheckpointWriter: ~Copyable {
  private let directory: any Directory
  private let store: StoreID
  /// The checkpoint with which the store was opened; nil if there is none. The free units of its
  /// file are determined only when the first checkpoint is written.
  private var opened: OpenedCheckpoint?
  private var file: IndexFile?
  private var nextFileNumber: UInt64
  private let readers: ReaderTable
  /// Whether the next checkpoint begins a new file.
  private(set) var beginsAnew: Bool
  /// The nodes of the file with which the store was opened, and their slots in the file that is
  /// being written. Nil while both are the same file.
  private var relocation: NodeRelocation?
  private var writtenBefore: UInt64 = 0
  /// The number of the newest checkpoint; 0 if there is none.
  private var number: UInt64
  /// The number of a checkpoint. The second newest superblock references this checkpoint or a later
  /// one. SA2
  private var confirmedNumber: UInt64
  private var root: SlotAllocator.Run?
  /// Root blocks to overwrite before their units are used again.
  private var formerRoots: [(reached: Range<UInt64>, slot: UInt32)] = []
  private var written: (reference: CheckpointReference, root: SlotAllocator.Run, version: UInt64)?
  /// The numbers and versions of the checkpoints that superblocks have referenced since the
  /// opening, in order.
  private var referenced: [(number: UInt64, version: UInt64)] = []
  /// Called before each allocation of units. If it returns true, writing is cancelled.
  var isCancelled: () -> Bool = { false }

  init(
    directory: any Directory, store: StoreID, opened: OpenedCheckpoint?,
    nextFileNumber: UInt64, readers: ReaderTable
  ) {
    self.readers = readers
    self.directory = directory
    self.store = store
    self.nextFileNumber = nextFileNumber
    number = opened?.root.number ?? 0
    confirmedNumber = number
    self.opened = opened
    beginsAnew = opened?.isShared ?? false
    root = opened?.rootRun
  }

  /// The number of bytes written to index files since the store was opened.
  var writtenByteCount: UInt64 { writtenBefore + (file?.writtenByteCount ?? 0) }

  /// The number of bytes of the index file that are in use.
  var byteCountInUse: Int { file?.byteCountInUse ?? opened?.byteCountInUse ?? 0 }

  /// Writes the nodes that are not in the file yet and a root block, and makes them durable.
  ///
  /// - Parameter source: The nodes to write. If `beginsAnew`, the source must be made after
  ///   `NodeArena.forgetSlots`.
  mutating func write(_ source: CheckpointSource) throws -> CheckpointReference {
    if beginsAnew { beginAnew(source) }
    do {
      return try writeUnguarded(source)
    } catch {
      // After a cancellation, or a lack of space, memory or descriptors, the next attempt writes
      // the same file. After any other error, such as a failed sync, the file may be wrong, and the
      // next attempt begins a new file.
      let code = (error as? FileIOError)?.code
      let isPassing = code?.isLackOfSpace ?? false || code?.isShortage ?? false
      let isSync = (error as? FileIOError)?.operation.isSync ?? false
      if !(error is IndexFile.Cancelled), isSync || !isPassing { beginsAnew = true }
      throw error
    }
  }

  /// Stops writing the current file. The file is kept if a superblock may reference a checkpoint in
  /// it.
  private mutating func beginAnew(_ source: CheckpointSource) {
    beginsAnew = false
    if let file {
      writtenBefore += file.writtenByteCount
      // If `root` is nil, no superblock references the file. If the file cannot be removed now, the
      // next opening removes it.
      if root == nil { try? file.remove(from: directory) }
    }
    file = nil
    root = nil
    written = nil
    referenced = []
    formerRoots = []
    confirmedNumber = number
    relocation = opened.map { NodeRelocation(unitCount: $0.mapping.length / NodeSlot.unitByteCount + 1) }
    for keyspace in source.catalog.keyspaces {
      NodeSlots.forget(source.root.trees(of: keyspace).dense)
      NodeSlots.forget(source.root.trees(of: keyspace).ordered)
    }
    for entry in source.catalog.indexes { NodeSlots.forget(source.root.tree(of: entry.index)) }
  }

  private mutating func writeUnguarded(_ source: CheckpointSource) throws -> CheckpointReference {
    let next = number + 1
    let file = try openFile()
    // No superblock references the checkpoint of this root block.
    if let written { file.slots.free(written.root, notReachedFrom: 0) }
    written = nil
    for slot in source.freed {
      guard let run = run(slot) else { continue }
      file.slots.free(
        run, reachedFrom: firstToReach(slot.stamp), notReachedFrom: next)
    }
    file.isCancelled = isCancelled
    try reuse(in: file)
    let block: CheckpointRoot
    do { block = try writeTrees(of: source, number: next, to: file) } catch {
      try checkNodes()
      throw error
    }
    try checkNodes()
    let bytes = Self.encode(block)
    let slot = try file.allocate(unitCount: NodeSlot.unitCount(block.length))
    do {
      try bytes.withUnsafeBytes { try file.write($0, at: slot) }
      try file.sync(in: directory)
    } catch {
      file.free(slot, unitCount: NodeSlot.unitCount(block.length))
      throw error
    }
    let checksum = bytes.withUnsafeBytes { Checksum.crc32c($0.part(0, block.length)) }
    let reference = CheckpointReference(
      indexFile: file.number, rootSlot: slot.number, rootLength: UInt32(block.length), rootChecksum: checksum)
    let run = SlotAllocator.Run(slot: slot.number, unitCount: NodeSlot.unitCount(block.length))
    written = (reference, run, source.root.pointee.version)
    return reference
  }

  /// The units of a freed node; nil if they are in a file that is no longer written.
  private func run(_ freed: FreedSlot) -> SlotAllocator.Run? {
    guard freed.stamp == 0, let relocation else { return SlotAllocator.Run(freed) }
    let slot = relocation[freed.slot]
    return slot == .none ? nil : SlotAllocator.Run(slot: slot.number, unitCount: freed.unitCount)
  }

  /// The first checkpoint that may reach a node with this stamp: the first checkpoint whose version
  /// is at least the stamp's version.
  private func firstToReach(_ stamp: UInt64) -> UInt64 {
    if stamp == 0 { return 0 }
    var (low, high) = (0, referenced.count)
    while low < high {
      let middle = (low + high) / 2
      if referenced[middle].version < stamp { low = middle + 1 } else { high = middle }
    }
    return low < referenced.count ? referenced[low].number : number + 1
  }

  /// Whether only one superblock, the newest, references the newest checkpoint. If true, units wait
  /// until a second superblock references this checkpoint.
  var isUnconfirmed: Bool {
    !beginsAnew && confirmedNumber < number && (file?.slots.waitingUnitCount ?? 0) > 0
  }

  /// Notes that the two newest superblocks reference the newest checkpoint.
  mutating func didConfirm() { confirmedNumber = number }

  /// Notes that the newest superblock references the checkpoint that was written last.
  mutating func didReference() {
    guard let written else { return }
    confirmedNumber = number
    number += 1
    if let root {
      file?.slots.free(root, reachedFrom: number - 1, notReachedFrom: number)
      formerRoots.append((number - 1..<number, root.slot))
    }
    root = written.root
    referenced.append((number, written.version))
    self.written = nil
  }

  private mutating func openFile() throws -> IndexFile {
    if let file { return file }
    if let opened, relocation == nil { return try takeOver(opened) }
    // A number is used only once, because `create` can fail after the directory entry exists.
    nextFileNumber += 1
    let created = try IndexFile.create(nextFileNumber - 1, in: directory, store: store)
    file = created
    return created
  }

  /// Determines the free units of the file with which the store was opened.
  private mutating func takeOver(_ opened: OpenedCheckpoint) throws -> IndexFile {
    let extent: OpenedCheckpoint.Extent
    do { extent = try opened.extent() } catch {
      opened.nodes.noteDamage(error)
      throw error
    }
    let file = IndexFile(
      opened.file, number: opened.reference.indexFile,
      slots: SlotAllocator(extent.reached, notReachedFrom: number))
    formerRoots += extent.formerRootSlots.map { (0..<number, $0) }
    self.file = file
    return file
  }

  /// Checks the nodes of the file with which the store was opened, because the trees may contain
  /// them. FN3
  private func checkNodes() throws(FormatError) { try opened?.nodes.check() }

  /// Overwrites former root blocks and frees waiting units. Skips those that the two newest
  /// superblocks or readers in other openings may reach. SA2, RT4
  private mutating func reuse(in file: IndexFile) throws(FileIOError) {
    let needs = readers.needs()
    let (confirmed, fileNumber) = (confirmedNumber, file.number)
    let isRead = { needs.mayReach($0, inIndexFile: fileNumber) }
    for former in formerRoots where former.reached.upperBound <= confirmed && !isRead(former.reached) {
      try file.invalidate(rootAt: former.slot)
    }
    formerRoots.removeAll { $0.reached.upperBound <= confirmed && !isRead($0.reached) }
    file.slots.release(upTo: confirmed, unless: isRead)
  }

  private func writeTrees(
    of source: CheckpointSource, number: UInt64, to file: IndexFile
  ) throws -> CheckpointRoot {
    var writer = NodeWriter(to: file, relocation)
    let root = source.root
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
    return CheckpointRoot(
      number: number, end: root.pointee.end, sequence: root.pointee.sequence, nextBlob: source.nextBlob,
      unitsInUse: UInt64(file.slots.unitsInUse), keyspaces: keyspaces, indexes: indexes,
      blobs: source.blobs.sorted(), segmentUsage: source.segmentUsage)
  }

  /// Encodes a root block, padded with zeros to whole units.
  private static func encode(_ block: CheckpointRoot) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: NodeSlot.unitCount(block.length) * NodeSlot.unitByteCount)
    bytes.withUnsafeMutableBytes { block.write(to: $0) }
    return bytes
  }
}

extension TreeImage {
  /// The tree in the form of the root block.
  var formatted: CheckpointRoot.Tree {
    CheckpointRoot.Tree(slot: slot.number, height: UInt32(height), count: UInt64(count), tag: tag)
  }

  init(_ tree: CheckpointRoot.Tree) {
    self.init(
      slot: NodeSlot(number: tree.slot), height: Int(tree.height), count: Int(tree.count), tag: tree.tag)
  }
}
