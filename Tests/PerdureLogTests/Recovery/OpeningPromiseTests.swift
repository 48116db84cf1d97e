import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Synchronization
import Testing

@testable import PerdureLog

@Suite("Openings after a clean close")
struct OpeningPromiseTests {
  private static let path = "/s.perdure"

  private struct Lost: Error {}
  private struct Surplus: Error {}

  /// The kind of the first change after an opening.
  enum FirstChange: CaseIterable {
    case commit, checkpoint, compaction, longValue, blobWriter

    func make(_ store: Store, _ rows: Keyspace) throws {
      let long = [UInt8](repeating: 9, count: 3000)
      switch self {
      case .commit: try store.write(durability: .powerLoss) { try $0.put([1], id: 100, in: rows) }
      case .checkpoint: try store.checkpoint()
      case .compaction: try store.compact()
      case .longValue: try store.write(durability: .powerLoss) { try $0.put(long, id: 101, in: rows) }
      case .blobWriter:
        let writer = try store.makeBlobWriter()
        try writer.append(long)
        let blob = try writer.finish()
        try store.write(durability: .powerLoss) { try $0.put(blob, id: 102, in: rows) }
      }
    }
  }

  private static func open(
    _ fileSystem: any FileSystem, _ adapt: (inout StoreOptions) -> Void = { _ in }
  ) throws -> (Store, Keyspace) {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 4096
    options.blobThresholdBytes = 2048
    options.checkpoints = .manual
    options.compactsAutomatically = false
    options.reserveBytes = 0
    adapt(&options)
    let store = try Store(at: path, options: options)
    return (store, try store.keyspace("rows", .dense))
  }

  private static func add(_ number: Int, _ store: Store, _ rows: Keyspace) throws {
    let value = [UInt8](repeating: UInt8(number), count: 600)
    try store.write(durability: .powerLoss) { transaction in
      try transaction.put(value, id: UInt64(number), in: rows)
      // Garbage, for compactions.
      try transaction.put(value, id: 99, in: rows)
    }
  }

  private static func numbers(_ store: Store, _ rows: Keyspace) throws -> [Int] {
    var found: [Int] = []
    try store.snapshot().forEach(in: rows, ids: 0...50) { id, value in
      found.append(value.withUnsafeBytes { $0.allSatisfy { $0 == UInt8(id) } } ? Int(id) : -1)
      return true
    }
    return found
  }

  private static func superblock(_ fileSystem: any FileSystem) throws -> Superblock {
    let bytes = try fileSystem.open(path + "/SUPERBLOCK", .read).read(Superblock.fileLength, at: 0)
    return try bytes.withUnsafeBytes { try Superblock.newest(in: $0) }
  }

  @Test("An opening that only reads writes nothing and syncs nothing, and neither does its close")
  func readsOnly() throws {
    let fileSystem = SimulatedFileSystem()
    do {
      let (store, rows) = try Self.open(fileSystem)
      try Self.add(1, store, rows)
      try store.close()
    }
    for closes in [true, false, true] {
      let before = fileSystem.operationCount
      let (store, rows) = try Self.open(fileSystem)
      #expect(store.recoveryReport.wasClosed && store.engine.promise.isPending)
      #expect(try Self.numbers(store, rows) == [1])
      if closes { try store.close() }
      #expect(fileSystem.operationCount == before)
    }
  }

  @Test("The first change states in the superblock that the store is open", arguments: FirstChange.allCases)
  func firstChange(_ change: FirstChange) throws {
    let fileSystem = SimulatedFileSystem()
    do {
      let (store, rows) = try Self.open(fileSystem)
      for number in 1...9 { try Self.add(number, store, rows) }
      try store.close()
    }
    let (store, rows) = try Self.open(fileSystem)
    let closed = try Self.superblock(fileSystem)
    #expect(closed.isClosed)
    try change.make(store, rows)
    #expect(!store.engine.promise.isPending)
    #expect(try !Self.superblock(fileSystem).isClosed)
    try store.close()
    #expect(try Self.superblock(fileSystem).isClosed)
  }

