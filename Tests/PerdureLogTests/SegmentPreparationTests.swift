import Dispatch
import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A file system that counts the costs of creating segments for the watched thread.
private final class WatchedFileSystem: ForwardingFileSystem {
  struct Counts {
    /// The number of written bytes of each segment.
    var written: [String: UInt64] = [:]
    /// The number of synced bytes of each segment.
    var synced: [String: UInt64] = [:]
    /// The largest number of unsynced bytes before a sync of a segment on the watched thread.
    var longestSync: UInt64 = 0
    /// The same number for all other threads.
    var longestSyncElsewhere: UInt64 = 0
    var segmentsMade = 0
    var directorySyncs = 0
  }

  let behind: any FileSystem
  let counts = Guarded(Counts())
  /// Signalled when a thread other than the watched one has synced.
  let didSyncElsewhere = DispatchSemaphore(value: 0)
  /// The error of the next directory sync on a thread other than the watched one.
  let refusal = Guarded<FileIOError?>(nil)
  private let watched = currentThreadID()

  init(_ behind: any FileSystem) { self.behind = behind }

  var isWatched: Bool { currentThreadID() == watched }

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    let file = try behind.open(path, mode)
    guard path.hasSuffix(".segment") else { return file }
    if mode == .create, isWatched { counts.withLock { $0.segmentsMade += 1 } }
    return WatchedFile(file, self)
  }

  func syncDirectory(_ path: String) throws(FileIOError) {
    if !isWatched, let refusal = refusal.withLock({ $0.take() }) { throw refusal }
    try behind.syncDirectory(path)
    if isWatched { counts.withLock { $0.directorySyncs += 1 } } else { didSyncElsewhere.signal() }
  }

  fileprivate func willSync(_ path: String) -> UInt64 {
    counts.withLock { counts in
      let end = counts.written[path, default: 0]
      let length = end - counts.synced[path, default: 0]
      if isWatched {
        counts.longestSync = max(counts.longestSync, length)
      } else {
        counts.longestSyncElsewhere = max(counts.longestSyncElsewhere, length)
      }
      return end
    }
  }

  fileprivate func didSync(_ path: String, upTo end: UInt64) {
    counts.withLock { $0.synced[path] = max($0.synced[path, default: 0], end) }
    if !isWatched { didSyncElsewhere.signal() }
  }
}

private final class WatchedFile: ForwardingFile {
  let behind: any File
  private let fileSystem: WatchedFileSystem

  init(_ behind: any File, _ fileSystem: WatchedFileSystem) {
    self.behind = behind
    self.fileSystem = fileSystem
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileIOError) {
    try behind.write(bytes, at: offset)
    let end = offset + UInt64(bytes.count)
    fileSystem.counts.withLock { $0.written[path] = max($0.written[path, default: 0], end) }
  }

  func sync(_ mode: SyncMode) throws(FileIOError) {
    let end = fileSystem.willSync(path)
    try behind.sync(mode)
    fileSystem.didSync(path, upTo: end)
  }
}

@Suite("Prepared segments")
struct SegmentPreparationTests {
  private static func value(_ id: UInt64) -> [UInt8] { [UInt8](repeating: UInt8(id % 251), count: 3000) }

  private static func path(_ number: UInt64) -> String {
    "/store.perdure/" + StoreFileName.segment(number).string
  }

  private func store(
    _ fileSystem: any FileSystem, syncAheadBytes: UInt64 = 16 << 10, isReadOnly: Bool = false,
    _ durability: Durability = .processCrash
  ) throws -> Store {
    var memory = try MemoryStore(segmentCapacityBytes: 128 << 10)
    memory.options.checkpoints = .manual
    memory.options.reserveBytes = 0
    memory.options.durability = durability
    memory.options.syncAheadBytes = syncAheadBytes
    // Without preallocated length, the counts are the lengths of the files.
    memory.options.logRoom.bytesMax = 0
    memory.options.fileSystem = fileSystem
    memory.options.isReadOnly = isReadOnly
    return try memory.open()
  }

