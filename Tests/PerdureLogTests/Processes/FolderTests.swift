import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Moved, removed or replaced folders of open stores")
struct FolderTests {
  enum Action: CaseIterable {
    case commits, checkpoint, compaction, close
  }

  private static func run(_ action: Action, _ old: FilledStore) throws {
    switch action {
    case .commits: try old.put(0..<40, round: 3)
    case .checkpoint: try old.store.checkpoint()
    case .compaction: try old.store.compact()
    case .close: try old.store.close()
    }
  }

  /// Makes a store with garbage and with a commit after its checkpoint.
  private static func make(_ ground: Ground) throws -> FilledStore {
    let old = try ground.open("s")
    try old.put(0..<40, round: 1)
    try old.store.checkpoint()
    try old.put(0..<40, round: 2)
    return old
  }

  @Test(
    "If another store is created at a removed path, the old store throws and does not change the new one",
    arguments: Ground.Kind.allCases, Action.allCases)
  func signOut(_ kind: Ground.Kind, _ action: Action) throws {
    let ground = try Ground(kind)
    let old = try Self.make(ground)
    try ground.fileSystem.removeTree(ground.path("s"))
    let new = try ground.open("s")
    try new.put(0..<40, round: 9)
    let files = try ground.files("s")
    expectReplaced("\(action)") { try Self.run(action, old) }
    for next in Action.allCases where next != action { _ = try? Self.run(next, old) }
    #expect(try ground.files("s") == files)
    #expect(try new.holds(0..<40, round: 9))
    #expect(try new.findings == [])
    try new.put(40..<60, round: 9)
    try new.store.close()
    #expect(try ground.open("s").holds(0..<60, round: 9))
  }

  @Test(
    "If a copy with the old LOCK replaces an open store, the open store does not change the copy",
    arguments: Ground.Kind.allCases, Action.allCases)
  func restored(_ kind: Ground.Kind, _ action: Action) throws {
    let ground = try Ground(kind)
    let old = try Self.make(ground)
    try ground.copy("s", "backup")
    try ground.fileSystem.removeTree(ground.path("s"))
    try ground.fileSystem.rename(ground.path("backup"), to: ground.path("s"))
    let copy = try ground.open("s")
    #expect(try copy.holds(0..<40, round: 2))
    let files = try ground.files("s")
    expectReplaced("\(action)") { try Self.run(action, old) }
    for next in Action.allCases where next != action { _ = try? Self.run(next, old) }
    #expect(try ground.files("s") == files)
    try copy.put(0..<40, round: 4)
    #expect(try copy.findings == [])
  }

  @Test(
    "A removed store stays readable, and its commits fail at a new segment", arguments: Ground.Kind.allCases
  )
  func removed(_ kind: Ground.Kind) throws {
    let ground = try Ground(kind)
    let old = try Self.make(ground)
    let snapshot = old.store.snapshot()
    try ground.fileSystem.removeTree(ground.path("s"))
    expectReplaced { try old.put(0..<20, round: 3) }
    expectReplaced("later") { try old.put(0..<1, round: 3) }
    #expect(snapshot.count(in: old.rows) == 40)
    #expect(try snapshot.value(id: 1, in: old.rows)?.count == 301)
    expectReplaced("close") { try old.store.close() }
    #expect(try ground.fileSystem.kind(of: ground.path("s")) == nil)
  }

