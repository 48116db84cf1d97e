import PerdureFileIO
import PerdureLog
import PerdureProving
import PerdureTestSupport
import Testing

/// One process has a store open, and another changes its folder and opens a store at its path.
@Suite("Folders that change under the store of another process")
struct FolderProcessesTests {
  @Test(
    "Only one process writes at the path; the other continues in the moved folder, or is poisoned",
    arguments: FolderPair.Change.allCases, [false, true])
  func changed(_ change: FolderPair.Change, isBusy: Bool) async throws {
    let mistakes = try await Self.run(change, isBusy: isBusy, nil)
    #expect(mistakes == [])
  }

  @Test(
    "Two processes detect each missing check, lock or handle of a folder",
    arguments: [
      (FoldersCanary.uncheckedFolder, FolderPair.Change.refilled, "has changed files of the second"),
      (.uncheckedFolder, .replaced, "of the first process: "),
      (.unlockedSegments, .lockRemoved, "is open in two processes"),
      (.paths, .moved, "of the first process: "),
    ])
  func canaries(_ canary: FoldersCanary, _ change: FolderPair.Change, _ mistake: String) async throws {
    let mistakes = try await Self.run(change, isBusy: false, canary)
    #expect(mistakes.contains { $0.contains(mistake) }, "\(mistakes)")
  }

  private static func run(
    _ change: FolderPair.Change, isBusy: Bool, _ canary: FoldersCanary?
  ) async throws -> [String] {
    let directory = try TemporaryDirectory()
    let pair = FolderPair(directory.path, change, canary)
    try pair.prepare()
    let (path, choice, fault) = (directory.path, change.rawValue, canary?.rawValue)
    let hasEnded = Guarded(false)
    let result = Guarded<Result<[String], any Error>?>(nil)
    // Exit tests wait on threads of the task pool, and the pool may have only two threads. So the
    // second writer has a thread outside of the pool.
    let isStarted = PlatformThread.start(name: "second writer") {
      let found = Result { try pair.mistakes(isBusy: isBusy) { hasEnded.withLock { $0 } } }
      result.withLock { $0 = found }
    }
    try #require(isStarted)
    await #expect(processExitsWith: .success) {
      [path = path as String, choice = choice as String, fault = fault as String?] in
      let change = try #require(FolderPair.Change(rawValue: choice))
      try FirstFolderWriter(path, change, fault.flatMap(FoldersCanary.init)).run()
    }
    hasEnded.withLock { $0 = true }
    while true {
      if let found = result.withLock({ $0 }) { return try found.get() }
      try await Task.sleep(for: .milliseconds(1))
    }
  }
}

/// The store of the second process, and the actions of both processes.
struct FolderPair: Sendable {
  enum Change: String, CaseIterable, Sendable {
    case moved
    case movedAndRestored = "moved and restored from a copy"
    case replaced = "replaced by a copy"
    case refilled = "refilled in place from a copy"
    case lockRemoved = "LOCK removed"

    /// Whether the first process still owns its folder, at another path.
    var keepsFolder: Bool { self == .moved || self == .movedAndRestored }
    /// Whether a store can be opened at the path, because it has other files.
    var freesPath: Bool { self != .lockRemoved }
  }

  enum Mark: String { case open, changed, outcome }

  static let rowsBefore = 0..<10 as Range<UInt64>
  static let segmentCapacity = 4096

  let root: String
  var path: String { root + "/s" }
  var moved: String { root + "/moved" }
  private var copy: String { root + "/copy" }
  private var mistakes: [String] = []
  private let change: Change
  private let canary: FoldersCanary?
  private let fileSystem = POSIXFileSystem()
  private var second: (store: Store, rows: Keyspace)?
  private var expected: [UInt64: [UInt8]] = [:]

  init(_ root: String, _ change: Change, _ canary: FoldersCanary?) {
    (self.root, self.change, self.canary) = (root, change, canary)
  }

  var options: StoreOptions {
    var options = StoreOptions()
    options.fileSystem = canary?.spoiled(fileSystem) ?? fileSystem
    options.segmentCapacityBytes = Self.segmentCapacity
    options.durability = .processCrash
    options.checkpoints = .manual
    options.compactsAutomatically = false
    options.reserveBytes = 0
    options.checksFolder = canary?.checksFolder ?? true
    return options
  }

  static func value(_ id: UInt64, of writer: UInt8) -> [UInt8] {
    [UInt8](repeating: writer, count: 300) + [UInt8(truncatingIfNeeded: id)]
  }

