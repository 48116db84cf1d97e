import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@Suite("A store in use for some time")
struct SoakTests {
  private let plan = ProofPlan(seed: SeededGenerator.seedFromEnvironment(), scale: 1.5 / 60)

  @Test("Nothing grows without limit, every value is as written, and a closed store has no open file")
  func slice() async throws {
    var campaign = SoakCampaign()
    campaign.steps = 600
    let result = try await campaign.run(plan, .silent)
    for line in result.report { print(line) }
    #expect(result.violations.map(\.description) == [])
    #expect(result.counts.modelOperations > 10)
  }

  @Test(
    "Memory that grows slowly is detected, and memory that only varies is not", arguments: [true, false])
  func memory(_ grows: Bool) async throws {
    let samples = Guarded(0)
    var campaign = SoakCampaign()
    campaign.steps = 120
    campaign.ownMebibytes = {
      samples.withLock { count in
        count += 1
        return 20 + (grows ? 0.25 * Double(count) : 0) + [0, 3, 1, 2][count % 4]
      }
    }
    let alone = ProofPlan(seed: plan.seed, scale: plan.scale, hasProcessAlone: true)
    let result = try await campaign.run(alone, .silent)
    #expect(result.violations.contains { $0.what.contains("private memory") } == grows)
    #expect(samples.withLock { $0 } > 50)
  }

  @Test("The allowed growth per minute is lower in a long run", arguments: [7, 1])
  func minutes(_ mebibytesInAMinute: Double) async throws {
    let samples = Guarded(0.0)
    var campaign = SoakCampaign()
    (campaign.steps, campaign.secondsOfStep) = (120, 5)
    campaign.ownMebibytes = {
      samples.withLock { minutes in
        minutes += 1.0 / 6
        return 20 + mebibytesInAMinute * minutes
      }
    }
    let alone = ProofPlan(seed: plan.seed, scale: plan.scale, hasProcessAlone: true)
    let result = try await campaign.run(alone, .silent)
    #expect(result.violations.contains { $0.what.contains("private memory") } == (mebibytesInAMinute > 2))
  }

  @Test("Space that grows steadily is detected")
  func room() async throws {
    var campaign = SoakCampaign()
    campaign.fileSystem = GrowingFileSystem()
    campaign.steps = 600
    let result = try await campaign.run(plan, .silent)
    #expect(result.violations.contains { $0.what.contains("MiB in the directory") }, "\(result.violations)")
  }

  #if os(Linux)
    @Test("Files that are never closed are detected")
    func canary() async throws {
      var campaign = SoakCampaign()
      campaign.fileSystem = LeakingFileSystem()
      (campaign.steps, campaign.looksMax) = (300, 50)
      let result = try await campaign.run(plan, .silent)
      #expect(result.violations.contains { $0.what.contains("stay open") })
      // Detects the leak also while the store is in use, because each sample opens files.
      #expect(result.violations.contains { $0.what.contains("open files of the store") })
    }

    @Test("The first opening of an existing segment is not counted; a second one and removed segments are")
    func segments() {
      let names = ["1.segment", "2.segment", "1.segment", "3.segment (deleted)", "SUPERBLOCK"]
      let files = names.map { "/s/" + $0 }
      #expect(ProcessMeter.countWithoutSegments(files) == 3)
    }
  #endif
}

/// Adds 1 MiB to a store's directory each time it is listed.
private final class GrowingFileSystem: ForwardingFileSystem {
  let behind: any FileSystem = POSIXFileSystem()
  private let length = Guarded<UInt64>(0)

  func contents(of directory: String) throws(FileIOError) -> [String] {
    let names = try behind.contents(of: directory)
    guard names.contains("SUPERBLOCK") else { return names }
    let path = directory + "/grows"
    let file = try behind.open(path, try behind.kind(of: path) == nil ? .create : .readWrite)
    let end = length.withLock { length in
      length += 1 << 20
      return length
    }
    try file.write([0], at: end - 1)
    try file.close()
    return try behind.contents(of: directory)
  }
}

/// Keeps every opened file open.
private final class LeakingFileSystem: ForwardingFileSystem {
  let behind: any FileSystem = POSIXFileSystem()
  private let files = Guarded<[any File]>([])

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    let file = try behind.open(path, mode)
    files.withLock { $0.append(file) }
    return Unclosed(file)
  }

  private final class Unclosed: ForwardingFile {
    let behind: any File
    init(_ behind: any File) { self.behind = behind }
    func close() {}
  }
}