  @Test(
    "If SUPERBLOCK is removed, the open store is poisoned, and a salvage restores every commit",
    arguments: Ground.Kind.allCases, Action.allCases)
  func superblockRemoved(_ kind: Ground.Kind, _ action: Action) throws {
    let ground = try Ground(kind)
    let old = try Self.make(ground)
    try ground.fileSystem.remove(ground.path("s") + "/SUPERBLOCK")
    var committed: UInt64 = 0
    let error = #expect(throws: StoreError.self) {
      if action != .commits { return try Self.run(action, old) }
      for id in 0..<40 as Range<UInt64> {
        try old.put(id..<(id + 1), round: 3)
        committed = id + 1
      }
    }
    #expect(error?.code == .poisoned && error?.place?.hasSuffix("/SUPERBLOCK") == true)
    #expect(error?.message.contains("SUPERBLOCK was removed") == true)
    for next in Action.allCases where next != action { _ = try? Self.run(next, old) }
    let opening = #expect(throws: StoreError.self) { try ground.open("s") }
    #expect(opening?.code == .corruption && opening?.message.contains("Store.salvage") == true)
    let report = try Store.salvage(
      from: ground.path("s"), to: ground.path("t"), options: ground.options())
    #expect(report.damages.map(\.reason) == [.superblock] && report.keys == 40)
    let new = try ground.open("t")
    // The commit that threw may or may not be in the log.
    for id in 0..<40 as Range<UInt64> where action != .commits || id != committed {
      let value = try new.store.snapshot().value(id: id, in: new.rows)
      #expect(value?.first == (id < committed ? 3 : 2), "id \(id), \(committed) commits")
    }
  }

  @Test("If LOCK is removed, the error names it", arguments: ["s", "SUPERBLOCK"], Ground.Kind.allCases)
  func lockRemoved(_ folder: String, _ kind: Ground.Kind) throws {
    let ground = try Ground(kind)
    let store = try ground.open(folder)
    try store.put(0..<1, round: 1)
    try ground.fileSystem.remove(ground.path(folder) + "/LOCK")
    let error = #expect(throws: StoreError.self) { try store.store.checkpoint() }
    #expect(error?.code == .poisoned && error?.message.contains("the file LOCK in it") == true)
    #expect(error?.place == ground.path(folder) + "/LOCK")
  }

  @Test(
    "A moved store can still be written, and is complete at its new path", arguments: Ground.Kind.allCases)
  func moved(_ kind: Ground.Kind) throws {
    let ground = try Ground(kind)
    let old = try Self.make(ground)
    try ground.fileSystem.rename(ground.path("s"), to: ground.path("t"))
    try Self.useElsewhere(old, ground)
    for action in Action.allCases { try Self.run(action, old) }
    #expect(try ground.fileSystem.kind(of: ground.path("s")) == nil)
    let again = try ground.open("t")
    #expect(again.store.recoveryReport.wasClosed)
    #expect(try again.holds(0..<40, round: 3))
    #expect(try again.findings == [])
    #expect(try ground.open("backup").holds(0..<40, round: 2))
  }

  /// Writes a value in pieces, verifies a moved store, and makes a backup. Each step opens files by
  /// their names.
  private static func useElsewhere(_ moved: FilledStore, _ ground: Ground) throws {
    let writer = try moved.store.makeBlobWriter()
    try writer.append([UInt8](repeating: 5, count: 100_000))
    let blob = try writer.finish()
    try moved.store.write { try $0.put(blob, id: 90, in: moved.rows) }
    #expect(try moved.store.snapshot().value(id: 90, in: moved.rows) == [UInt8](repeating: 5, count: 100_000))
    try moved.store.write { try $0.remove(id: 90, in: moved.rows) }
    #expect(try moved.findings == [])
    try moved.store.backup(to: ground.path("backup"))
  }

  @Test(
    "A moved store and a new store at its old path use only their own folders",
    arguments: Ground.Kind.allCases)
  func movedAndReplaced(_ kind: Ground.Kind) throws {
    let ground = try Ground(kind)
    let old = try Self.make(ground)
    try ground.fileSystem.rename(ground.path("s"), to: ground.path("t"))
    let new = try ground.open("s")
    try new.put(0..<40, round: 8)
    try new.put(0..<40, round: 9)
    for action in Action.allCases {
      try Self.run(action, old)
      if action == .commits { continue }
      #expect(try new.holds(0..<40, round: 9))
    }
    try new.store.checkpoint()
    try new.store.compact()
    try new.store.close()
    #expect(try ground.open("t").holds(0..<40, round: 3))
    #expect(try ground.open("s").holds(0..<40, round: 9))
  }

  @Test("Readers of a moved store can still refresh beside the writer", arguments: Ground.Kind.allCases)
  func movedReader(_ kind: Ground.Kind) throws {
    let ground = try Ground(kind)
    let old = try Self.make(ground)
    let reader = try ground.open("s", isReadOnly: true)
    try ground.fileSystem.rename(ground.path("s"), to: ground.path("t"))
    try old.put(0..<40, round: 3)
    try old.store.checkpoint()
    try old.store.compact()
    #expect(try reader.store.refresh())
    #expect(try reader.holds(0..<40, round: 3))
    #expect(try reader.findings == [])
    #expect(try old.store.readers.count == 1)
  }

  @Test(
    "A reader's refresh throws after removal or replacement, and its old state stays readable",
    arguments: Ground.Kind.allCases,
    [true, false])
  func replacedReader(_ kind: Ground.Kind, isReplaced: Bool) throws {
    let ground = try Ground(kind)
    let old = try Self.make(ground)
    let reader = try ground.open("s", isReadOnly: true)
    let snapshot = reader.store.snapshot()
    try ground.fileSystem.removeTree(ground.path("s"))
    let new = isReplaced ? try ground.open("s") : nil
    try new?.put(0..<40, round: 9)
    let error = #expect(throws: StoreError.self) { try reader.store.refresh() }
    #expect(error?.code == .notAStore)
    #expect(error?.message.contains("removed or replaced") == true)
    #expect(snapshot.count(in: reader.rows) == 40)
    #expect(try snapshot.value(id: 1, in: reader.rows)?.count == 301)
    withExtendedLifetime(old) {}
  }
}
