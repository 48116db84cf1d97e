import PerdureFileIO
import PerdureFormat

/// The committer's state. It is used only in the committer's turn.
struct CommitterState: ~Copyable {
  let storeID: StoreID
  let arena: NodeArena
  let segments: SegmentTable
  /// The published root.
  var root: UnsafeMutablePointer<Root>
  var catalog: Catalog
  var indexes: IndexSet
  /// The dictionaries of `catalog`, for unpacking values.
  let dictionaries = DictionaryTable()
  /// Indexes whose trees do not match their definitions: a value could not be read at opening, or
  /// the index was not maintained for some time. They stay unavailable until they are rebuilt.
  var incompleteIndexes: Set<UInt32> = []
  /// Unique indexes that a commit stopped maintaining because entries were missing. While such an
  /// index is incomplete, it cannot show whether a key exists.
  var lostUniqueIndexes: Set<UInt32> = []
  /// The errors that the opening found for indexes that lack the entries of a damaged value, by
  /// index id.
  var indexDamage: [UInt32: StoreError] = [:]
  /// The position of the next frame. Between commits, `root.end` is the same position.
  var end: LogPosition
  /// The capacity of the segment at `end`. If it is 0, the next frame begins a new segment.
  var segmentCapacity: Int
  /// The capacity of new segments, in bytes. It was set when the store was created.
  let birthCapacity: Int
  /// Whether the segment at `end` binds its records (`RecordCheck`).
  var bindsRecords: Bool
  /// Whether new segments bind their records. If so, the superblock already has the feature flag.
  let bindsNewRecords: Bool
  /// The number of the next new segment. It is greater than every number seen.
  var nextSegment: UInt64
  var nextBlob: UInt64
  /// Void segments whose files still have their names. They contain only parts of commits that were
  /// rolled back, or nothing.
  var voidSegments: [UInt64] = []
  /// The locks that keep other writers from the segments that this writer uses.
  var segmentLocks = SegmentLocks()
  let superblock: SuperblockFile?
  var isClosed = false
  /// Encodes commits, one after another.
  var encoder: LogEncoder
  /// Roots that readers may still use, oldest first.
  private var retiredRoots: [UnsafeMutablePointer<Root>] = []
  /// The number of roots that were retired since the last `reclaim`.
  private var uncheckedRootCount = 0
  /// The memory of unreachable roots, to be reused for new roots.
  var rootPool = RootPool()
  /// The segments and tables that compaction has replaced, with the versions that may read them.
  private var outdatedSegments: [(outdated: SegmentTable.Outdated, versions: ClosedRange<UInt64>)] = []
  /// The replaced segments and tables that no root still reads.
  private var releasedSegments: [SegmentTable.Outdated] = []
  /// The versions that a running compaction must keep complete, ascending. `CompactionControl`
  /// allows one compaction at a time, and none after the store was closed.
  var compactedVersions: [UInt64] = []
  /// The first version that reads the current file of a segment, by segment number. Contains only
  /// segments that were created or rewritten since the opening.
  private var readableSince: [UInt64: UInt64] = [:]
  /// The first version that reads the current segment table.
  private var tableSince: UInt64 = 0
  /// Blob files whose records were removed or replaced.
  var retiredBlobs = RetiredBlobs()
  var statistics = WriteCounters()
  /// The live bytes of each segment.
  var usage = SegmentUsageTable()
  /// The changes that the current commit will make to `usage`; empty between commits.
  var usageChange = UsageChange()
  /// The blob files that live records reference.
  var liveBlobs: Set<UInt64> = []
  /// Unique indexes with a duplicate key at the last check.
  var duplicatedIndexes: Set<UInt32> = []
  /// The number of bytes of the log after the newest checkpoint.
  var tailBytes: UInt64 = 0
  /// The tail length at which the checkpointer is notified.
  var nextTailCheck: UInt64 = .max
  /// The offset in the last segment at which more space may have to be reserved.
  var nextReserveCheck: UInt64 = .max
  /// The offset in the last segment at which a background sync of the segment starts.
  var nextSyncAhead: UInt64 = .max
  /// The offset up to which the last segment's file was extended ahead of the log.
  var roomEnd: UInt64 = 0
  /// The number of bytes of the index file that are in use, as of the newest checkpoint.
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
    rootPool.adapt(to: root)
  }

  /// Makes a copy of the published root, to be changed and published.
  ///
  /// - Parameter newCatalog: The copy gets the entries of this catalog. If nil, it gets the entries
  ///   of the current catalog, which may have keyspaces that the published root lacks.
  mutating func makeWorkingRoot(for newCatalog: Catalog? = nil) -> UnsafeMutablePointer<Root> {
    rootPool.changes.beginCommit()
    let next: UnsafeMutablePointer<Root>
    if let newCatalog {
      next = rootPool.copy(root, for: newCatalog)
    } else if catalog.keyspaces.count > root.pointee.keyspaceCount {
      next = rootPool.copy(root, addingKeyspacesOf: catalog, indexes)
    } else {
      next = rootPool.copy(root)
    }
    next.pointee.segments = segments.entries
    return next
  }

  /// Replaces the extractors. Indexes that the new extractors cannot maintain become incomplete.
  /// They stay incomplete even if later extractors could maintain them.
  mutating func adopt(_ indexes: IndexSet) {
    self.indexes = indexes
    incompleteIndexes.formUnion(indexes.unavailable)
  }

  /// Frees the memory of an unreachable root, or keeps the memory for a new root.
  mutating func free(_ old: UnsafeMutablePointer<Root>) { rootPool.free(old, publishing: root) }

  /// Makes `next` the root. The previous root is kept until no reader can hold it.
  mutating func replaceRoot(_ next: UnsafeMutablePointer<Root>) {
    next.pointee.version = arena.publish()
    rootPool.willPublish(next, after: root)
    root.pointee.replacedNanoseconds = Clock.coarseNanoseconds()
    retiredRoots.append(root)
    uncheckedRootCount += 1
    root = next
  }

  /// Frees all retired objects that no held version reaches.
  ///
  /// - Complexity: In addition to `NodeArena.reclaim` and reading the pins, O(n) for n held roots
  ///   and replaced files. `shouldReclaim` ensures that many commits share this cost.
  mutating func reclaim(_ pinned: PinnedVersions) {
    arena.reclaim(pinned)
    uncheckedRootCount = 0
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
    rootPool.didReclaim(publishing: root, heldCount: kept)
    releasedSegments += takeUnreadSegments(pinned)
  }

  /// Removes and returns the segments that no root still reads. The caller releases them after the
  /// turn.
  mutating func takeReleasedSegments() -> [SegmentTable.Outdated] {
    guard !releasedSegments.isEmpty else { return [] }
    defer { releasedSegments = [] }
    return releasedSegments
  }

  /// The roots that readers hold or are about to hold, and the published root, oldest first.
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

  /// Removes a segment that no published root contains.
  mutating func forgetSegment(_ number: UInt64) {
    segments.remove(number)
    readableSince[number] = nil
  }

  /// Makes all later roots read a rewritten segment. The caller publishes the next root afterwards.
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

  /// Removes and returns the replaced segments that no reader uses. Snapshots of other versions do
  /// not delay this. The caller releases the segments outside the turn, because freeing a large
  /// file's space takes time.
  mutating func takeUnreadSegments(_ pins: PinnedVersions) -> [SegmentTable.Outdated] {
    let unread = outdatedSegments.filter { !pins.mayHold($0.versions) }
    if !unread.isEmpty { outdatedSegments.removeAll { !pins.mayHold($0.versions) } }
    return unread.map(\.outdated)
  }

  /// The total length of unlinked segment files that old snapshots still read.
  var outdatedSegmentBytes: Int { outdatedSegments.reduce(0) { $0 + $1.outdated.fileBytes } }

  /// Notes the blob files that the published root references and the previous root does not
  /// reference. Also notes the blob files that only the previous root references.
  mutating func note(_ blobs: BlobChanges) {
    liveBlobs.formUnion(blobs.named)
    liveBlobs.subtract(blobs.superseded)
    let (version, sequence) = (root.pointee.version, root.pointee.sequence)
    for number in blobs.named { retiredBlobs.noteBirth(of: number, version: version, sequence: sequence) }
    retire(blobs: blobs.superseded)
  }

  /// Notes blob files that the published root does not reference. During an opening, notes files
  /// that the first root will not reference.
  mutating func retire(blobs numbers: [UInt64]) {
    let (version, sequence, end) = (root.pointee.version, root.pointee.sequence, root.pointee.end)
    for number in numbers {
      retiredBlobs.retire(number, version: version, sequence: sequence, end: end)
    }
  }

  /// Whether a state that readers may hold references a blob file.
  var mayReadBlobs: Bool { !liveBlobs.isEmpty || !retiredBlobs.isEmpty }

  /// Applies the commit's changes to the counts. SU3
  mutating func applyUsageChange() { usageChange.apply(to: &usage) }

  /// Whether enough objects are retired to justify the cost of reading the pins.
  var shouldReclaim: Bool {
    arena.uncheckedByteCount > 256 << 10 || uncheckedRootCount >= rootPool.batchCount
  }

  /// Whether there are replaced files that a reader may use.
  var mayHoldBackSegments: Bool { !outdatedSegments.isEmpty }

  mutating func freeRoots() {
    for old in retiredRoots { Root.free(old) }
    retiredRoots = []
    rootPool.freeAll()
    Root.free(root)
  }
}

/// The blob files that a commit's records reference, and the blob files of the records that the
/// commit replaces or removes.
struct BlobChanges {
  var named: [UInt64] = []
  var superseded: [UInt64] = []
}

/// The committer's counts since the store was opened.
struct WriteCounters {
  var commits = 0
  var records = 0
  var logBytes: UInt64 = 0
  /// The total length of the records that callers wrote: with keys and headers, without frames.
  var recordBytes: UInt64 = 0
}
