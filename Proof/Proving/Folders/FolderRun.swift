import PerdureFileIO
import PerdureLog
import PerdureTestSupport

// The rules for one history. The following must be true after each step:
//
//  - All calls of a writer that still owns its folder succeed, even if the folder was moved.
//  - A writer whose LOCK or SUPERBLOCK was removed gets `.poisoned`, at the latest when it begins
//    the next segment. All later calls throw the same.
//  - A call to a store changes no file of another store.
//  - A store that is open for writing cannot be opened for writing again, even without its LOCK.
//  - The threads of a writer that owns its folder report no failure. The threads of all other
//    writers change no file of another store.
//  - The next opening finds all acknowledged commits of a folder that still exists, even if the
//    folder was moved. Without its SUPERBLOCK, a folder is corrupt.

/// A history of stores whose folders change while they are open.
struct FolderRun {
  /// A change of a folder.
  enum Change: String, CaseIterable {
    case moved, movedBack = "moved back", removed, restored, refilled, lockRemoved = "LOCK removed"
    case superblockRemoved = "SUPERBLOCK removed"
  }

  private(set) var tally = FolderTally()
  private let fileSystem: any FileSystem
  private let root: String
  private let options: StoreOptions
  /// Whether the stores compact and write checkpoints on their own threads, not in calls.
  private let usesThreads: Bool
  private var random: SeededGenerator
  private var folders: [StoreFolder] = []
  private var writers: [FolderWriter] = []
  private var round: UInt8 = 0
  private var nextName = 0

  init(_ fileSystem: any FileSystem, _ root: String, _ random: SeededGenerator, _ canary: FoldersCanary?) {
    (self.fileSystem, self.root, self.random) = (fileSystem, root, random)
    usesThreads = self.random.next() % 2 == 0
    options = FolderWorld.options(
      canary?.spoiled(fileSystem) ?? fileSystem, checksFolder: canary?.checksFolder ?? true,
      usesThreads: usesThreads)
  }

  /// The path at which programs expect their store.
  private var path: String { root + "/s" }

  mutating func run() throws {
    tally.histories = 1
    tally.historiesWithThreads = usesThreads ? 1 : 0
    try open(path)
    for _ in 0..<Int.random(in: 30...90, using: &random) { try step() }
    for writer in writers { try close(writer) }
    for folder in folders {
      guard let path = folder.path, folder.hasSuperblock else { continue }
      try open(path)
      guard let writer = writers.last else { continue }
      let findings = try writer.store.verify().findings
      if !findings.isEmpty { throw Violation("\(path): \(findings)") }
      try close(writer)
    }
  }

  private mutating func step() throws {
    for writer in writers { writer.waitForThreads() }
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<9: if let writer = writers.randomElement(using: &random) { try commit(writer) }
    case 9...11:
      guard let writer = writers.randomElement(using: &random) else { return }
      if usesThreads { return try holdOrRelease(writer) }
      let compacts = random.next() % 3 == 0
      try call(writer) { store in if compacts { try store.compact() } else { try store.checkpoint() } }
    case 12: if let writer = writers.randomElement(using: &random) { try close(writer) }
    case 13, 14: try open(path)
    case 15:
      let places = folders.compactMap(\.path)
      if let place = places.randomElement(using: &random) { try open(place) }
    default: try change()
    }
  }
}

// MARK: - Stores

extension FolderRun {
  private mutating func open(_ path: String) throws {
    tally.operations += 1
    let folder = folders.first { $0.path == path } ?? StoreFolder(path)
    let writer = writers.first { $0.folder === folder }
    do {
      let store = try Store(at: path, options: options)
      if writer != nil { throw Violation("\(path) has two writers") }
      if !folder.hasSuperblock { throw Violation("\(path) opens without SUPERBLOCK") }
      if !folders.contains(where: { $0 === folder }) { folders.append(folder) }
      let opened = try FolderWriter(store, folder)
      writers.append(opened)
      try folder.adopt(store, opened.keyspace)
    } catch let error as StoreError {
      if error.code == .corruption, !folder.hasSuperblock { return }
      guard error.code == .locked, writer != nil else { throw Violation("\(path) does not open: \(error)") }
      tally.refusedOpenings += 1
    }
  }

  private mutating func commit(_ writer: FolderWriter) throws {
    round = round % 250 + 1
    let ids = (0..<Int.random(in: 1...6, using: &random)).map { _ in UInt64.random(in: 0..<30, using: &random)
    }
    let (round, keyspace) = (round, writer.keyspace)
    let isDone = try call(writer) { store in
      try store.write {
        for id in Set(ids) { try $0.put(FolderWorld.value(id, round), id: id, in: keyspace) }
      }
    }
    for id in Set(ids) {
      if isDone {
        writer.folder.rows[id] = round
        writer.folder.doubts[id] = nil
        if !writer.ownsFolder { writer.bytesSinceLoss += FolderWorld.value(id, round).count }
      } else {
        writer.folder.doubts[id, default: [writer.folder.rows[id]]].insert(round)
      }
    }
    // The slack allows for values in separate files, which are not in the log.
    if writer.bytesSinceLoss > 2 * FolderWorld.segmentCapacity + 6 * 1401 {
      throw Violation("commits are acknowledged past the segment in a folder that is not the writer's")
    }
  }

