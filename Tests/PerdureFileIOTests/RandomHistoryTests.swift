import PerdureFileIO
import PerdureTestSupport
import Testing

@Suite("Random histories of file operations")
struct RandomHistoryTests {
  @Test("After random operations and a crash, files have all synced bytes and no unwritten bytes")
  func randomHistories() throws {
    let seed = SeededGenerator.seedFromEnvironment()
    for round in 0..<LongRun.count(5) {
      var random = SeededGenerator(seed: seed).derived(UInt64(round))
      let history = try RandomHistory(random: &random)
      var explorer = CrashExplorer(seed: seed)
      explorer.imagesPerOperationMax = 40
      let report = explorer.examine(history.fileSystem.journal) { image, context in
        try history.check(image, after: context.operation)
      }
      #expect(report.violation == nil, "PERDURE_SEED=\(seed) \(report)")
      #expect(report.lossCounts[.creation] ?? 0 > 0)
    }
  }
}

/// Random creations, appends and syncs of files, with the required and allowed content of each file
/// after each operation.
private struct RandomHistory {
  private struct Unsound: Error {
    let path: String
  }

  /// The requirements for one file after one operation.
  private struct Expectation {
    /// Whether the file must exist.
    var isNameDurable = false
    /// The required start of the file.
    var durable: [UInt8] = []
    /// The bytes written so far. The file may have any part of them.
    var written: [UInt8] = []
  }

  let fileSystem = SimulatedFileSystem()
  /// The requirements by number of operations, then by path.
  private var expectations: [Int: [String: Expectation]] = [0: [:]]

  init(random: inout SeededGenerator) throws {
    var current: [String: Expectation] = [:]
    var files: [String: any File] = [:]
    for step in 0..<60 {
      let path = "/\(step % 5)-\(Int.random(in: 0..<2, using: &random))"
      if let file = files[path] {
        var expectation = current[path] ?? Expectation()
        try Self.change(file, &expectation, UInt8(step), &random)
        current[path] = expectation
      } else {
        files[path] = try fileSystem.open(path, .create)
        current[path] = Expectation()
      }
      expectations[fileSystem.operationCount] = current
      if Int.random(in: 0..<8, using: &random) == 0 {
        try fileSystem.syncDirectory("/")
        current = current.mapValues { expectation in
          var synced = expectation
          synced.isNameDurable = true
          return synced
        }
        expectations[fileSystem.operationCount] = current
      }
    }
  }

  private static func change(
    _ file: any File, _ expectation: inout Expectation, _ byte: UInt8, _ random: inout SeededGenerator
  ) throws {
    if Int.random(in: 0..<3, using: &random) == 0 {
      try file.sync(.full)
      expectation.durable = expectation.written
    } else {
      let bytes = [UInt8](repeating: byte, count: Int.random(in: 1...700, using: &random))
      try file.write(bytes, at: UInt64(expectation.written.count))
      expectation.written += bytes
    }
  }

  func check(_ image: CrashImage, after operation: Int) throws {
    let expected = expectations[operation] ?? [:]
    for path in image.paths where expected[path] == nil { throw Unsound(path: path) }
    for (path, expectation) in expected {
      guard let bytes = image.bytes(at: path) else {
        if expectation.isNameDurable { throw Unsound(path: path) }
        continue
      }
      guard bytes.starts(with: expectation.durable), bytes.count <= expectation.written.count else {
        throw Unsound(path: path)
      }
    }
  }
}
