import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A store in a folder, and its expected content.
private final class LinkedStore {
  let disk: any FileSystem
  let path: String
  private var random: SeededGenerator
  private var content: [UInt64: [UInt8]] = [:]

  /// Makes a store that is closed, or in the state after a kill: with a tail after the checkpoint,
  /// a prepared segment and reserves.
  init(at path: String, on disk: any FileSystem, isKilled: Bool, _ random: SeededGenerator) throws {
    (self.disk, self.path, self.random) = (disk, path, random)
    let store = try open(createsIfMissing: true)
    try write(300, to: store)
    try store.checkpoint()
    try write(60, to: store)
    if isKilled { try leaveKilled(store) } else { try store.close() }
  }

  private func leaveKilled(_ store: Store) throws {
    try store.sync()
    try write(20, to: store)
    store.engine.abandon()
    let last = try StoreFiles(in: disk.openDirectory(path)).segments.max() ?? 0
    let prepared = try disk.open(path + "/" + StoreFileName.segment(last + 1).string, .create)
    try prepared.write([UInt8](repeating: 0, count: SegmentHeader.length), at: 0)
    try prepared.close()
  }

  private init(_ other: LinkedStore, at path: String) {
    (disk, self.path, content) = (other.disk, path, other.content)
    random = other.random.derived(1)
  }

  /// A second store. All its files are second names of this store's files.
  func linked(at path: String) throws -> LinkedStore {
    try disk.createDirectory(path)
    for name in try disk.contents(of: self.path) {
      try disk.link(self.path + "/" + name, to: path + "/" + name)
    }
    return LinkedStore(self, at: path)
  }

  static func options(_ disk: any FileSystem) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = disk
    options.segmentCapacityBytes = 16 << 10
    options.blobThresholdBytes = 1024
    options.reserveBytes = 128 << 10
    options.durability = .relaxed
    options.compactsAutomatically = false
    options.checkpoints = .manual
    return options
  }

  private func open(createsIfMissing: Bool = false) throws -> Store {
    var options = Self.options(disk)
    options.createsIfMissing = createsIfMissing
    return try Store(at: path, options: options)
  }

  private func write(_ count: Int, to store: Store) throws {
    let rows = try store.keyspace("rows", .dense)
    for _ in 0..<count {
      let id = UInt64.random(in: 0..<200, using: &random)
      let length = random.chance(15) ? 2000 : Int.random(in: 0..<300, using: &random)
      let value = [UInt8](repeating: .random(in: 0...255, using: &random), count: length)
      let removed = UInt64.random(in: 0..<200, using: &random)
      try store.write { transaction in
        try transaction.remove(id: removed, in: rows)
        try transaction.put(value, id: id, in: rows)
      }
      content[removed] = nil
      content[id] = value
    }
  }

  /// Opens the store, compares its content, and calls all operations that write to its files.
  func work() throws {
    let store = try open()
    try compare(store)
    try write(30, to: store)
    try store.checkpoint()
    try write(200, to: store)
    try store.compact()
    try store.checkpoint()
    try write(10, to: store)
    #expect(try store.verify().findings.map(\.description) == [])
    try compare(store)
    try store.close()
  }

  /// Opens the store for reading, and verifies and compares it.
  func check() throws {
    var options = Self.options(disk)
    (options.isReadOnly, options.registersAsReader) = (true, false)
    let store = try Store(at: path, options: options)
    #expect(try store.verify().findings.map(\.description) == [])
    try compare(store)
    try store.close()
  }

  private func compare(_ store: Store) throws {
    var found: [UInt64: [UInt8]] = [:]
    try store.snapshot().forEach(in: store.keyspace("rows", .dense)) { (id: UInt64, value: RawSpan) in
      found[id] = value.withUnsafeBytes { Array($0) }
      return true
    }
    #expect(found == content, "\(path)")
  }

  /// The bytes of the store's files except LOCK, which has a text for messages.
  func bytes() throws -> [String: [UInt8]] {
    try disk.files(in: path).filter { $0.key != StoreFileName.lock.string }
  }
}

