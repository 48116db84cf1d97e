import PerdureFileIO
import PerdureFormat

/// The committer's state, in its turn.
struct CommitterState: ~Copyable {
  let storeID: StoreID
  let arena: NodeArena
  let segments: SegmentTable
  /// The published root.
  var root: UnsafeMutablePointer<Root>
  var catalog: Catalog
  var indexes: IndexSet
  /// The dictionaries for unpacking values: those of `catalog`.
  let dictionaries = DictionaryTable()
  /// Indexes whose trees do not match their definitions: a value could not be read at opening, or
  /// the index was not maintained at some time since. They stay unavailable until they are built.
  var incompleteIndexes: Set<UInt32> = []
  /// For indexes that lack a value, the reason at opening.
  var indexDamage: [UInt32: StoreError] = [:]
  /// The position of the next frame. `root.end` is the same position.
  var end: LogPosition
  /// The capacity of the segment at `end`; 0 makes the next frame begin a new one.
  var segmentCapacity: Int
  /// The capacity of segments to be born, as the store was created with, in bytes.
  let birthCapacity: Int
  /// Whether the segment at `end` binds its records (`RecordCheck`).
  var bindsRecords: Bool
  /// Whether new segments bind their records. The superblock has the feature flag already.
  let bindsNewRecords: Bool
  /// The number of the next segment to be born: above every number seen.
  var nextSegment: UInt64
  var nextBlob: UInt64
  /// Segments that hold nothing but parts of commits that were taken back, and still have their
  /// names.
  var voidSegments: [UInt64] = []
  /// The locks that keep other writers from the segments that this one writes.
  var segmentLocks = SegmentLocks()
  let superblock: SuperblockFile?
  var isClosed = false
  /// Lays commits out, one after another.
  var encoder: LogEncoder
  /// Roots that readers may still use, oldest first.
  private var retiredRoots: [UnsafeMutablePointer<Root>] = []
  /// The number of retired roots that were not checked yet.
  private var unsortedRootCount = 0
  /// Memory of unreachable roots, to reuse for new ones. All have capacity for the same number of
  /// keyspaces and indexes.
  private var spareRoots = PointerStack()
  /// What compaction has replaced, and the versions of roots that may read it.
  private var outdatedSegments: [(outdated: SegmentTable.Outdated, versions: ClosedRange<UInt64>)] = []
  /// The part of it that no root reads any more.
  private var releasedSegments: [SegmentTable.Outdated] = []
  /// The versions that a running compaction must keep complete, ascending. The control allows one
  /// compaction at a time, and none while the store is closed.
  var compactedVersions: [UInt64] = []
  /// The first version that reads a segment's file as it is now, of those born or rewritten since
  /// opening.
  private var readableSince: [UInt64: UInt64] = [:]
  /// The first version that reads the segment table as it is now.
  private var tableSince: UInt64 = 0
  /// Blob files whose records were removed.
  var retiredBlobs = RetiredBlobs()
  var statistics = WriteCounters()
  /// The live bytes of each segment.
  var usage = SegmentUsageTable()
  /// What the commit that is being made will change about `usage`; empty between commits.
  var usageChange = UsageChange()
  /// The blob files that live records name.
  var liveBlobs: Set<UInt64> = []
  /// Unique indexes with a duplicate key at the last check.
  var duplicatedIndexes: Set<UInt32> = []
  /// Bytes of the log behind the newest checkpoint.
  var tailBytes: UInt64 = 0
  /// From this length of the tail on, the checkpointer is notified.
  var nextTailLook: UInt64 = .max
  /// From this offset in the last segment on, more space may have to be reserved.
  var nextReserveLook: UInt64 = .max
  /// From this offset in the last segment on, it is synced in the background.
  var nextSyncAhead: UInt64 = .max
  /// Up to this offset in the last segment, its file was extended before the log reached there.
  var roomEnd: UInt64 = 0
  /// Bytes that the newest checkpoint reaches.
  var indexFileByteCount = 0

  init(
    storeID: StoreID, arena: NodeArena, segments: SegmentTable, root: UnsafeMutablePointer<Root>,
    catalog: Catalog, indexes: IndexSet, end: LogPosition, segmentCapacity: Int, nextSegment: UInt64,
    nextBlob: UInt64, superblock: SuperblockFile?, bindsNewRecords: Bool
  ) {
    self.storeID = storeID
    self.arena = arena
    self.segments = segments
    self.root = root
    self.catalog = catalog
    self.indexes = indexes
    self.end = end
    self.segmentCapacity = segmentCapacity
    self.nextSegment = nextSegment
    self.nextBlob = nextBlob
    self.superblock = superblock
    bindsRecords = segments.segments[end.segment]?.header.bindsRecords ?? false
    self.bindsNewRecords = bindsNewRecords
    dictionaries.adopt(catalog)
    birthCapacity = Int(superblock?.current.segmentCapacity ?? 0)
    encoder = LogEncoder(
      store: storeID, birthCapacity: birthCapacity, birthBindsRecords: bindsNewRecords)
  }