  /// Waits until `holds` is true. Checks it after each sync of another thread. If no sync occurs
  /// for a minute, the wait ends and later checks of the test fail.
  private func wait(_ fileSystem: WatchedFileSystem, _ holds: (WatchedFileSystem.Counts) -> Bool) {
    while !holds(fileSystem.counts.withLock { $0 }) {
      guard fileSystem.didSyncElsewhere.wait(timeout: .now() + 60) == .success else { return }
    }
  }

  private func isThere(_ number: UInt64, _ fileSystem: any FileSystem) -> Bool {
    (try? fileSystem.kind(of: Self.path(number))) == .file
  }

  @Test(
    "If a commit continues into a prepared segment, it creates no file and syncs few bytes",
    arguments: [Durability.processCrash, .ordered, .powerLoss])
  func birth(_ durability: Durability) throws {
    let fileSystem = WatchedFileSystem(InMemoryFileSystem())
    let store = try store(fileSystem, durability)
    let rows = try store.keyspace("rows", .dense)
    fileSystem.counts.withLock { $0 = WatchedFileSystem.Counts(written: $0.written, synced: $0.synced) }
    var id: UInt64 = 0
    while try store.statistics.segments < 4 {
      id += 1
      try store.write { try $0.put(Self.value(id), id: id, in: rows) }
      let end = try store.engine.readingState { $0.end }
      wait(fileSystem) { counts in
        let synced = counts.synced[Self.path(end.segment), default: 0]
        return end.offset - min(end.offset, synced) < 20 << 10
      }
    }
    let counts = fileSystem.counts.withLock { $0 }
    #expect(counts.segmentsMade == 0 && counts.directorySyncs == 0)
    #expect(counts.longestSync < 24 << 10 && counts.longestSyncElsewhere < 24 << 10)
    #expect(try store.verify().isClean)
    try store.close()
  }

  @Test("Creating an unprepared segment first syncs the whole previous segment, and then creates the file")
  func unprepared() throws {
    let fileSystem = WatchedFileSystem(InMemoryFileSystem())
    let store = try store(fileSystem, syncAheadBytes: .max / 2)
    let rows = try store.keyspace("rows", .dense)
    for id in 1...60 as ClosedRange<UInt64> {
      try store.write { try $0.put(Self.value(id), id: id, in: rows) }
    }
    let counts = fileSystem.counts.withLock { $0 }
    #expect(counts.segmentsMade == 2 && counts.longestSync > 100 << 10)
    #expect(counts.longestSyncElsewhere == 0)
    try store.close()
  }

  /// Writes until the next segment is prepared, and returns the number of this segment.
  private func prepare(
    _ store: Store, _ fileSystem: WatchedFileSystem, from id: UInt64 = 1
  ) throws -> UInt64 {
    let rows = try store.keyspace("rows", .dense)
    for id in id..<(id + 7) { try store.write { try $0.put(Self.value(id), id: id, in: rows) } }
    let next = try store.engine.readingState { $0.nextSegment }
    wait(fileSystem) { _ in isThere(next, fileSystem) }
    return next
  }

  @Test("A prepared segment is removed when the store is closed")
  func closed() throws {
    let fileSystem = WatchedFileSystem(InMemoryFileSystem())
    let store = try store(fileSystem)
    let next = try prepare(store, fileSystem)
    #expect(isThere(next, fileSystem))
    try store.close()
    #expect(!isThere(next, fileSystem))
  }

  @Test("A reader follows commits that continue into a prepared segment")
  func reader() throws {
    let fileSystem = WatchedFileSystem(InMemoryFileSystem())
    let store = try store(fileSystem)
    let rows = try store.keyspace("rows", .dense)
    let next = try prepare(store, fileSystem)
    let reader = try self.store(fileSystem, isReadOnly: true)
    for id in 8...60 as ClosedRange<UInt64> {
      try store.write { try $0.put(Self.value(id), id: id, in: rows) }
      #expect(try reader.refresh())
      #expect(try reader.snapshot().value(id: id, in: rows) == Self.value(id))
    }
    #expect(try store.engine.readingState { $0.end }.segment == next)
    try reader.close()
    try store.close()
  }

