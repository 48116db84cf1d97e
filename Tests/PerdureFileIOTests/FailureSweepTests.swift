import PerdureFileIO
import PerdureTestSupport
import Testing

@Suite("Sweeps over all failures")
struct FailureSweepTests {
  /// Writes three files of one byte with all necessary syncs; returns the names of the durable
  /// files.
  private static func program(_ fileSystem: any FileSystem) -> [String] {
    var done: [String] = []
    for name in ["/a", "/b", "/c"] {
      do {
        let file = try fileSystem.open(name, .create)
        try file.write([7], at: 0)
        try file.sync(.full)
        try fileSystem.syncDirectory("/")
        done.append(name)
      } catch { continue }
    }
    return done
  }

  private static func verify(_ done: [String], _ fileSystem: SimulatedFileSystem) throws {
    var explorer = CrashExplorer(seed: 1)
    explorer.imagesPerOperationMax = 8
    for image in explorer.images(of: fileSystem.journal, after: fileSystem.operationCount) {
      for name in done where image.bytes(at: name) != [7] { throw Lost(name: name) }
    }
  }

  private struct Lost: Error {
    let name: String
  }

  @Test("A correct program passes if each of its calls fails, once or permanently")
  func sound() throws {
    let report = FailureSweep(seed: 1).run(program: Self.program, verify: Self.verify)
    try report.check()
    // There are four calls per file, and each file has one write and one sync.
    #expect(report.runs[.mediaError] == 24 && report.runs[.interrupted] == 24)
    #expect(report.runs[.shortWrite] == 6 && report.runs[.syncDropsPages] == 6)
    #expect(report.runs[.shortRead] == 0)
    #expect(report.struckCount == 8 * 24 + 3 * 6)
  }

  @Test("The seed chooses a part of a sweep")
  func part() throws {
    var sweep = FailureSweep(seed: 5)
    sweep.part = 0.3
    let report = sweep.run(program: Self.program, verify: Self.verify)
    #expect((20...110).contains(report.struckCount))
    #expect(report.runs == sweep.run(program: Self.program, verify: Self.verify).runs)
  }

  @Test("The report of an ignored sync error names the failed call and a command that repeats it")
  func broken() throws {
    let program = { (fileSystem: SimulatedFileSystem) throws -> [String] in
      let file = try fileSystem.open("/a", .create)
      try file.write([7], at: 0)
      try? file.sync(.full)
      try fileSystem.syncDirectory("/")
      return ["/a"]
    }
    let tolerant = { (fileSystem: SimulatedFileSystem) in (try? program(fileSystem)) ?? [] }
    let violation = try #require(
      FailureSweep(seed: 1).run(program: tolerant, verify: Self.verify).violation)
    let (kind, failure) = (try #require(violation.kind), try #require(violation.failure))
    #expect(violation.description.contains("Lost") && violation.trace.contains { $0.contains("sync /a") })
    #expect(violation.description.contains("This run alone: sweep.run(only: ."))
    let again = FailureSweep(seed: 2).run(
      only: kind, nth: failure.nth, repeats: failure.repeats, program: tolerant, verify: Self.verify)
    #expect(again.violation?.reason == violation.reason)
    let any = FailureSweep(seed: 2).run(only: failure, program: tolerant, verify: Self.verify)
    #expect(any.violation?.reason == violation.reason && any.struckCount == 1 && any.runs.isEmpty)
  }

  @Test("A program that retries without end is reported, and the sweep ends")
  func endless() throws {
    var sweep = FailureSweep(seed: 1)
    (sweep.kinds, sweep.failedCallsMax) = ([.interrupted], 100)
    let report = sweep.run { fileSystem in
      while (try? fileSystem.open("/a", .create)) == nil {}
    } verify: { _, _ in
    }
    let violation = try #require(report.violation)
    #expect(violation.failure?.repeats == true)
    #expect(violation.reason.contains("after 100 calls had failed"))
  }

  @Test("A report has the seed, and the number of runs for each kind of failure")
  func described() {
    let report = FailureSweep(seed: 1).run(program: Self.program, verify: Self.verify)
    #expect(report.description.hasPrefix("described(): 12 calls, 210 runs in which one failed (EIO 24, "))
    #expect(report.description.contains("short read 0, "))
    #expect(report.description.hasSuffix(", FailureSweep(seed: 1)"))
  }
}
