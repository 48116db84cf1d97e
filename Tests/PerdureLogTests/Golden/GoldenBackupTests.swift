import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Backups and copies that an earlier version made")
struct GoldenBackupTests {
  /// A file with a backup stream, written once like a golden store.
  private static let stream = GoldenStore.folder + "/v7/stream/backup.stream"

  private let history = GoldenHistory()

  private func copy(_ golden: GoldenStore) throws -> TemporaryDirectory {
    let directory = try TemporaryDirectory()
    try GoldenStore.write(golden.files(), to: directory.file("golden"))
    return directory
  }

  private func superblock(_ path: String) throws -> Superblock {
    try SuperblockFile.open(in: POSIXFileSystem().openDirectory(path), .read).current
  }

  /// Compares a restored store with the history, opens it for writing, and compares again.
  private func checkRestored(_ path: String) throws {
    #expect(try superblock(path).branch.isUnopenedCopy)
    for isReadOnly in [true, false] {
      var options = StoreOptions()
      options.createsIfMissing = false
      options.isReadOnly = isReadOnly
      let store = try Store(at: path, options: options)
      #expect(try store.goldenContents() == history.contents)
      #expect(try store.goldenEntries() == history.entries)
      #expect(try store.verify().findings.map(\.description) == [])
      try store.close()
    }
    let branch = try superblock(path).branch
    #expect(branch != StoreBranch() && !branch.isUnopenedCopy)
  }

  @Test("The golden stores of copies have the branch that their names indicate, and their records are bound")
  func kinds() throws {
    for golden in GoldenStore.all where golden.version == 7 {
      let superblock = try superblock(golden.path)
      #expect(superblock.incompatibleFeatures & FormatVersion.boundRecords != 0, "\(golden)")
      #expect(superblock.branch.isUnopenedCopy == (golden.kind == .backup), "\(golden)")
      #expect((superblock.branch.high != 0) == (golden.kind == .restored), "\(golden)")
      let isCopy = golden.kind == .backup || golden.kind == .restored
      #expect((superblock.readOnlyCompatibleFeatures == FormatVersion.branches) == isCopy, "\(golden)")
    }
  }

  @Test("A golden backup in a folder can be restored, and can be the earlier backup only of its own branch")
  func folder() throws {
    let backup = GoldenStore(version: 7, kind: .backup)
    let directory = try copy(backup)
    let (golden, restored) = (directory.file("golden"), directory.file("restored"))
    try Store.restore(from: golden, to: restored)
    try checkRestored(restored)
    let files = try POSIXFileSystem().files(in: golden).filter { $0.key != "LOCK" }
    #expect(try files == backup.files())
    // The backup itself, opened for reading, keeps its branch. The restored store has another
    // branch.
    var reading = StoreOptions()
    reading.isReadOnly = true
    let source = try Store(at: golden, options: reading)
    let report = try source.backup(to: directory.file("next"), since: golden)
    #expect(report.bytesShared > 0)
    try source.close()
    let other = try Store(at: restored)
    let error = #expect(throws: StoreError.self) {
      try other.backup(to: directory.file("other"), since: golden)
    }
    #expect(error?.code == .invalidArgument)
    try other.close()
  }

  @Test("A golden backup stream is restored")
  func stream() throws {
    let directory = try TemporaryDirectory()
    let restored = directory.file("restored")
    try Store.restore(from: Self.stream, to: restored)
    let generations = try POSIXFileSystem().files(in: restored).filter { $0.key.hasSuffix(".segment") }
      .values.map { bytes in try bytes.withUnsafeBytes { try SegmentHeader(reading: $0).generation } }
    #expect(generations.contains { $0 > 0 })
    try checkRestored(restored)
  }

  @Test("A backup stream that this version writes is restored to the same content")
  func today() throws {
    let directory = try TemporaryDirectory()
    var rest = try GoldenGenerator.backupStream()[...]
    let restored = directory.file("restored")
    try Store.restore(to: restored) { count in
      defer { rest = rest.dropFirst(count) }
      return Array(rest.prefix(count))
    }
    try checkRestored(restored)
  }

  /// Not a test: see CONTRIBUTING.md, "Golden stores".
  @Test(
    "A new golden backup stream is written on request",
    .enabled(if: Environment.value(of: "PERDURE_WRITE_GOLDEN") != nil, "PERDURE_WRITE_GOLDEN is not set"))
  func write() throws {
    guard try POSIXFileSystem().kind(of: Self.stream) == nil else { return }
    let folder = String(Self.stream.dropLast("/backup.stream".count))
    try GoldenStore.write(["backup.stream": GoldenGenerator.backupStream()], to: folder)
  }
}
