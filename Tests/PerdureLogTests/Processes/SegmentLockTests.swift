import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("The lock on the newest segment")
struct SegmentLockTests {
  @Test(
    "If LOCK is removed by hand, no second writer can open the store, and the first writer throws",
    arguments: Ground.Kind.allCases)
  func lockRemoved(_ kind: Ground.Kind) throws {
    let ground = try Ground(kind)
    let first = try ground.open("s")
    try first.put(0..<20, round: 1)
    try ground.fileSystem.remove(ground.path("s") + "/LOCK")
    for _ in 0..<2 {
      let error = #expect(throws: StoreError.self) { try ground.open("s") }
      #expect(error?.code == .locked)
    }
    let files = try ground.files("s")
    expectReplaced("checkpoint") { try first.store.checkpoint() }
    expectReplaced("commits") { try first.put(0..<20, round: 2) }
    expectReplaced("close") { try first.store.close() }
    #expect(try ground.files("s") == files)
    let second = try ground.open("s")
    #expect(try second.holds(0..<20, round: 1))
    #expect(try second.findings == [])
  }

  @Test(
    "After LOCK is removed by hand, an open store cannot be copied, replaced or destroyed",
    arguments: Ground.Kind.allCases)
  func copiedAndDestroyed(_ kind: Ground.Kind) throws {
    let ground = try Ground(kind)
    let first = try ground.open("s")
    try first.put(0..<20, round: 1)
    let other = try ground.open("other")
    try other.put(0..<5, round: 1)
    try other.store.close()
    try ground.fileSystem.remove(ground.path("s") + "/LOCK")
    let files = try ground.files("s")
    let (path, options) = (ground.path("s"), ground.options())
    let calls: [(String, () throws -> Void)] = [
      ("copy", { try Store.copy(at: path, to: ground.path("copy"), options: options) }),
      ("replace", { try Store.replace(path, with: ground.path("other"), options: options) }),
      ("replace with it", { try Store.replace(ground.path("other"), with: path, options: options) }),
      ("destroy", { try Store.destroy(at: path, options: options) }),
    ]
    for (name, call) in calls {
      let error = #expect(throws: StoreError.self, "\(name)") { try call() }
      #expect(error?.code == .locked, "\(name)")
      #expect(try ground.files("s").filter { $0.key != "LOCK" } == files.filter { $0.key != "LOCK" })
    }
    #expect(try first.holds(0..<20, round: 1))
    #expect(throws: StoreError.self) { try first.store.close() }
    try Store.copy(at: path, to: ground.path("copy"), options: options)
    try Store.destroy(at: path, options: options)
    #expect(try ground.open("copy").holds(0..<20, round: 1))
  }

