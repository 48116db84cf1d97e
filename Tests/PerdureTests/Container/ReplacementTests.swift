import PerdureFileIO
import PerdureLog
import PerdureTestSupport
import Testing

/// RP1 to RP3 of Store+Replacing.swift.
@Suite("Replacing a store by a copy of another store")
struct ReplacementTests {
  private func options(_ fileSystem: any FileSystem, creates: Bool = true) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 4096
    options.checkpoints = .manual
    options.compactsAutomatically = false
    options.createsIfMissing = creates
    return options
  }

  private func fill(_ path: String, _ text: String, _ disk: any FileSystem) throws {
    let store = try Store(at: path, options: options(disk))
    let rows = try store.keyspace("rows", .dense)
    for id in 1...6 as ClosedRange<UInt64> {
      try store.write { try $0.put(Array(text.utf8) + [UInt8](repeating: 1, count: 700), id: id, in: rows) }
    }
    try store.close()
  }

  /// The content of a store that is opened for writing, "nothing" for a new store, or "a part" if a
  /// row is missing.
  private func content(_ path: String, _ disk: any FileSystem) throws -> String {
    let store = try Store(at: path, options: options(disk))
    defer { try? store.close() }
    if store.recoveryReport.created { return "nothing" }
    let rows = try store.keyspace("rows", .dense)
    guard let value = try store.snapshot().value(id: 6, in: rows) else { return "a part" }
    return String(decoding: value.prefix { $0 > 1 }, as: UTF8.self)
  }

  private func replace(_ disk: any FileSystem) throws {
    try Store.replace("/target", with: "/source", options: options(disk))
  }

  /// Returns the journal of a disk on which a store was replaced, and the number of operations
  /// before the replacement.
  private func replaced() throws -> (journal: CrashJournal, begin: Int) {
    let disk = SimulatedFileSystem()
    try fill("/target", "old", disk)
    try fill("/source", "new", disk)
    let begin = disk.journal.operationCount
    try replace(disk)
    return (disk.journal, begin)
  }

  private func explorer(_ images: Int) -> CrashExplorer {
    var explorer = CrashExplorer(seed: SeededGenerator.seedFromEnvironment())
    explorer.imagesPerOperationMax = images
    return explorer
  }

  @Test(
    "After a power cut at any call, the target has the old or the new content")
  func opens() throws {
    let (journal, begin) = try replaced()
    let explorer = explorer(8)
    var found: [String: Int] = [:]
    for operation in begin...journal.operationCount {
      for image in explorer.images(of: journal, after: operation) {
        let content = try content("/target", image.fileSystem())
        found[content, default: 0] += 1
        #expect(["old", "new"].contains(content), "after operation \(operation), seed \(explorer.seed)")
        #expect(try self.content("/source", image.fileSystem()) == "new")
      }
    }
    #expect(found["old", default: 0] > 20 && found["new", default: 0] > 20, "\(found)")
  }

  @Test("After a power cut at any call, the replacement can be repeated")
  func repeats() throws {
    let (journal, begin) = try replaced()
    let explorer = explorer(8)
    for operation in begin...journal.operationCount {
      for image in explorer.images(of: journal, after: operation) {
        let disk = image.fileSystem()
        try replace(disk)
        #expect(try content("/target", disk) == "new", "after operation \(operation), seed \(explorer.seed)")
        #expect(try Set(disk.contents(of: "/")) == ["source", "target"])
      }
    }
  }

  @Test("A target with a leftover copy mark has the old or the new content after a power cut at any call")
  func markedTarget() throws {
    let disk = SimulatedFileSystem()
    try fill("/target", "old", disk)
    try fill("/source", "new", disk)
    // A power cut after the rename of a copy can leave the mark.
    try disk.open("/target/COPY.tmp", .create).close()
    try disk.syncDirectory("/target")
    let begin = disk.journal.operationCount
    try replace(disk)
    let explorer = explorer(32)
    for operation in begin...disk.journal.operationCount {
      for image in explorer.images(of: disk.journal, after: operation) {
        let content = try content("/target", image.fileSystem())
        #expect(["old", "new"].contains(content), "after operation \(operation), seed \(explorer.seed)")
      }
    }
  }

  @Test("After a second power cut, the target also has the old or the new content")
  func twice() throws {
    let (journal, begin) = try replaced()
    let (explorer, second) = (explorer(2), explorer(2))
    var states = 0
    for operation in stride(from: begin, through: journal.operationCount, by: 3) {
      for image in explorer.images(of: journal, after: operation) {
        for isRepetition in [true, false] {
          let disk = image.fileSystem()
          if isRepetition { try replace(disk) } else { _ = try content("/target", disk) }
          let again = disk.journal
          for later in stride(from: 0, through: again.operationCount, by: 4) {
            for image in second.images(of: again, after: later) {
              states += 1
              let content = try content("/target", image.fileSystem())
              #expect(
                ["old", "new"].contains(content), "after \(operation) and \(later), seed \(explorer.seed)")
            }
          }
        }
      }
    }
    #expect(states > 200)
  }

  @Test("If a reader cannot open an interrupted replacement, it can after a writer has opened the store")
  func reader() throws {
    let (journal, begin) = try replaced()
    let explorer = explorer(4)
    var refused = 0
    for operation in begin...journal.operationCount {
      for image in explorer.images(of: journal, after: operation) {
        let disk = image.fileSystem()
        var reading = options(disk)
        reading.isReadOnly = true
        do { try Store(at: "/target", options: reading).close() } catch let error as StoreError {
          refused += 1
          #expect(
            error.code == .notAStore && "\(error)".contains("open the store for writing once"), "\(error)")
          #expect(try content("/target", disk) == "new")
        }
        try Store(at: "/target", options: reading).close()
      }
    }
    #expect(refused > 0)
  }

  @Test(
    "After a store is destroyed, the copy of an unfinished replacement does not appear at the store's path")
  func abandoned() throws {
    let (journal, begin) = try replaced()
    let explorer = explorer(4)
    var met = 0
    for operation in begin...journal.operationCount {
      for image in explorer.images(of: journal, after: operation) {
        let disk = image.fileSystem()
        guard try disk.kind(of: "/target.copy/REPLACEMENT.tmp") != nil else { continue }
        guard try disk.kind(of: "/target/SUPERBLOCK") != nil else { continue }
        met += 1
        #expect(try content("/target", disk) == "old")
        #expect(try disk.kind(of: "/target.copy/REPLACEMENT.tmp") == nil)
        let other = image.fileSystem()
        try Store.destroy(at: "/target", options: options(other))
        #expect(try content("/target", other) == "nothing")
      }
    }
    #expect(met > 0)
  }

  @Test("An open store, or a store with a foreign file, is not replaced")
  func refused() throws {
    let disk = InMemoryFileSystem()
    try fill("/target", "old", disk)
    try fill("/source", "new", disk)
    let store = try Store(at: "/target", options: options(disk))
    let error = #expect(throws: StoreError.self) { try replace(disk) }
    #expect(error?.code == .locked)
    try store.close()
    #expect(try Set(disk.contents(of: "/")) == ["source", "target"])
    try disk.open("/target/notes.txt", .create).close()
    #expect(throws: StoreError.self) { try replace(disk) }
    try disk.remove("/target/notes.txt")
    #expect(try content("/target", disk) == "old")
    try replace(disk)
    #expect(try content("/target", disk) == "new")
  }

  @Test("A store can be replaced by itself, and a copy can be made at an unused path")
  func unusual() throws {
    let disk = InMemoryFileSystem()
    try fill("/source", "new", disk)
    try replace(disk)
    #expect(try content("/target", disk) == "new")
    try Store.replace("/source", with: "/source", options: options(disk))
    #expect(try content("/source", disk) == "new")
  }
}