  /// A root like the published one, to be changed and published.
  ///
  /// - Parameter catalog: Capacity is allocated for its entries; nil: for those of the published
  ///   root.
  mutating func makeWorkingRoot(for catalog: Catalog? = nil) -> UnsafeMutablePointer<Root> {
    guard let catalog else { return copyRoot() }
    let next = Root.allocate(keyspaceCount: catalog.keyspaces.count, indexCount: catalog.indexes.count)
    copyRoot(to: next)
    next.pointee.mark(catalog, keyspacesFrom: root.pointee.keyspaceCount)
    return next
  }

  /// Replaces the extractors. Indexes that they cannot maintain are incomplete from now on, even if
  /// later extractors could maintain them.
  mutating func adopt(_ indexes: IndexSet) {
    self.indexes = indexes
    incompleteIndexes.formUnion(indexes.unavailable)
  }

  private mutating func copyRoot() -> UnsafeMutablePointer<Root> {
    let (keyspaceCount, indexCount) = (root.pointee.keyspaceCount, root.pointee.indexCount)
    let next =
      spareRoots.count > 0
      ? spareRoots.pop().assumingMemoryBound(to: Root.self)
      : Root.allocate(keyspaceCount: keyspaceCount, indexCount: indexCount)
    copyRoot(to: next)
    return next
  }

  private func copyRoot(to next: UnsafeMutablePointer<Root>) {
    next.pointee.keyspaces.update(from: root.pointee.keyspaces, count: root.pointee.keyspaceCount)
    if root.pointee.indexCount > 0 {
      next.pointee.indexes.update(from: root.pointee.indexes, count: root.pointee.indexCount)
      next.pointee.indexMarks.update(from: root.pointee.indexMarks, count: root.pointee.indexCount)
    }
    next.pointee.sequence = root.pointee.sequence
    next.pointee.end = root.pointee.end
    next.pointee.segments = segments.entries
    next.pointee.replacedNanoseconds = 0
  }

  /// Frees the memory of an unreachable root, or keeps it for a new one.
  mutating func free(_ old: UnsafeMutablePointer<Root>) {
    let isLikePublished =
      old.pointee.keyspaceCount == root.pointee.keyspaceCount
      && old.pointee.indexCount == root.pointee.indexCount
    if isLikePublished, spareRoots.count < Self.spareRootsMax {
      spareRoots.push(old)
    } else {
      Root.free(old)
    }
  }

  /// The number of roots that are freed at once if no snapshot holds any.
  private static var spareRootsMax: Int { 64 }

  /// Makes `next` the root; the previous one stays until no reader can hold it.
  mutating func replaceRoot(_ next: UnsafeMutablePointer<Root>) {
    next.pointee.version = arena.publish()
    root.pointee.replacedNanoseconds = Clock.coarseNanoseconds()
    retiredRoots.append(root)
    unsortedRootCount += 1
    let hasAsMany =
      next.pointee.keyspaceCount == root.pointee.keyspaceCount
      && next.pointee.indexCount == root.pointee.indexCount
    root = next
    if !hasAsMany { freeSpareRoots() }
  }

  /// Frees everything retired that no held version reaches.
  ///
  /// - Complexity: beyond what `NodeArena.reclaim` and the pins cost, O(n) for n roots and replaced
  ///   files that are held; `shouldReclaim` sees to it that many commits share it.
  mutating func reclaim(_ pinned: PinnedVersions) {
    arena.reclaim(pinned)
    unsortedRootCount = 0
    var kept = 0
    for index in retiredRoots.indices {
      let old = retiredRoots[index]
      let version = old.pointee.version
      if pinned.mayHold(version...version) {
        retiredRoots[kept] = old
        kept += 1
      } else {
        free(old)
      }
    }
    retiredRoots.removeLast(retiredRoots.count - kept)
    releasedSegments += takeUnreadSegments(pinned)
  }

  /// Takes the segments that no root reads any more. The caller releases them after the turn.
  mutating func takeReleasedSegments() -> [SegmentTable.Outdated] {
    guard !releasedSegments.isEmpty else { return [] }
    defer { releasedSegments = [] }
    return releasedSegments
  }

  /// The roots that readers hold or are about to hold, and the published one, oldest first.
  func roots(heldBy pins: PinnedVersions) -> [UnsafeMutablePointer<Root>] {
    var held: [UnsafeMutablePointer<Root>] = []
    let tail = pins.unsettledFrom.map { firstRetiredRoot(from: $0) } ?? retiredRoots.count
    for version in pins.exact {
      let index = firstRetiredRoot(from: version)
      guard index < tail, retiredRoots[index].pointee.version == version else { continue }
      if held.last != retiredRoots[index] { held.append(retiredRoots[index]) }
    }
    return held + retiredRoots[tail...] + [root]
  }