  @Test("If LOCK is removed by hand, no second process can open the store for writing")
  func secondProcess() async throws {
    let ground = try Ground(.disk)
    let first = try ground.open("s")
    try first.put(0..<20, round: 1)
    let path = ground.path("s")
    try ground.fileSystem.remove(path + "/LOCK")
    await #expect(processExitsWith: .success) { [path = path as String] in
      let error = #expect(throws: StoreError.self) { try Store(at: path) }
      #expect(error?.code == .locked)
    }
    expectReplaced { try first.put(0..<20, round: 2) }
    expectReplaced { try first.store.close() }
    await #expect(processExitsWith: .success) { [path = path as String] in
      let second = try FilledStore(Store(at: path))
      #expect(second.store.snapshot().count(in: second.rows) == 20)
      try second.put(20..<40, round: 1)
      try second.store.close()
    }
    #expect(try ground.open("s").holds(0..<40, round: 1))
  }

  @Test(
    "A store without a segment creates no segment after its LOCK is removed", arguments: Ground.Kind.allCases)
  func noSegment(_ kind: Ground.Kind) throws {
    let ground = try Ground(kind)
    let first = try Store(at: ground.path("s"), options: ground.options())
    try ground.fileSystem.remove(ground.path("s") + "/LOCK")
    let second = try ground.open("s")
    expectReplaced { _ = try first.keyspace("rows", .dense) }
    try second.put(0..<20, round: 1)
    #expect(throws: StoreError.self) { try first.close() }
    #expect(try second.holds(0..<20, round: 1))
    #expect(try second.findings == [])
  }

  /// Whether the newest segment with a header is locked.
  private static func isNewestLocked(_ ground: Ground) throws -> Bool {
    let directory = try ground.fileSystem.openDirectory(ground.path("s"))
    for number in try StoreFiles(in: directory).segments.sorted(by: >) {
      let file = try directory.open(StoreFileName.segment(number).string, .readWrite)
      let bytes = try file.read(SegmentHeader.length, at: 0)
      if (try? bytes.withUnsafeBytes { try SegmentHeader(reading: $0) }) == nil { continue }
      return try file.isLocked(SegmentLocks.range)
    }
    return false
  }

  @Test(
    "The newest segment is locked until the store is closed", arguments: Ground.Kind.allCases
  )
  func newest(_ kind: Ground.Kind) throws {
    let ground = try Ground(kind)
    var store = try ground.open("s")
    for round in 1...3 as ClosedRange<UInt8> {
      for id in 0..<30 as Range<UInt64> {
        try store.put(id..<(id + 1), round: round)
        #expect(try Self.isNewestLocked(ground))
      }
      try store.store.checkpoint()
      try store.store.compact()
      #expect(try Self.isNewestLocked(ground))
      let snapshot = store.store.snapshot()
      try store.store.close()
      #expect(try !Self.isNewestLocked(ground))
      store = try ground.open("s")
      #expect(try Self.isNewestLocked(ground))
      withExtendedLifetime(snapshot) {}
    }
  }

  @Test("The newest segment is locked after a failed commit over several segments")
  func takenBack() throws {
    for nth in 1...40 {
      let ground = try Ground(.simulation)
      let disk = try #require(ground.fileSystem as? SimulatedFileSystem)
      let store = try ground.open("s")
      try store.put(0..<5, round: 1)
      disk.inject(InjectedFailure(of: nil, nth: nth, code: .noSpace))
      do {
        try store.store.write { transaction in
          for id in 5..<30 as Range<UInt64> {
            try transaction.put([UInt8](repeating: 5, count: 900), id: id, in: store.rows)
          }
        }
      } catch {}
      disk.removeInjectedFailures()
      #expect(try Self.isNewestLocked(ground), "failure \(nth)")
      _ = try? store.put(30..<60, round: 1)
      #expect(try Self.isNewestLocked(ground), "failure \(nth)")
    }
  }

  @Test(
    "An opening is refused if its newest segment is locked, or if there is a newer segment",
    arguments: Ground.Kind.allCases)
  func newerSegment(_ kind: Ground.Kind) throws {
    let ground = try Ground(kind)
    let store = try ground.open("s")
    try store.put(0..<40, round: 1)
    let directory = try ground.fileSystem.openDirectory(ground.path("s"))
    let numbers = try StoreFiles(in: directory).segments.sorted()
    let (older, newer) = (numbers[numbers.count - 3], numbers[numbers.count - 1])
    func segment(_ number: UInt64) throws -> Segment {
      let file = try directory.open(StoreFileName.segment(number).string, .readWrite)
      let header = try file.read(SegmentHeader.length, at: 0).withUnsafeBytes {
        try SegmentHeader(reading: $0)
      }
      return try Segment(header: header, file: file)
    }
    for number in [older, newer] {
      let error = #expect(throws: StoreError.self) {
        _ = try SegmentLocks(opening: segment(number), in: directory)
      }
      #expect(error?.code == .locked)
    }
    try store.store.close()
    // The store is closed, so no file is locked and no segment is newer.
    var locks = try SegmentLocks(opening: segment(newer), in: directory)
    locks.releaseAll()
  }

  @Test("If the check of the folder fails temporarily, one call throws, and the store stays usable")
  func failingCheck() throws {
    for code in [FileIOError.Code.tooManyOpenFiles, .mediaError, .permissionDenied] {
      let ground = try Ground(.simulation)
      let disk = try #require(ground.fileSystem as? SimulatedFileSystem)
      let store = try ground.open("s")
      try store.put(0..<10, round: 1)
      for call in [{ try store.put(0..<20, round: 2) }, { try store.store.checkpoint() }] {
        disk.inject(InjectedFailure(of: .kind, code: code, pathContains: "LOCK"))
        let error = #expect(throws: StoreError.self) { try call() }
        #expect(error?.code == .io)
        #expect(disk.injectedFailureCount > 0)
        disk.removeInjectedFailures()
      }
      try store.put(0..<20, round: 3)
      try store.store.checkpoint()
      #expect(try store.holds(0..<20, round: 3))
      try store.store.close()
      #expect(try ground.open("s").holds(0..<20, round: 3))
    }
  }

  @Test("Commits within a segment do not check the folder, and the start of a new segment does")
  func commitsWithoutCheck() throws {
    let ground = try Ground(.simulation)
    let disk = try #require(ground.fileSystem as? SimulatedFileSystem)
    let store = try ground.open("s")
    func checks() -> Int { disk.callCounts[.kind] ?? 0 }
    func end() throws -> LogPosition { try store.store.engine.readingState { $0.end } }
    // A segment has just begun, so the next commits fit into it.
    let segment = try end().segment
    while try end().segment == segment { try store.put(0..<1, round: 1) }
    let (before, first) = (checks(), try end().segment)
    #expect(before > 0)
    for id in 1..<7 as Range<UInt64> { try store.put(id..<(id + 1), round: 1) }
    #expect(try end().segment == first)
    #expect(checks() == before)
    try store.put(8..<24, round: 1)
    #expect(try end().segment > first)
    #expect(checks() > before)
  }

  @Test("On file systems without range locks, stores open without these locks")
  func noRangeLocks() throws {
    var options = StoreOptions()
    options.fileSystem = WithoutRangeLocks()
    options.segmentCapacityBytes = 4096
    let store = try FilledStore(Store(at: "/s", options: options))
    try store.put(0..<30, round: 1)
    try store.store.close()
    #expect(try FilledStore(Store(at: "/s", options: options)).holds(0..<30, round: 1))
  }
}

private final class WithoutRangeLocks: ForwardingFileSystem {
  let behind: any FileSystem = InMemoryFileSystem()

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    Unlockable(try behind.open(path, mode))
  }

  private final class Unlockable: ForwardingFile {
    let behind: any File
    init(_ behind: any File) { self.behind = behind }

    private func refusal(_ operation: FileIOError.Operation) -> FileIOError {
      FileIOError(.notSupported, operation: operation, path: path)
    }
    func tryLock(_ range: Range<UInt64>) throws(FileIOError) -> Bool { throw refusal(.tryLock) }
    func unlock(_ range: Range<UInt64>) throws(FileIOError) { throw refusal(.unlock) }
    func isLocked(_ range: Range<UInt64>) throws(FileIOError) -> Bool { throw refusal(.isLocked) }
  }
}