  /// Releases all snapshots of a store, or makes one.
  private mutating func holdOrRelease(_ writer: FolderWriter) throws {
    tally.operations += 1
    try leavingOthers(writer) {
      if writer.held.isEmpty { writer.held = [writer.store.snapshot()] } else { writer.held = [] }
    }
  }

  private mutating func close(_ writer: FolderWriter) throws {
    writer.held = []
    writer.waitForThreads()
    if writer.ownsFolder {
      let statistics = try writer.store.statistics
      if let failure = statistics.lastCompactionFailure ?? statistics.lastCheckpointFailure {
        throw Violation("a thread failed in the writer's own folder: \(failure)")
      }
      if usesThreads {
        tally.compactedBytes += statistics.compactionBytesSinceOpen
        tally.threadCheckpoints += statistics.checkpointsSinceOpen
      }
    }
    try call(writer) { try $0.close() }
    writers.removeAll { $0 === writer }
  }

  /// Calls a store, and checks the outcome and the files of other stores.
  ///
  /// - Returns: Whether the call succeeded.
  @discardableResult
  private mutating func call<R>(_ writer: FolderWriter, _ body: (Store) throws -> R) throws -> Bool {
    tally.operations += 1
    return try leavingOthers(writer) { try isDone(writer, body) }
  }

  /// Calls a store.
  ///
  /// - Returns: Whether the call succeeded.
  private mutating func isDone<R>(_ writer: FolderWriter, _ body: (Store) throws -> R) throws -> Bool {
    do {
      _ = try body(writer.store)
      if writer.isRefused { throw Violation("a poisoned store accepts a commit") }
    } catch let error as StoreError {
      guard !writer.ownsFolder, error.code == .poisoned else { throw Violation("a call failed: \(error)") }
      if !writer.isRefused { tally.refusedWriters += 1 }
      writer.isRefused = true
      return false
    }
    return true
  }

  /// Runs `body`, waits for the work that it starts on threads of the store, and checks that the
  /// files of other stores are unchanged.
  private func leavingOthers<R>(_ writer: FolderWriter, _ body: () throws -> R) throws -> R {
    let others = folders.compactMap { $0 === writer.folder ? nil : $0.path }
    let before = try others.map { try FolderWorld.files(in: $0, fileSystem) }
    let result = try body()
    writer.waitForThreads()
    for (path, files) in zip(others, before) where try FolderWorld.files(in: path, fileSystem) != files {
      throw Violation("a store that is not in \(path) has changed its files")
    }
    return result
  }
}

// MARK: - Folders

extension FolderRun {
  private mutating func change() throws {
    guard let change = Change.allCases.randomElement(using: &random) else { return }
    let here = folders.first { $0.path == path }
    switch (change, here) {
    case (.moved, let folder?): try move(folder, to: newName())
    case (.movedBack, nil):
      guard let folder = folders.filter({ $0.path != nil }).randomElement(using: &random) else { return }
      try move(folder, to: path)
    case (.removed, let folder?): try remove(folder)
    case (.restored, let folder?):
      let files = try FolderWorld.files(in: path, fileSystem)
      try remove(folder)
      try fileSystem.createDirectory(path)
      try restore(folder, files)
    case (.refilled, let folder?):
      let files = try FolderWorld.files(in: path, fileSystem)
      for name in files.keys.sorted() { try fileSystem.remove(path + "/" + name) }
      lose(folder)
      try restore(folder, files)
    case (.lockRemoved, let folder?): guard try remove("LOCK", of: folder) else { return }
    case (.superblockRemoved, let folder?):
      guard try remove("SUPERBLOCK", of: folder) else { return }
      folder.hasSuperblock = false
    default: return
    }
    tally.changes[change, default: 0] += 1
  }

  private mutating func newName() -> String {
    nextName += 1
    return root + "/moved\(nextName)"
  }

  private func move(_ folder: StoreFolder, to target: String) throws {
    guard let source = folder.path else { return }
    try fileSystem.rename(source, to: target)
    folder.path = target
  }

  private func remove(_ folder: StoreFolder) throws {
    if let path = folder.path { try fileSystem.removeTree(path) }
    lose(folder)
  }

  /// Removes a file that the writers of a folder need.
  ///
  /// - Returns: False if nothing was removed. A folder without segments keeps its files, because
  ///   without them it opens as a new store. The file may also be absent: a restored store has no
  ///   LOCK before it is opened.
  private func remove(_ name: String, of folder: StoreFolder) throws -> Bool {
    guard folder.hasSegments, try fileSystem.kind(of: path + "/" + name) != nil else { return false }
    try fileSystem.remove(path + "/" + name)
    for writer in writers where writer.folder === folder { writer.ownsFolder = false }
    return true
  }

  /// Notes that the files of a folder were removed or belong to another store.
  private func lose(_ folder: StoreFolder) {
    folder.path = nil
    for writer in writers where writer.folder === folder { writer.ownsFolder = false }
  }

  /// Writes files to the path of a store that was removed. They count as another store.
  private mutating func restore(_ folder: StoreFolder, _ files: [String: [UInt8]]) throws {
    try FolderWorld.write(files, into: path, fileSystem)
    let copy = StoreFolder(path, folder.rows, hasSegments: folder.hasSegments)
    copy.hasSuperblock = folder.hasSuperblock
    copy.doubts = folder.doubts
    folders.append(copy)
  }
}