  @Test("An opening that finds an unused file removes it and marks the store as open at once")
  func leftovers() throws {
    let fileSystem = SimulatedFileSystem()
    do {
      let (store, rows) = try Self.open(fileSystem)
      try Self.add(1, store, rows)
      try store.close()
    }
    let name = Self.path + "/" + StoreFileName.blob(7).string
    try fileSystem.open(name, .create).close()
    let (store, _) = try Self.open(fileSystem)
    #expect(!store.engine.promise.isPending && store.recoveryReport.orphansRemoved == 1)
    #expect(try fileSystem.kind(of: name) == nil)
  }

  @Test("The opening of a store that was not closed makes the log durable and marks the store as open")
  func notClosed() throws {
    let fileSystem = SimulatedFileSystem()
    do {
      let (store, rows) = try Self.open(fileSystem)
      try Self.add(1, store, rows)
      try store.write(durability: .processCrash) { try $0.put([2], id: 2, in: rows) }
      store.engine.abandon()
    }
    /// The contents of the stores that a power cut can leave now.
    func contents() throws -> Set<[Int]> {
      var explorer = CrashExplorer()
      explorer.makesGarbage = false
      let journal = fileSystem.journal
      return try Set(
        explorer.images(of: journal, after: journal.operationCount).map { image in
          let (store, rows) = try Self.open(image.fileSystem())
          return try Self.numbers(store, rows)
        })
    }
    #expect(try contents() == [[1], [1, 2]])
    let (store, _) = try Self.open(fileSystem)
    #expect(!store.engine.promise.isPending && !store.recoveryReport.wasClosed)
    #expect(try !Self.superblock(fileSystem).isClosed)
    #expect(try contents() == [[1, 2]])
  }

  /// In the second round, the close does not sync the superblock, as if the process ended before
  /// that sync.
  @Test(
    "Power cuts around openings without a sync, and around their first changes, lose no commit",
    arguments: FirstChange.allCases, [0, Int.max])
  func powerCuts(_ change: FirstChange, closeTailBytes: Int) throws {
    var explorer = CrashExplorer()
    (explorer.recoveryDepth, explorer.imagesPerOperationMax) = (change == .commit ? 1 : 0, 4)
    let adapt = { (options: inout StoreOptions) in options.checkpoints.closeTailBytes = closeTailBytes }
    let report = try explorer.explore { fileSystem, marker in
      let outer = UnsyncedSuperblock(fileSystem)
      var number = 0
      for round in 0..<3 {
        let (store, rows) = try Self.open(outer, adapt)
        if round > 0 { try change.make(store, rows) }
        number += 1
        marker.begin(number)
        try Self.add(number, store, rows)
        marker.acknowledge(number)
        outer.isIgnored = round == 1
        try store.close()
        outer.isIgnored = false
        let (reader, kept) = try Self.open(outer, adapt)
        guard reader.engine.promise.isPending else { throw Lost() }
        guard try Self.numbers(reader, kept) == Array(1...number) else { throw Lost() }
      }
    } recover: { fileSystem, _ in
      try Self.open(fileSystem, adapt).0.close()
      let (store, rows) = try Self.open(fileSystem, adapt)
      try change.make(store, rows)
      return store
    } verify: { store, context in
      let numbers = try Self.numbers(store, try store.keyspace("rows", .dense))
      guard numbers.starts(with: context.acknowledged) else { throw Lost() }
      guard context.begun.starts(with: numbers) else { throw Surplus() }
      guard try store.verify().isClean else { throw Lost() }
    }
    try report.check()
  }
}

/// Ignores syncs of the superblock while `isIgnored` is true. This simulates a process that ends
/// before the sync.
private final class UnsyncedSuperblock: ForwardingFileSystem {
  let behind: any FileSystem
  private let ignored = Atomic<Bool>(false)

  init(_ behind: any FileSystem) { self.behind = behind }

  var isIgnored: Bool {
    get { ignored.load(ordering: .relaxed) }
    set { ignored.store(newValue, ordering: .relaxed) }
  }

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    let file = try behind.open(path, mode)
    return path.hasSuffix("/SUPERBLOCK") ? Superblock(behind: file, self) : file
  }

  private final class Superblock: ForwardingFile {
    let behind: any File
    private let switchboard: UnsyncedSuperblock

    init(behind: any File, _ switchboard: UnsyncedSuperblock) {
      (self.behind, self.switchboard) = (behind, switchboard)
    }

    func sync(_ mode: SyncMode) throws(FileIOError) {
      if !switchboard.isIgnored { try behind.sync(mode) }
    }
  }
}