  /// Changes the folder after the first process has opened the store. Then checks both processes.
  ///
  /// - Parameter isBusy: Whether this process commits while the first process does.
  /// - Returns: The promises that were broken.
  func mistakes(isBusy: Bool, _ hasEnded: () -> Bool) throws -> [String] {
    var pair = self
    while try !pair.isSet(.open) && !hasEnded() { ForkedChild.waitAMillisecond() }
    try pair.expectLocked(path)
    try pair.apply()
    if change.freesPath { try pair.open() } else { try pair.expectLocked(path) }
    if change.keepsFolder { try pair.expectLocked(moved) }
    let files = try pair.files()
    try pair.set(.changed)
    if isBusy { for id in 0..<200 as Range<UInt64> { try pair.put(id) } }
    while !hasEnded() { ForkedChild.waitAMillisecond() }
    if try change.freesPath && !isBusy && pair.files() != files {
      pair.mistakes.append("the first process has changed files of the second")
    }
    try pair.checkFirst()
    try pair.checkSecond()
    return pair.mistakes
  }

  // MARK: - Marks

  private func path(of mark: Mark) -> String { root + "/" + mark.rawValue }

  func isSet(_ mark: Mark) throws -> Bool { try fileSystem.kind(of: path(of: mark)) != nil }

  /// Sets a mark with a text. Another process reads the text only as a whole.
  func set(_ mark: Mark, _ text: String = "") throws {
    let draft = path(of: mark) + ".tmp"
    try fileSystem.open(draft, .create).write(Array(text.utf8), at: 0)
    try fileSystem.rename(draft, to: path(of: mark))
  }

  private func text(of mark: Mark) throws -> String {
    let file = try fileSystem.open(path(of: mark), .read)
    return String(decoding: try file.read(Int(file.size()), at: 0), as: UTF8.self)
  }

  // MARK: - Folders

  /// Makes a store, closes it, and copies it.
  func prepare() throws {
    let store = try Store(at: path, options: options)
    let rows = try store.keyspace("rows", .dense)
    for id in Self.rowsBefore { try store.write { try $0.put(Self.value(id, of: 0), id: id, in: rows) } }
    try store.close()
    try Store.copy(at: path, to: copy, options: options)
  }

  private mutating func expectLocked(_ path: String) throws {
    do {
      try Store(at: path, options: options).close()
      mistakes.append("\(path) is open in two processes")
    } catch let error as StoreError {
      if error.code != .locked { mistakes.append("\(path): \(error)") }
    }
  }

  private func apply() throws {
    switch change {
    case .moved: try fileSystem.rename(path, to: moved)
    case .movedAndRestored:
      try fileSystem.rename(path, to: moved)
      try fileSystem.rename(copy, to: path)
    case .replaced:
      try fileSystem.removeTree(path)
      try fileSystem.rename(copy, to: path)
    case .refilled:
      for name in try fileSystem.contents(of: path) { try fileSystem.remove(path + "/" + name) }
      for name in try fileSystem.contents(of: copy) {
        try fileSystem.rename(copy + "/" + name, to: path + "/" + name)
      }
    case .lockRemoved: try fileSystem.remove(path + "/LOCK")
    }
  }

  /// Opens the store at the path in this process.
  private mutating func open() throws {
    let store = try Store(at: path, options: options)
    let rows = try store.keyspace("rows", .dense)
    second = (store, rows)
    expected = try KillChild.contents(store.snapshot(), rows)
    // Makes a commit, so that the log has a segment even if the store is new.
    try put(0)
  }

  private mutating func put(_ id: UInt64) throws {
    guard let second else { return }
    let value = Self.value(id, of: 2)
    try second.store.write { try $0.put(value, id: id, in: second.rows) }
    expected[id] = value
  }