  @Test("A reader can open at any point while commits continue into a prepared segment")
  func readerOpening() throws {
    for call in 0... {
      let fileSystem = WatchedFileSystem(InMemoryFileSystem())
      let store = try store(fileSystem)
      let next = try prepare(store, fileSystem)
      let rows = try store.keyspace("rows", .dense)
      var id: UInt64 = 100
      func put() throws {
        id += 1
        try store.write { try $0.put(Self.value(id), id: id, in: rows) }
      }
      while try store.engine.readingState({ $0.end }).offset < 124 << 10 { try put() }
      let before = store.snapshot().count(in: rows)
      let stepping = SteppingFileSystem(fileSystem)
      // The reader may read the new segment's header while it is still zeros. Frames may then
      // follow before the reader's next read.
      stepping.run(before: call) { for _ in 0..<3 { try put() } }
      let reader = try self.store(stepping, isReadOnly: true)
      let isThrough = stepping.isWaiting
      #expect(stepping.failure == nil)
      let count = reader.snapshot().count(in: rows)
      #expect(count >= before && count <= store.snapshot().count(in: rows), "before call \(call)")
      #expect(try store.engine.readingState { $0.end }.segment == (isThrough ? next - 1 : next))
      try reader.close()
      try store.close()
      if isThrough { return #expect(call > 10) }
    }
  }

  @Test("After a process ends, its prepared segment does not affect the next opening")
  func left() throws {
    let fileSystem = WatchedFileSystem(InMemoryFileSystem())
    var left: [UInt64] = []
    for round in 0..<3 as Range<UInt64> {
      let store = try store(fileSystem)
      left.append(try prepare(store, fileSystem, from: 1 + 7 * round))
    }
    #expect(isThere(left[2], fileSystem))
    let store = try store(fileSystem)
    let rows = try store.keyspace("rows", .dense)
    for id in 100...150 as ClosedRange<UInt64> {
      try store.write { try $0.put(Self.value(id), id: id, in: rows) }
    }
    #expect(store.snapshot().count(in: rows) == 72)
    #expect(try store.verify().isClean)
    try store.close()
    #expect(try self.store(fileSystem).snapshot().count(in: rows) == 72)
  }

  @Test("A failed sync during the preparation of a segment poisons the store", arguments: [false, true])
  func failedSync(_ ofDirectory: Bool) throws {
    let disk = SimulatedFileSystem()
    let fileSystem = WatchedFileSystem(disk)
    let store = try store(fileSystem)
    let rows = try store.keyspace("rows", .dense)
    try store.sync()
    let next = try store.engine.readingState { $0.nextSegment }
    disk.inject(
      ofDirectory
        ? InjectedFailure(of: .syncDirectory, nth: 1, code: .mediaError)
        : InjectedFailure(
          of: .sync, nth: 1, code: .mediaError, pathContains: StoreFileName.segment(next).string))
    let error = #expect(throws: StoreError.self) {
      for id in 1...400 as ClosedRange<UInt64> {
        try store.write { try $0.put(Self.value(id), id: id, in: rows) }
      }
    }
    // Either the thread that prepares the segment gets the error, or the commit that waits for this
    // thread does.
    #expect(error?.code == .poisoned || error?.code == .io)
    let later = #expect(throws: StoreError.self) { try store.write { try $0.put([1], id: 1, in: rows) } }
    #expect(later?.code == .poisoned)
  }

  @Test("If the system refuses a write during preparation, the commit creates the file later")
  func refused() throws {
    let disk = SimulatedFileSystem()
    let fileSystem = WatchedFileSystem(disk)
    let store = try store(fileSystem)
    let rows = try store.keyspace("rows", .dense)
    let next = try store.engine.readingState { $0.nextSegment }
    disk.inject(
      InjectedFailure(
        of: .write, nth: 1, code: .noSpace, effect: .partialWrite(byteCount: 100),
        pathContains: StoreFileName.segment(next).string))
    for id in 1...60 as ClosedRange<UInt64> {
      try store.write { try $0.put(Self.value(id), id: id, in: rows) }
    }
    #expect(try store.statistics.segments == 2)
    #expect(try store.verify().isClean)
    try store.close()
  }

