import PerdureFileIO
import PerdureTestSupport
import Testing

/// A minimal log: numbers of one byte, each followed by its complement, appended and synced.
private struct TinyLog {
  let file: any File
  private var length: UInt64

  init(_ fileSystem: SimulatedFileSystem, syncsDirectory: Bool = true) throws {
    if try fileSystem.kind(of: "/log") == nil {
      file = try fileSystem.open("/log", .create)
      if syncsDirectory { try fileSystem.syncDirectory("/") }
    } else {
      file = try fileSystem.open("/log", .readWrite)
    }
    length = UInt64(try Self.numbers(in: file).count * 2)
  }

  mutating func append(_ number: UInt8, syncs: Bool = true) throws {
    try file.write([number, ~number], at: length)
    if syncs { try file.sync(.full) }
    length += 2
  }

  /// The numbers before the first incomplete pair.
  static func numbers(in file: any File) throws -> [UInt8] {
    let bytes = try file.read(Int(try file.size()), at: 0)
    var numbers: [UInt8] = []
    for index in stride(from: 0, to: bytes.count - 1, by: 2) {
      guard bytes[index] == ~bytes[index + 1] else { break }
      numbers.append(bytes[index])
    }
    return numbers
  }
}

private struct Lost: Error {
  let labels: [Int]
}

/// Checks that the log contains the acknowledged numbers.
private func verify(_ image: CrashImage, _ context: CrashContext) throws {
  let numbers = try TinyLog.numbers(in: TinyLog(image.fileSystem()).file).map { Int($0) }
  guard numbers.starts(with: context.acknowledged) else { throw Lost(labels: context.acknowledged) }
}

@Suite("The crash explorer")
struct CrashExplorerTests {
  private func run(syncs: Bool = true, syncsDirectory: Bool = true, steps: Int = 20) throws -> CrashReport {
    var explorer = CrashExplorer()
    explorer.sectorLength = 1
    return try explorer.explore(
      workload: { fileSystem, marker in
        var log = try TinyLog(fileSystem, syncsDirectory: syncsDirectory)
        for step in 1...steps {
          marker.begin(step)
          try log.append(UInt8(step), syncs: syncs)
          marker.acknowledge(step)
        }
      }, verify: verify)
  }

  @Test("A correct log passes the check")
  func correct() throws {
    let report = try run()
    try report.check()
    #expect(report.operationCount == 42)
    #expect(report.distinctImageCount > 60)
    #expect(report.checkedCount >= report.distinctImageCount)
    #expect(report.lossCounts[.tornWrite] ?? 0 > 0)
    #expect(report.lossCounts[.creation] ?? 0 > 0)
  }

  @Test("A log without syncs is detected, and the report says how to repeat the run")
  func unsynced() throws {
    let violation = try #require(try run(syncs: false).violation)
    #expect(violation.reason.contains("Lost"))
    #expect(violation.description.contains("PERDURE_SEED=\(violation.seed)"))
    #expect(violation.description.contains("LOST"))
    #expect(violation.description.contains("write /log 2 bytes at 0"))
    #expect(throws: (any Error).self) { try verify(violation.image, self.context(of: violation)) }
  }

  private func context(of violation: CrashViolation) -> CrashContext {
    CrashContext(operation: violation.operation, begun: [1], acknowledged: [1], losses: violation.losses)
  }

  @Test("A log that does not sync its file's name is detected")
  func unsyncedName() throws {
    let violation = try #require(try run(syncsDirectory: false).violation)
    #expect(violation.losses.contains(.creation))
  }

  @Test("A log on a disk that ignores syncs is detected")
  func canary() throws {
    let fileSystem = SimulatedFileSystem(ignoresSync: true)
    var log = try TinyLog(fileSystem)
    for step in 1...3 {
      try log.append(UInt8(step))
      fileSystem.marker.promise(step)
    }
    let report = CrashExplorer().examine(fileSystem.journal, verify: verify)
    #expect(report.violation != nil)
  }

  @Test("The context of a check has the steps begun and acknowledged before the crash")
  func marks() throws {
    var seen: Set<[Int]> = []
    _ = try CrashExplorer().explore { fileSystem, marker in
      marker.begin(7)
      try fileSystem.createDirectory("/a")
      marker.acknowledge(7)
      marker.begin(8)
      try fileSystem.createDirectory("/b")
    } verify: { _, context in
      seen.insert([context.operation, context.begun.count, context.acknowledged.count])
    }
    #expect(seen == [[0, 1, 0], [1, 2, 1], [2, 2, 1]])
  }

  @Test("A check can explore crashes during recovery")
  func nested() throws {
    var recoveries = 0
    let report = try CrashExplorer().explore { fileSystem, marker in
      var log = try TinyLog(fileSystem)
      try log.append(1)
      marker.promise(1)
      try log.append(2)
    } verify: { image, context in
      let recovery = try CrashExplorer(seed: 3).explore(on: image) { fileSystem, _ in
        var log = try TinyLog(fileSystem)
        try log.append(9)
      } verify: { image, _ in
        recoveries += 1
        try verify(image, context)
      }
      try recovery.check(allowing: [.noAcknowledgement])
    }
    try report.check()
    #expect(recoveries > report.checkedCount)
  }

  @Test("A small store yields thousands of distinct disks")
  func many() throws {
    var explorer = CrashExplorer(seed: 5)
    explorer.sectorLength = 16
    explorer.checksMax = 20_000
    let report = try explorer.explore { fileSystem, marker in
      try fileSystem.createDirectory("/store")
      let files = try (0..<4).map { try fileSystem.open("/store/\($0)", .create) }
      var random = SeededGenerator(seed: 1)
      var lengths = [UInt64](repeating: 0, count: files.count)
      for step in 0..<200 {
        let index = Int.random(in: 0..<files.count, using: &random)
        let bytes = [UInt8](repeating: UInt8(step & 255), count: Int.random(in: 1...90, using: &random))
        try files[index].write(bytes, at: lengths[index])
        lengths[index] += UInt64(bytes.count)
        if step % 5 == 4 { try files[index].sync(.full) }
        marker.promise(step)
      }
    } verify: { _, _ in
    }
    #expect(report.distinctImageCount >= 5_000, "\(report)")
  }

  @Test("If the exploration ends early, the report states this")
  func complete() throws {
    var explorer = CrashExplorer(seed: 5)
    func report() throws -> CrashReport {
      try explorer.explore { fileSystem, _ in
        for name in ["/a", "/b", "/c"] { _ = try fileSystem.open(name, .create) }
      } verify: { _, _ in
      }
    }
    #expect(try report().isComplete)
    explorer.checksMax = 3
    let early = try report()
    #expect(!early.isComplete && early.checkedCount == 3)
    #expect(early.description.contains("ended before every disk was checked"))
  }

  @Test("A recovery depth without a recovery closure stops the process")
  func unusedDepth() async {
    await #expect(processExitsWith: .failure) {
      var explorer = CrashExplorer(seed: 1)
      explorer.recoveryDepth = 1
      _ = explorer.examine(SimulatedFileSystem().journal) { _, _ in }
    }
  }
}