  /// The snapshots that are furthest behind, oldest first.
  func oldestSnapshots(_ pins: PinnedVersions, max count: Int) -> [HeldSnapshot] {
    let now = Clock.nowNanoseconds()
    return pins.snapshots.prefix(count).map { version in
      let index = firstRetiredRoot(from: version)
      let held = index < retiredRoots.count ? retiredRoots[index] : root
      let replaced = held.pointee.replacedNanoseconds
      return HeldSnapshot(
        sequence: held.pointee.sequence, commitsBehind: root.pointee.sequence - held.pointee.sequence,
        secondsBehind: replaced == 0 ? 0 : Double(now - min(now, replaced)) / 1e9)
    }
  }

  private func firstRetiredRoot(from version: UInt64) -> Int {
    var (low, high) = (0, retiredRoots.count)
    while low < high {
      let middle = (low + high) / 2
      if retiredRoots[middle].pointee.version < version { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Adds a newly created segment.
  mutating func add(_ segment: Segment) {
    segments.add(segment)
    readableSince[segment.number] = root.pointee.version + 1
  }

  /// Releases a segment that no root was published with.
  mutating func forgetSegment(_ number: UInt64) {
    segments.remove(number)
    readableSince[number] = nil
  }

  /// Shows a rewritten segment to all roots to come; the next root is yet to be published.
  mutating func replaceSegment(with segment: Segment, _ footer: RewrittenFooter, dropping void: [UInt64]) {
    let last = root.pointee.version
    for number in void + [segment.number] {
      segmentLocks.release(number)
      guard let old = segments.segments[number] else { continue }
      outdatedSegments.append((.segment(old), (readableSince[number] ?? 0)...last))
    }
    outdatedSegments.append((.table(segments.replace(with: segment, dropping: void)), tableSince...last))
    tableSince = last + 1
    for number in void {
      readableSince[number] = nil
      usage[number] = SegmentUsage()
    }
    readableSince[segment.number] = last + 1
    usage[segment.number].adopt(footer)
  }

  /// Replaced segments that no reader uses, even if older snapshots are held. They are released
  /// outside the turn: the system needs time to free a large file's space.
  mutating func takeUnreadSegments(_ pins: PinnedVersions) -> [SegmentTable.Outdated] {
    let unread = outdatedSegments.filter { !pins.mayHold($0.versions) }
    if !unread.isEmpty { outdatedSegments.removeAll { !pins.mayHold($0.versions) } }
    return unread.map(\.outdated)
  }

  /// Bytes of segment files that have lost their names and are read by old snapshots.
  var outdatedSegmentBytes: Int { outdatedSegments.reduce(0) { $0 + $1.outdated.fileBytes } }

  /// Notes blob files that the published root is the first to name, or not to name.
  mutating func note(_ blobs: BlobChanges) {
    liveBlobs.formUnion(blobs.named)
    liveBlobs.subtract(blobs.superseded)
    let (version, sequence) = (root.pointee.version, root.pointee.sequence)
    for number in blobs.named { retiredBlobs.noteBirth(of: number, version: version, sequence: sequence) }
    retire(blobs: blobs.superseded)
  }

  /// Notes blob files that the published root does not name or, during an opening, that the first
  /// root will not name.
  mutating func retire(blobs numbers: [UInt64]) {
    let (version, sequence, end) = (root.pointee.version, root.pointee.sequence, root.pointee.end)
    for number in numbers {
      retiredBlobs.retire(number, version: version, sequence: sequence, end: end)
    }
  }

  /// Whether a state that may be held names a blob file.
  var mayReadBlobs: Bool { !liveBlobs.isEmpty || !retiredBlobs.isEmpty }

  /// Brings what the commit has changed into the counts. SU3
  mutating func applyUsageChange() { usageChange.apply(to: &usage) }

  /// Whether enough has been retired to make reading the pins worthwhile.
  var shouldReclaim: Bool { arena.unsortedByteCount > 256 << 10 || unsortedRootCount >= 64 }

  /// Whether there are replaced files that a reader may use.
  var mayHoldBackSegments: Bool { !outdatedSegments.isEmpty }

  mutating func freeRoots() {
    for old in retiredRoots { Root.free(old) }
    retiredRoots = []
    freeSpareRoots()
    Root.free(root)
  }

  private mutating func freeSpareRoots() {
    while spareRoots.count > 0 { Root.free(spareRoots.pop().assumingMemoryBound(to: Root.self)) }
  }
}

/// The blob files that a commit's records name, and those of the records that it replaces or
/// removes.
struct BlobChanges {
  var named: [UInt64] = []
  var superseded: [UInt64] = []
}

/// Counted by the committer since the store was opened.
struct WriteCounters {
  var commits = 0
  var records = 0
  var logBytes: UInt64 = 0
  /// Bytes of the records that callers wrote, with keys and headers, without frames.
  var recordBytes: UInt64 = 0
}