  @Test("Every later caller gets the error of a failed sync, even after another preparation")
  func failureStays() throws {
    let disk = SimulatedFileSystem()
    try disk.createDirectory("/store.perdure")
    disk.inject(InjectedFailure(of: .sync, nth: 1, code: .mediaError))
    let preparation = SegmentPreparation(in: try disk.openDirectory("/store.perdure"))
    preparation.begin(2) { _ in }
    for _ in 0..<2 {
      let error = #expect(throws: FileIOError.self) { _ = try preparation.take(2) }
      #expect(error?.operation.isSync == true)
      preparation.begin(2) { _ in }
    }
    preparation.stop()
  }

  @Test(
    "The log continues after the system refused the header of a prepared segment",
    arguments: [0, 1, 128])
  func refusedHeader(_ writtenByteCount: Int) throws {
    let disk = SimulatedFileSystem()
    let fileSystem = WatchedFileSystem(disk)
    let store = try store(fileSystem)
    let next = try prepare(store, fileSystem)
    wait(fileSystem) { $0.synced[Self.path(next), default: 0] > 0 }
    let last = try store.engine.readingState { $0.end }.segment
    disk.inject(
      InjectedFailure(
        of: .write, nth: 1, code: .noSpace, effect: .partialWrite(byteCount: writtenByteCount),
        pathContains: StoreFileName.segment(next).string))
    #expect(throws: StoreError.self) { try store.engine.inTurn { try store.engine.rollLog(&$0) } }
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put(Self.value(8), id: 8, in: rows) }
    // The written part of the header may be on the medium after a power cut. The header says that
    // the log ended before this commit.
    let isBlank = writtenByteCount == 0
    #expect(try store.engine.readingState { $0.end }.segment == (isBlank ? last : next))
    try store.close()
    #expect(try self.store(fileSystem).snapshot().count(in: rows) == 8)
  }

  @Test("If preparation cannot open the directory, commits still succeed")
  func refusedDirectory() throws {
    let fileSystem = WatchedFileSystem(InMemoryFileSystem())
    let store = try store(fileSystem)
    let path = "/store.perdure"
    fileSystem.refusal.withLock { $0 = FileIOError(.tooManyOpenFiles, operation: .open, path: path) }
    let rows = try store.keyspace("rows", .dense)
    for id in 1...60 as ClosedRange<UInt64> {
      try store.write { try $0.put(Self.value(id), id: id, in: rows) }
    }
    #expect(fileSystem.refusal.withLock { $0 } == nil)
    #expect(try store.verify().isClean)
    try store.close()
  }

  @Test(
    "Rolling back a commit that continued into a prepared segment removes the commit's segments",
    arguments: [2, 3])
  func takenBack(_ write: Int) throws {
    let disk = SimulatedFileSystem()
    let store = try store(disk, .powerLoss)
    let rows = try store.keyspace("rows", .dense)
    let next = try store.engine.readingState { $0.nextSegment }
    // In the segment after `next`, the zeros are written, but the write of the header or of the
    // first frame fails.
    disk.inject(
      InjectedFailure(
        of: .write, nth: write, code: .noSpace, effect: .partialWrite(byteCount: 100),
        pathContains: StoreFileName.segment(next + 1).string))
    let error = #expect(throws: StoreError.self) {
      try store.write { batch in
        for id in 1...100 as ClosedRange<UInt64> { try batch.put(Self.value(id), id: id, in: rows) }
      }
    }
    #expect(error?.code == .diskFull)
    try store.write { try $0.put(Self.value(7), id: 7, in: rows) }
    #expect(try store.engine.readingState { $0.end }.segment > next && !isThere(next, disk))
    var explorer = CrashExplorer(seed: 1)
    explorer.imagesPerOperationMax = 4
    for image in explorer.images(of: disk.journal, after: disk.journal.operationCount) {
      let again = try self.store(image.fileSystem())
      #expect(try again.snapshot().value(id: 7, in: rows) == Self.value(7))
      #expect(try again.snapshot().count(in: rows) == 1 && again.verify().isClean)
    }
    try store.close()
  }
}
