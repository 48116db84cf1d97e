package import PerdureFileIO
import PerdureLog
package import PerdureTestSupport

// Power cuts during backups. A program commits, compacts and makes full and incremental backups.
// After every cut, each backup either does not exist, or is complete and equal to the state of its
// commit. Acknowledged backups exist. The store itself is checked as in a program without backups.
// Then the program makes the next incremental backup. The backup that shares files with it is
// checked again.

/// Programs that back up their store.
package struct BackupCrashSubject: CrashSubject {
  /// A sync that backups omit. The check must detect the omission.
  package enum Omission: CaseIterable, Sendable {
    /// The sync of the files.
    case files
    /// The sync of the names in the draft folder.
    case names
    /// The sync of the folder's own name.
    case parent
  }

  package var omission: Omission?
  package let sectorLengths = [512, 4096]

  package init(omission: Omission? = nil) { self.omission = omission }

  package var name: String { omission.map { "backups without syncs of \($0)" } ?? "backups" }

  package func program(seed: UInt64) -> BackupCrashProgram {
    BackupCrashProgram(seed: seed, omission: omission)
  }
}

/// One program that backs up its store.
package struct BackupCrashProgram: CrashProgram {
  private static let commits = 24
  let seed: UInt64
  let omission: BackupCrashSubject.Omission?

  static func options(_ fileSystem: any FileSystem) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 4096
    options.blobThresholdBytes = 1024
    options.reserveBytes = 0
    options.compactsAutomatically = false
    options.checkpoints = .manual
    return options
  }

  package func run(
    on fileSystem: any FileSystem, _ marker: CrashMarker
  ) async throws -> BackupCrashCheck {
    var random = SeededGenerator(seed: seed)
    let store = try Store(at: BackupCrashCheck.path, options: Self.options(fileSystem))
    let rows = try store.keyspace("rows", .dense)
    var check = BackupCrashCheck(first: store.snapshot().sequence)
    var options = BackupOptions()
    options.bytesPerSecond = nil
    if let omission { options.fileSystem = HastyFileSystem(fileSystem, without: omission) }
    for number in 0..<Self.commits {
      let label = Int(check.next)
      let (id, length) = (UInt64.random(in: 0..<12, using: &random), Int.random(in: 0...400, using: &random))
      let isLong = Int.random(in: 0..<8, using: &random) == 0
      let value = [UInt8](
        repeating: UInt8(truncatingIfNeeded: number + 1), count: isLong ? 1500 + length : length)
      let removed = UInt64.random(in: 12..<18, using: &random)
      marker.begin(label)
      try commit(number, value, at: id, removing: removed, in: rows, of: store)
      marker.acknowledge(label)
      check.note(value, id, number, removed)
      if number % 7 == 6 { try store.compact() }
      if number % 4 == 3 { try backUp(store, options, &check, marker) }
    }
    try store.close()
    return check
  }

  private func commit(
    _ number: Int, _ value: [UInt8], at id: UInt64, removing removed: UInt64, in rows: Keyspace,
    of store: Store
  ) throws {
    try store.write(durability: .powerLoss) { transaction in
      try transaction.put(value, id: id, in: rows)
      try transaction.put([UInt8(number)], id: removed, in: rows)
      if number % 3 == 0 { try transaction.remove(id: 12 + removed % 6, in: rows) }
    }
  }

  private func backUp(
    _ store: Store, _ options: BackupOptions, _ check: inout BackupCrashCheck, _ marker: CrashMarker
  ) throws {
    let number = check.backups.count
    check.backups.append(check.next - 1)
    marker.begin(BackupCrashCheck.label(ofBackup: number))
    let report = try store.backup(
      to: BackupCrashCheck.path(ofBackup: number),
      since: number % 3 != 0 ? BackupCrashCheck.path(ofBackup: number - 1) : nil, options: options)
    check.noteShared(report)
    marker.acknowledge(BackupCrashCheck.label(ofBackup: number))
  }
}