  /// The bytes of the files at the path.
  private func files() throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in try fileSystem.contents(of: path) {
      let file = try fileSystem.open(path + "/" + name, .read)
      files[name] = try file.read(Int(file.size()), at: 0)
    }
    return files
  }

  // MARK: - Checks

  /// Checks the calls of the first process, and its folder if it still exists.
  private mutating func checkFirst() throws {
    let outcome = try FirstFolderWriter.Outcome(text(of: .outcome))
    let right = change.keepsFolder ? "done" : "\(StoreError.Code.poisoned)"
    for (call, result) in outcome.results where result != right {
      mistakes.append("\(call) of the first process: \(result), not \(right)")
    }
    if !change.keepsFolder {
      let bytes = outcome.acknowledged * Self.value(0, of: 1).count
      if bytes > 2 * Self.segmentCapacity {
        mistakes.append("the first process acknowledged commits past the segment: \(outcome.acknowledged)")
      }
      if change.freesPath { return }
    }
    var rows: [UInt64: [UInt8]] = [:]
    for id in Self.rowsBefore { rows[id] = Self.value(id, of: 0) }
    for id in FirstFolderWriter.ids(outcome.acknowledged) { rows[id] = Self.value(id, of: 1) }
    let place = change.keepsFolder ? moved : path
    try check(Store(at: place, options: options), has: rows, "the store of the first process")
  }

  /// Checks that the store at the path has exactly the rows of this process, now and after it is
  /// opened again.
  private mutating func checkSecond() throws {
    guard let second else { return }
    try check(second.store, has: expected, "the store at the path")
    do { try check(Store(at: path, options: options), has: expected, "the store opened again") } catch let
      error as StoreError
    { mistakes.append("the store at the path does not open again: \(error)") }
  }

  private mutating func check(_ store: Store, has rows: [UInt64: [UInt8]], _ what: String) throws {
    do {
      let found = try KillChild.contents(store.snapshot(), store.keyspace("rows", .dense))
      if found != rows { mistakes.append("\(what) has \(found.count) rows, not those \(rows.count)") }
      let findings = try store.verify().findings
      if !findings.isEmpty { mistakes.append("\(what): \(findings)") }
      try store.close()
    } catch let error as StoreError { mistakes.append("\(what): \(error)") }
  }
}

/// The process that opens the store first.
struct FirstFolderWriter {
  /// The result of the process's calls after the change, as text in a file.
  struct Outcome {
    /// The number of acknowledged commits.
    var acknowledged = 0
    /// The results of its calls: `done`, or the code of the error.
    var results: [(call: String, result: String)] = []

    init() {}

    init(_ text: String) throws {
      for line in text.split(separator: "\n") {
        let words = line.split(separator: " ").map(String.init)
        guard words.count == 2 else { throw Violation("\(text) is not an outcome") }
        if words[0] == "acknowledged" {
          acknowledged = Int(words[1]) ?? 0
        } else {
          results.append((words[0], words[1]))
        }
      }
    }

    var text: String {
      (["acknowledged \(acknowledged)"] + results.map { "\($0.call) \($0.result)" }).joined(separator: "\n")
    }
  }

  /// The number of commits after the change. They need many segments.
  private static let commitsAfter = 200

  /// The ids of the rows of the process's first commits.
  static func ids(_ count: Int) -> Range<UInt64> { 1000..<(1000 + UInt64(count)) }

  private let pair: FolderPair
  private let change: FolderPair.Change
  private let store: Store
  private let rows: Keyspace

  init(_ root: String, _ change: FolderPair.Change, _ canary: FoldersCanary?) throws {
    KillChild.endLater()
    self.change = change
    pair = FolderPair(root, change, canary)
    store = try Store(at: pair.path, options: pair.options)
    rows = try store.keyspace("rows", .dense)
  }

  /// Waits for the change of the folder, and then makes every kind of call. If this process keeps
  /// its folder, it also commits during the change.
  func run() throws {
    var outcome = Outcome()
    try pair.set(.open)
    attempt("commits", &outcome) { outcome in
      while try !pair.isSet(.changed) {
        if change.keepsFolder { try commit(&outcome) } else { ForkedChild.waitAMillisecond() }
      }
      for _ in 0..<Self.commitsAfter { try commit(&outcome) }
    }
    attempt("checkpoint", &outcome) { _ in try store.checkpoint() }
    attempt("compaction", &outcome) { _ in try store.compact() }
    attempt("close", &outcome) { _ in try store.close() }
    try pair.set(.outcome, outcome.text)
  }

  private func commit(_ outcome: inout Outcome) throws {
    let id = Self.ids(outcome.acknowledged).upperBound
    try store.write { try $0.put(FolderPair.value(id, of: 1), id: id, in: rows) }
    outcome.acknowledged += 1
  }

  private func attempt(_ call: String, _ outcome: inout Outcome, _ body: (inout Outcome) throws -> Void) {
    do {
      try body(&outcome)
      outcome.results.append((call, "done"))
    } catch {
      outcome.results.append((call, (error as? StoreError).map { "\($0.code)" } ?? "other"))
    }
  }
}
