import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Stores that an earlier version wrote")
struct GoldenStoreTests {
  private let history = GoldenHistory()

  /// A temporary directory with a copy of the store's files.
  private func copy(_ files: [String: [UInt8]]) throws -> TemporaryDirectory {
    let directory = try TemporaryDirectory()
    try GoldenStore.write(files, to: directory.path)
    return directory
  }

  private func open(_ path: String, readOnly: Bool = false) throws -> Store {
    var options = StoreOptions()
    options.createsIfMissing = false
    options.isReadOnly = readOnly
    options.registersAsReader = false
    options.compactsAutomatically = false
    return try Store(at: path, options: options)
  }

  /// Checks that a store has the content of its history with these changes of rows.
  private func check(_ store: Store, _ rows: [UInt64: [UInt8]?] = [:]) throws {
    var contents = history.contents
    for (id, value) in rows { contents[.row(id)] = value }
    #expect(try store.goldenContents() == contents)
    #expect(try store.verify().findings.map(\.description) == [])
  }

  @Test("Every value and every index entry of a golden store is present", arguments: GoldenStore.all)
  func reading(_ golden: GoldenStore) throws {
    let directory = try copy(golden.files())
    let store = try open(directory.path)
    try check(store)
    #expect(try store.goldenEntries() == history.entries(golden.kind))
    try store.close()
  }

  @Test("Golden stores can be written to, checkpointed and compacted", arguments: GoldenStore.all)
  func writing(_ golden: GoldenStore) throws {
    let directory = try copy(golden.files())
    // The values of rows 100 and 777 are too short for an index entry.
    let changed: [UInt64: [UInt8]?] = [3: nil, 100: [1], 777: [2, 3]]
    do {
      let store = try open(directory.path)
      let rows = try store.keyspace("rows", .dense)
      try store.write { transaction in
        for (id, value) in changed {
          if let value {
            try transaction.put(value, id: id, in: rows)
          } else {
            try transaction.remove(id: id, in: rows)
          }
        }
      }
      try store.close()
    }
    for step in 0..<3 {
      let store = try open(directory.path)
      try check(store, changed)
      if step == 0 { _ = try store.compact() } else { try store.checkpoint() }
      try check(store, changed)
      try store.close()
    }
  }

  @Test(
    "Opening a golden store for reading finds every value and changes no byte", arguments: GoldenStore.all)
  func readingOnly(_ golden: GoldenStore) throws {
    let files = try golden.files()
    let directory = try copy(files)
    let store = try open(directory.path, readOnly: true)
    try check(store)
    #expect(try store.goldenEntries() == history.entries(golden.kind))
    try store.close()
    #expect(try POSIXFileSystem().files(in: directory.path) == files)
  }

  @Test("Each golden store has the content that its name indicates")
  func kinds() throws {
    func has(_ suffix: String, _ golden: GoldenStore) throws -> Bool {
      try golden.files().keys.contains { $0.hasSuffix(suffix) }
    }
    for golden in GoldenStore.all {
      #expect(try has(".blob", golden) && has(".segment", golden))
      #expect(try has(".index", golden) == golden.hasIndexFile, "\(golden)")
      let generations = try golden.files().filter { $0.key.hasSuffix(".segment") }.values.map { bytes in
        try bytes.withUnsafeBytes { try SegmentHeader(reading: $0).generation }
      }
      let isRewritten = golden.kind == .rewritten || golden.kind == .grouped
      #expect(generations.contains { $0 > 0 } == isRewritten, "\(golden)")
      let directory = try copy(golden.files())
      let store = try open(directory.path)
      #expect((store.recoveryReport.tornTailBytes > 0) == (golden.kind == .cutOff), "\(golden)")
      #expect(try (store.statistics.groupedSegments > 0) == (golden.kind == .grouped), "\(golden)")
      #expect(store.recoveryReport.wasClosed == (golden.kind != .cutOff), "\(golden)")
      #expect((store.recoveryReport.checkpointSequence > 0) == golden.hasUsableCheckpoint, "\(golden)")
      let dictionaries = Set(try PackedStore.records(of: store).compactMap(\.dictionary))
      #expect(dictionaries == (golden.kind == .packed ? [0, 1, 2] : []), "\(golden)")
      try store.close()
    }
  }

  @Test(
    "Stores that this version writes have the content of the golden stores",
    arguments: GoldenStore.Kind.allCases)
  func today(_ kind: GoldenStore.Kind) throws {
    let directory = try copy(GoldenGenerator.files(of: kind))
    let store = try open(directory.path)
    try check(store)
    #expect(try store.goldenEntries() == history.entries(kind))
    try store.close()
  }

  /// Not a test: see CONTRIBUTING.md, "Golden stores".
  @Test(
    "New golden stores are written on request",
    .enabled(if: Environment.value(of: "PERDURE_WRITE_GOLDEN") != nil, "PERDURE_WRITE_GOLDEN is not set"))
  func write() throws {
    for golden in GoldenStore.all where golden.version == GoldenStore.newestVersion {
      guard try POSIXFileSystem().kind(of: golden.path) == nil else { continue }
      try GoldenStore.write(GoldenGenerator.files(of: golden.kind), to: golden.path)
    }
  }
}
