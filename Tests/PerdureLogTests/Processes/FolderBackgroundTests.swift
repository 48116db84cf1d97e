import Foundation
import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A store whose next call, or release of a snapshot, starts work on one of its threads.
private struct BusyStore {
  enum Work: CaseIterable {
    case compaction, releasedSnapshot, checkpoint, segment
  }

  let work: Work
  let filled: FilledStore
  private var held: Snapshot?

  /// - Parameter canary: A deliberate error of this store. Other stores on `ground` do not have it.
  init(_ work: Work, on ground: Ground, _ canary: FoldersCanary? = nil) throws {
    self.work = work
    var options = ground.options()
    // For a checkpoint or a new segment, one long segment has space for all commits. Compaction
    // needs several segments, so it uses the short ones of `ground`.
    if work == .checkpoint || work == .segment { options.segmentCapacityBytes = 64 << 10 }
    do {
      let made = try FilledStore(Store(at: ground.path("s"), options: options))
      try made.put(0..<40, round: 1)
      // The next commit must fit in the last segment, because the start of a new segment includes a
      // check of the folder.
      var id: UInt64 = 40
      while try made.store.engine.readingState({ $0.end.offset }) > options.segmentCapacityBytes / 2 {
        try made.put(id..<(id + 1), round: 1)
        id += 8
      }
      try made.store.close()
    }
    switch work {
    case .compaction, .releasedSnapshot:
      options.compactsAutomatically = true
      options.compactionGarbageBytesMin = 4096
    case .checkpoint: (options.checkpoints.tailBytes, options.checkpoints.idleSeconds) = (32 << 10, 3600)
    case .segment: options.syncAheadBytes = 8 << 10
    }
    options.fileSystem = canary?.spoiled(ground.fileSystem) ?? ground.fileSystem
    options.checksFolder = canary?.checksFolder ?? true
    filled = try FilledStore(Store(at: ground.path("s"), options: options))
    if work == .releasedSnapshot {
      held = filled.store.snapshot()
      try removeRows()
    }
    waitForThreads()
    try #require(filled.store.statistics.compactionBytesSinceOpen == 0)
    try #require(filled.store.statistics.checkpointsSinceOpen == 0)
  }

  func waitForThreads() {
    while filled.store.hasBackgroundWork { Thread.sleep(forTimeInterval: 0.001) }
  }

  private func removeRows() throws {
    try filled.store.write { transaction in
      for id in 0..<30 as Range<UInt64> { try transaction.remove(id: id, in: filled.rows) }
    }
  }

  private func putRows() throws {
    try filled.store.write { transaction in
      for id in 100..<130 as Range<UInt64> {
        try transaction.put([UInt8](repeating: 1, count: 900), id: id, in: filled.rows)
      }
    }
  }

  /// Starts the work, and waits for its end.
  mutating func start() throws {
    defer { waitForThreads() }
    switch work {
    case .compaction: try removeRows()
    case .releasedSnapshot: held = nil
    case .checkpoint, .segment: try putRows()
    }
  }

  /// As `start`, in a replaced folder. The outcome of the commit is not tested: a thread may find
  /// the other folder while the commit waits for its sync.
  mutating func startInReplacedFolder() { _ = try? start() }
}

@Suite("Threads of a store whose folder was replaced")
struct FolderBackgroundTests {
  @Test(
    "If the folder was not replaced, the store's threads do the prepared work",
    arguments: BusyStore.Work.allCases)
  fileprivate func ownFolder(_ work: BusyStore.Work) throws {
    let ground = try Ground(.memory)
    var store = try BusyStore(work, on: ground)
    let before = try ground.files("s")
    try store.start()
    let (filled, after) = (store.filled, try ground.files("s"))
    let statistics = try filled.store.statistics
    switch work {
    case .compaction, .releasedSnapshot:
      #expect(statistics.compactionBytesSinceOpen > 0 || after.count < before.count)
    case .checkpoint: #expect(statistics.checkpointsSinceOpen == 1)
    case .segment: #expect(after.count == before.count + 1)
    }
    #expect(try filled.findings == [])
    try filled.store.close()
  }

  @Test(
    "A compaction, checkpoint, new segment or released snapshot leaves another store at the path unchanged",
    arguments: Ground.Kind.allCases, BusyStore.Work.allCases)
  fileprivate func signOut(_ kind: Ground.Kind, _ work: BusyStore.Work) throws {
    let ground = try Ground(kind)
    var old = try BusyStore(work, on: ground)
    try ground.fileSystem.removeTree(ground.path("s"))
    let new = try ground.open("s")
    try new.put(0..<40, round: 9)
    let files = try ground.files("s")
    old.startInReplacedFolder()
    // The background work has failed the folder check, so the store is poisoned before the next
    // call.
    #expect(old.filled.store.engine.gate.poison?.message.contains("removed or replaced") == true)
    expectReplaced("commit") { try old.filled.put(0..<1, round: 3) }
    expectReplaced("close") { try old.filled.store.close() }
    #expect(try ground.files("s") == files)
    #expect(try new.holds(0..<40, round: 9))
    #expect(try new.findings == [])
    try new.put(40..<60, round: 9)
    try new.store.close()
    #expect(try ground.open("s").holds(0..<60, round: 9))
  }

  @Test(
    "After the folder was replaced, a commit into an already prepared segment is refused",
    arguments: Ground.Kind.allCases)
  func preparedBefore(_ kind: Ground.Kind) throws {
    let ground = try Ground(kind)
    var old = try BusyStore(.segment, on: ground)
    try old.start()
    try ground.fileSystem.removeTree(ground.path("s"))
    let new = try ground.open("s")
    try new.put(0..<40, round: 9)
    let files = try ground.files("s")
    expectReplaced { for round in 1...20 as ClosedRange<UInt8> { try old.filled.put(0..<40, round: round) } }
    expectReplaced("close") { try old.filled.store.close() }
    #expect(try ground.files("s") == files)
    #expect(try new.holds(0..<40, round: 9))
    #expect(try new.findings == [])
  }

  @Test(
    "Without directory handles and the folder check, each of the old store's threads changes the other store",
    arguments: BusyStore.Work.allCases)
  fileprivate func unchecked(_ work: BusyStore.Work) throws {
    let ground = try Ground(.memory)
    var old = try BusyStore(work, on: ground, .uncheckedPaths)
    try ground.fileSystem.removeTree(ground.path("s"))
    let new = try ground.open("s")
    // The name of the next segment is free.
    try new.put(0..<3, round: 9)
    let files = try ground.files("s")
    old.startInReplacedFolder()
    #expect(try ground.files("s") != files)
    withExtendedLifetime(new) {}
  }
}