/// The file systems that have hard links.
private enum LinkingDisk: CaseIterable {
  case posix, inMemory, simulated

  /// Makes a file system with an empty folder.
  func make(_ folder: String) throws -> any FileSystem {
    let disk: any FileSystem
    switch self {
    case .posix: return POSIXFileSystem()
    case .inMemory: disk = InMemoryFileSystem()
    case .simulated: disk = SimulatedFileSystem()
    }
    var path = ""
    for name in folder.split(separator: "/") {
      path += "/" + name
      try disk.createDirectory(path)
    }
    return disk
  }
}

@Suite("Stores whose files have second names")
struct SecondNameTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func stores(isKilled: Bool, _ disk: any FileSystem) throws -> (LinkedStore, LinkedStore) {
    let random = SeededGenerator.forTest("second names")
    let store = try LinkedStore(at: directory.file("store"), on: disk, isKilled: isKilled, random)
    return (store, try store.linked(at: directory.file("linked")))
  }

  @Test(
    "Writing to a store whose files have second names does not change the bytes of the other names",
    arguments: LinkingDisk.allCases, [(false, false), (false, true), (true, false), (true, true)])
  private func otherNames(_ disk: LinkingDisk, _ order: (isKilled: Bool, worksOnOriginal: Bool)) throws {
    let (isKilled, worksOnOriginal) = order
    var (store, other) = try stores(isKilled: isKilled, disk.make(directory.path))
    if !worksOnOriginal { (store, other) = (other, store) }
    let before = try other.bytes()
    for kind in [".index", ".reserve", ".blob"] { #expect(before.keys.contains { $0.hasSuffix(kind) }) }
    try store.work()
    #expect(try changes(since: before, other) == [])
    try other.check()
    try store.work()
    #expect(try changes(since: before, other) == [])
    let after = try store.bytes()
    try other.work()
    #expect(try changes(since: after, store) == [])
    try store.check()
    try other.check()
  }

  @Test(
    "Two stores that share files can be written alternately", arguments: LinkingDisk.allCases, [false, true])
  private func inTurn(_ disk: LinkingDisk, isKilled: Bool) throws {
    let (store, other) = try stores(isKilled: isKilled, disk.make(directory.path))
    for _ in 0..<3 {
      for (writer, reader) in [(store, other), (other, store)] {
        let before = try reader.bytes()
        try writer.work()
        #expect(try changes(since: before, reader) == [])
        try reader.check()
      }
    }
  }

  @Test("If a file system does not report second names, a write changes the other store's files")
  func withoutCount() throws {
    let (store, other) = try stores(isKilled: true, UncountedFileSystem(POSIXFileSystem()))
    let before = try other.bytes()
    try store.work()
    let changed = try changes(since: before, other)
    #expect(changed.contains("SUPERBLOCK"))
    #expect(changed.contains { $0.hasSuffix(".segment") } && changed.contains { $0.hasSuffix(".index") })
  }

  @Test("After an opening for writing, SUPERBLOCK, the reserves and new files have only one name")
  func oneName() throws {
    let (store, _) = try stores(isKilled: true, POSIXFileSystem())
    let linked = try Set(store.bytes().keys)
    let opened = try Store(at: store.path, options: LinkedStore.options(store.disk))
    let rows = try opened.keyspace("rows", .dense)
    _ = try opened.write { try $0.put([1], id: 1, in: rows) }
    try opened.checkpoint()
    let names = try store.disk.contents(of: store.path).filter { name in
      !linked.contains(name) && name != "LOCK" || name == "SUPERBLOCK" || name.hasSuffix(".reserve")
    }
    // SUPERBLOCK, two reserves, a segment and an index file.
    #expect(names.count == 5)
    for name in names {
      #expect(try store.disk.open(store.path + "/" + name, .read).linkCount() == 1, "\(name)")
    }
    try opened.close()
  }

  @Test("A store that is opened and closed without a commit adds no segment")
  func withoutCommit() throws {
    let (store, _) = try stores(isKilled: false, POSIXFileSystem())
    let before = try store.bytes().keys.filter { $0.hasSuffix(".segment") }
    for _ in 0..<2 { try Store(at: store.path, options: LinkedStore.options(store.disk)).close() }
    #expect(try Set(store.bytes().keys.filter { $0.hasSuffix(".segment") }) == Set(before))
    try store.check()
  }

  @Test("A damaged index file with a second name keeps its bytes, and its name is removed")
  func damagedIndex() throws {
    var memory = CheckpointedStore()
    memory.options.checkpoints.closeTailBytes = .max
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try store.write { transaction in
      for id in 0..<600 as Range<UInt64> { try transaction.put([UInt8(id % 250)], id: id, in: rows) }
    }
    try store.checkpoint()
    try store.close()
    let name = try #require(try memory.indexFiles().first)
    let last = try #require(try memory.nodes(name).last)
    try memory.change(name) { $0[last.lowerBound + 100] ^= 0xFF }
    let disk = memory.fileSystem
    let path = CheckpointedStore.path + "/" + name
    try disk.link(path, to: "/second name")
    let damaged = try disk.open("/second name", .read)
    let before = try damaged.read(Int(damaged.size()), at: 0)
    let opened = try memory.open()
    #expect(opened.recoveryReport.indexRebuild == nil)
    let found = try opened.keyspace("rows", .dense)
    let error = #expect(throws: StoreError.self) {
      for id in 0..<600 as Range<UInt64> { _ = try opened.snapshot().value(id: id, in: found) }
    }
    #expect(error?.code == .corruption)
    for _ in 0..<2 {
      #expect(throws: StoreError.self) { try opened.write { try $0.put([1], id: 1, in: found) } }
    }
    #expect(try disk.kind(of: path) == nil && damaged.linkCount() == 1)
    try? opened.close()
    let next = try memory.open()
    #expect(next.recoveryReport.indexRebuild != nil)
    #expect(try next.snapshot().count(in: next.keyspace("rows", .dense)) == 600)
    try next.close()
    #expect(try damaged.read(Int(damaged.size()), at: 0) == before)
  }

  @Test("A prepared segment that gets a second name is replaced by a new file of the same number")
  func preparedSegment() throws {
    let disk = POSIXFileSystem()
    try disk.createDirectory(directory.file("prepared"))
    let folder = try disk.openDirectory(directory.file("prepared"))
    let preparation = SegmentPreparation(in: folder)
    preparation.begin(7) { Issue.record("\($0)") }
    let name = StoreFileName.segment(7).string
    while try folder.kind(of: name) == nil { ForkedChild.waitAMillisecond() }
    try disk.link(directory.file("prepared/" + name), to: directory.file("second name"))
    let file = try preparation.takeOrMake(7).file
    #expect(try file.linkCount() == 1)
    try file.write([1], at: 0)
    let other = try disk.open(directory.file("second name"), .read)
    #expect(try other.read(1, at: 0) != [1])
    preparation.stop()
  }

  /// The names of files that were changed, added or removed.
  private func changes(since before: [String: [UInt8]], _ store: LinkedStore) throws -> [String] {
    let now = try store.bytes()
    return Set(before.keys).union(now.keys).filter { before[$0] != now[$0] }.sorted()
  }
}

/// A file system that does not report second names.
private final class UncountedFileSystem: ForwardingFileSystem {
  let behind: any FileSystem

  init(_ behind: any FileSystem) { self.behind = behind }

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    UncountedFile(try behind.open(path, mode))
  }
}

private final class UncountedFile: ForwardingFile {
  let behind: any File

  init(_ behind: any File) { self.behind = behind }

  func linkCount() throws(FileIOError) -> Int { 1 }
}