/// The expected contents of the store and its backups.
package struct BackupCrashCheck: CrashCheck {
  static let path = "/store"
  private static let firstLabel = 1 << 40

  static func path(ofBackup number: Int) -> String { "/backup \(number)" }
  static func label(ofBackup number: Int) -> Int { firstLabel + number }

  /// The last commit before the first noted one.
  private let first: UInt64
  /// The contents after `first` and after each noted commit.
  private var contents: [[UInt64: [UInt8]]] = [[:]]
  /// The commit of each backup.
  var backups: [UInt64] = []
  /// Guarded, because the checks of disks count shared bytes too.
  private let shared = Guarded(SharedBytes())

  package var sharedBytes: SharedBytes { shared.withLock { $0 } }

  init(first: UInt64) { self.first = first }

  /// The next commit.
  var next: UInt64 { first + UInt64(contents.count) }

  mutating func note(_ value: [UInt8], _ id: UInt64, _ number: Int, _ removed: UInt64) {
    var content = contents[contents.count - 1]
    content[id] = value
    content[removed] = [UInt8(number)]
    if number % 3 == 0 { content[12 + removed % 6] = nil }
    contents.append(content)
  }

  func noteShared(_ report: BackupReport) { shared.withLock { $0.inPrograms += report.bytesShared } }

  package func recover(_ fileSystem: SimulatedFileSystem, _ context: CrashContext) throws -> Recovered {
    Recovered(
      store: try Store(at: Self.path, options: BackupCrashProgram.options(fileSystem)), fileSystem: fileSystem
    )
  }

  package struct Recovered {
    let store: Store
    let fileSystem: SimulatedFileSystem
  }

  package func isDuringRecovery(_ context: CrashContext) -> Bool { context.recoveries > 0 }

  package func verify(_ recovered: Recovered, _ context: CrashContext) throws {
    let (store, fileSystem) = (recovered.store, recovered.fileSystem)
    let commits = context.acknowledged.filter { $0 < Self.firstLabel }
    let sequence = store.snapshot().sequence
    guard sequence >= commits.max().map({ UInt64($0) }) ?? 0 else {
      throw Violation("commit \(commits.max() ?? 0) was promised, but the log ends at \(sequence)")
    }
    if sequence >= first { try compare(store, with: sequence, "the store") }
    var newest: (path: String, commit: UInt64)?
    for (number, commit) in backups.enumerated() {
      let path = Self.path(ofBackup: number)
      guard try fileSystem.kind(of: path) != nil else {
        guard !context.acknowledged.contains(Self.label(ofBackup: number)) else {
          throw Violation("backup \(number) was acknowledged, but is missing")
        }
        continue
      }
      try checkBackup(path, commit, fileSystem)
      newest = (path, commit)
    }
    try goOn(store, since: newest?.path, fileSystem)
    if let newest { try checkBackup(newest.path, newest.commit, fileSystem) }
    try store.close()
  }

  private func checkBackup(_ path: String, _ commit: UInt64, _ fileSystem: SimulatedFileSystem) throws {
    var options = BackupCrashProgram.options(fileSystem)
    (options.isReadOnly, options.registersAsReader, options.createsIfMissing) = (true, false, false)
    let backup: Store
    do { backup = try Store(at: path, options: options) } catch {
      throw Violation("\(path) is not a complete backup: \(error)")
    }
    guard backup.snapshot().sequence == commit else {
      throw Violation("\(path) contains commit \(backup.snapshot().sequence), not \(commit)")
    }
    try compare(backup, with: commit, path)
    let report = try backup.verify()
    guard report.isClean else { throw Violation("\(path) is damaged: \(report.findings)") }
    try backup.close()
  }

  /// Checks that the remains of an interrupted backup do not prevent the next backup.
  private func goOn(_ store: Store, since newest: String?, _ fileSystem: SimulatedFileSystem) throws {
    guard store.snapshot().sequence > first else { return }
    var options = BackupOptions()
    options.bytesPerSecond = nil
    // The number of an unfinished backup, if one exists.
    let number = backups.indices.first { (try? fileSystem.kind(of: Self.path(ofBackup: $0))) == .some(nil) }
    let path = number.map(Self.path(ofBackup:)) ?? "/another"
    let report = try store.backup(to: path, since: newest, options: options)
    shared.withLock { $0.afterCuts += report.bytesShared }
    try checkBackup(path, report.sequence, fileSystem)
  }

  private func compare(_ store: Store, with sequence: UInt64, _ what: String) throws {
    var content: [UInt64: [UInt8]] = [:]
    try store.snapshot().forEach(in: store.keyspace("rows", .dense)) { (id: UInt64, value: RawSpan) in
      content[id] = value.withUnsafeBytes { Array($0) }
      return true
    }
    let index = Int(sequence - first)
    guard index < contents.count, content == contents[index] else {
      throw Violation("the contents of \(what) differ from those after commit \(sequence)")
    }
  }
}

/// Omits some syncs of backups, and reports success.
private final class HastyFileSystem: ForwardingFileSystem {
  let behind: any FileSystem
  private let omission: BackupCrashSubject.Omission

  init(_ behind: any FileSystem, without omission: BackupCrashSubject.Omission) {
    (self.behind, self.omission) = (behind, omission)
  }

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    let file = try behind.open(path, mode)
    return omission == .files && path.contains(".copy/") ? HastyFile(file) : file
  }

  func syncDirectory(_ path: String) throws(FileIOError) {
    switch omission {
    case .names where path.hasSuffix(".copy"), .parent where path == "/": return
    default: try behind.syncDirectory(path)
    }
  }
}

private final class HastyFile: ForwardingFile {
  let behind: any File

  init(_ behind: any File) { self.behind = behind }

  func sync(_ mode: SyncMode) throws(FileIOError) {}
}
