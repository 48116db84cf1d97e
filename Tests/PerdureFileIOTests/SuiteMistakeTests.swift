import PerdureFileIO
import PerdureTestSupport
import Testing

/// A simple suite, as a new user writes it: it creates numbered directories.
private struct Suite {
  var marks = true
  var looks = true
  var looksForSurplus = true
  /// The file system that the program uses instead of the one passed to it. If nil, it uses the one
  /// passed to it.
  var elsewhere: SimulatedFileSystem?

  private struct Lost: Error {}
  private struct Surplus: Error {}

  func report(_ explorer: CrashExplorer = CrashExplorer(seed: 1)) throws -> CrashReport {
    try explorer.explore { fileSystem, marker in
      let disk = elsewhere ?? fileSystem
      for number in 1...3 {
        if marks { marker.begin(number) }
        try disk.createDirectory("/\(number)")
        try disk.syncDirectory("/")
        if marks { marker.acknowledge(number) }
      }
    } verify: { image, context in
      let numbers = Set(image.paths.compactMap { Int($0.dropFirst().dropLast()) })
      if looks, !numbers.isSuperset(of: context.acknowledged) { throw Lost() }
      if looksForSurplus, marks, !numbers.isSubset(of: context.begun) { throw Surplus() }
    }
  }
}

@Suite("A crash suite that tests nothing is reported")
struct SuiteMistakeTests {
  private func expect(
    _ kind: SuiteMistake.Kind, saying text: String, _ report: CrashReport,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let mistake = #expect(throws: SuiteMistake.self, sourceLocation: sourceLocation) { try report.check() }
    #expect(mistake?.kind == kind, sourceLocation: sourceLocation)
    #expect(mistake?.description.contains(text) == true, "\(report)", sourceLocation: sourceLocation)
    #expect(mistake?.description.contains("check(allowing: [.\(kind)])") == true)
  }

  @Test(
    "A correct suite passes, and its report counts steps and checks"
  )
  func sound() throws {
    let report = try Suite().report()
    try report.check()
    #expect(report.mistakes.isEmpty)
    #expect(report.begunCount == 3 && report.acknowledgedCount == 3)
    #expect(report.promisingCheckCount > 3 && report.promisingCheckCount < report.checkedCount)
    #expect(report.description.contains("6 operations, 3 steps begun, 3 acknowledged; "))
    #expect(
      report.description.contains("\(report.promisingCheckCount) of them with acknowledged steps"))
  }

  @Test("A suite without acknowledgements is reported, unless the check allows that")
  func noAcknowledgement() throws {
    let report = try Suite(marks: false).report()
    try expect(.noAcknowledgement, saying: "marker.acknowledge(n)", report)
    try report.check(allowing: [.noAcknowledgement])
  }

  @Test("A suite whose checks all precede the first acknowledgement is reported")
  func checkedTooEarly() throws {
    var explorer = CrashExplorer(seed: 1)
    explorer.checksMax = 2
    try expect(.noAcknowledgement, saying: "checksMax", try Suite().report(explorer))
  }

  @Test("If a program uses another file system, the report recommends the one passed to the program")
  func noOperation() throws {
    let report = try Suite(elsewhere: SimulatedFileSystem()).report()
    try expect(.noOperation, saying: "StoreOptions.fileSystem", report)
  }

  @Test(
    "Wrong labels of steps are reported, with the operation before the label",
    arguments: [
      (["b1", "b1", "a1"], "step 1 has begun twice, after operation #1"),
      (["b1", "a1", "a1"], "step 1 was acknowledged twice, after operation #2"),
      (["b1", "a2"], "step 2 was acknowledged, but had not begun, after operation #1"),
      (["a1", "b1"], "step 1 was acknowledged, but had not begun, after operation #0"),
    ])
  func labels(_ marks: [String], _ text: String) throws {
    let report = try CrashExplorer(seed: 1).explore { fileSystem, marker in
      for (number, mark) in marks.enumerated() {
        let label = try #require(Int(mark.dropFirst()))
        if mark.hasPrefix("b") { marker.begin(label) } else { marker.acknowledge(label) }
        try fileSystem.createDirectory("/\(number)")
      }
    } verify: { _, _ in
    }
    try expect(.labels, saying: text, report)
    try report.check(allowing: [.labels])
  }

  @Test("Steps may overlap, and a promise needs no begun step and may be repeated")
  func overlapping() throws {
    let report = try CrashExplorer(seed: 1).explore { fileSystem, marker in
      marker.begin(1)
      marker.begin(2)
      try fileSystem.createDirectory("/a")
      marker.acknowledge(2)
      marker.acknowledge(1)
      for _ in 0..<2 { marker.promise(7) }
    } verify: { _, _ in
    }
    try report.check()
    #expect(report.acknowledgedCount == 3)
  }

  @Test(
    "A recovery may acknowledge the program's steps and repeat its own, but not acknowledge unknown steps")
  func recoveries() throws {
    func report(_ label: Int) throws -> CrashReport {
      var explorer = CrashExplorer(seed: 1)
      explorer.recoveryDepth = 2
      return try explorer.explore { fileSystem, marker in
        marker.begin(1)
        try fileSystem.createDirectory("/a")
      } recover: { fileSystem, context in
        if context.begun.contains(1) { fileSystem.marker.acknowledge(label) }
        fileSystem.marker.begin(5)
        if try fileSystem.kind(of: "/a") == nil { try fileSystem.createDirectory("/a") }
        fileSystem.marker.acknowledge(5)
      } verify: { _, _ in
      }
    }
    try report(1).check()
    try expect(.labels, saying: "step 9 was acknowledged, but had not begun", try report(9))
  }
}

@Suite("Deliberate mistakes of an explorer")
struct CrashCanaryKindTests {
  private func report(_ canary: CrashCanary, _ suite: Suite = Suite()) throws -> CrashReport {
    var explorer = CrashExplorer(seed: 1)
    explorer.canary = canary
    return try suite.report(explorer)
  }

  @Test(
    "A suite that checks for lost data, and for data of steps that had not begun, detects every canary",
    arguments: CrashCanary.allCases)
  func noticed(_ canary: CrashCanary) throws {
    let report = try report(canary)
    let violation = try #require(report.violation)
    #expect(violation.reason.contains(canary == .beginsLate ? "Surplus" : "Lost"))
    #expect(report.description.contains("with the canary \(canary)"))
    #expect(violation.description.contains("explorer.canary = .\(canary); explorer.only = "))
    #expect(throws: CrashViolation.self) { try report.check() }
  }

  @Test(
    "A suite that checks nothing detects no canary, and the report states this",
    arguments: CrashCanary.allCases)
  func blind(_ canary: CrashCanary) throws {
    let report = try report(canary, Suite(looks: false, looksForSurplus: false))
    #expect(report.violation == nil && report.mistakes.map(\.kind) == [.canary])
    let mistake = #expect(throws: SuiteMistake.self) { try report.check() }
    #expect(mistake?.kind == .canary && mistake?.description.contains("The canary \(canary)") == true)
    try report.check(allowing: [.canary])
  }

  @Test(
    "The check for lost data and the check for data of steps that had not begun detect different canaries")
  func sides() throws {
    #expect(try report(.beginsLate, Suite(looksForSurplus: false)).violation == nil)
    #expect(try report(.acknowledgesEarly, Suite(looks: false)).violation == nil)
  }
}

@Suite("A failure sweep that tests nothing is reported")
struct SweepMistakeTests {
  private func program(_ fileSystem: SimulatedFileSystem) throws -> Bool {
    guard let file = try? fileSystem.open("/a", .create), (try? file.write([7], at: 0)) != nil else {
      return false
    }
    return (try? file.sync(.full)) != nil && (try? fileSystem.syncDirectory("/")) != nil
  }

  private struct Lost: Error {}

  private func verify(_ isThere: Bool, _ fileSystem: SimulatedFileSystem) throws {
    let images = CrashExplorer(seed: 1).images(of: fileSystem.journal, after: fileSystem.operationCount)
    for image in images where isThere && image.bytes(at: "/a") != [7] { throw Lost() }
  }

  private func expect(_ kind: SuiteMistake.Kind, saying text: String, _ report: FailureReport) {
    let mistake = #expect(throws: SuiteMistake.self) { try report.check() }
    #expect(mistake?.kind == kind && mistake?.description.contains(text) == true, "\(report)")
  }

  @Test("The report of a program without calls recommends the file system passed to the program")
  func noCall() throws {
    let report = FailureSweep(seed: 1).run { _ in
      1
    } verify: { _, _ in
    }
    expect(.noOperation, saying: "StoreOptions.fileSystem", report)
    try report.check(allowing: [.noOperation])
  }

  @Test(
    "A sweep whose failures cannot occur at any call is reported; the report names each with the count 0")
  func nothingStruck() throws {
    var sweep = FailureSweep(seed: 1)
    sweep.kinds = [.shortRead]
    let report = sweep.run(program: program, verify: verify)
    expect(
      .noFailure, saying: "None of the 4 calls of the program can have the requested failure (short read)",
      report)
    #expect(report.description.contains("(short read 0)"))
    try report.check(allowing: [.noFailure])
  }

  @Test("A run whose failure is planned after the last call of the program is reported")
  func onlyFar() {
    let sweep = FailureSweep(seed: 1)
    let report = sweep.run(
      only: .mediaError, nth: 2000, repeats: false, program: program, verify: verify)
    expect(.noFailure, saying: "fewer calls than", report)
  }

  @Test("A run in which the program throws counts as a run with a failed call")
  func wrongRun() {
    let report = FailureSweep(seed: 1).run(only: .mediaError, nth: 1, repeats: false) { fileSystem in
      try fileSystem.createDirectory("/a")
    } verify: { _, _ in
    }
    #expect(report.violation != nil && report.struckCount == 1 && report.runs == [.mediaError: 1])
  }

  @Test("The trace shows a hidden failure of a directory's sync")
  func hiddenDirectorySync() throws {
    var sweep = FailureSweep(seed: 1)
    sweep.hidesFailedSyncs = true
    let failure = InjectedFailure(of: .syncDirectory)
    let report = sweep.run(only: failure, program: program, verify: verify)
    let violation = try #require(report.violation)
    #expect(violation.trace.contains { $0.contains("syncDirectory / failed") })
  }

  @Test("Only a check of the disks after a power cut detects hidden failures of syncs")
  func hiddenSyncs() throws {
    var sweep = FailureSweep(seed: 1)
    sweep.hidesFailedSyncs = true
    let report = sweep.run(program: program, verify: verify)
    let violation = try #require(report.violation)
    #expect(violation.reason.contains("Lost") && violation.trace.contains { $0.contains("sync") })
    #expect(violation.description.contains("This run alone: sweep.hidesFailedSyncs = true; sweep.run(only: "))
    #expect(report.summary.contains("failed syncs reported success"))
    #expect(throws: FailureViolation.self) { try report.check() }
    let blind = sweep.run(program: program) { _, _ in }
    #expect(blind.violation == nil && blind.struckCount > 0)
    expect(.canary, saying: "A hidden failure of a sync was not detected", blind)
    try blind.check(allowing: [.canary])
    sweep.hidesFailedSyncs = false
    try sweep.run(program: program, verify: verify).check()
  }
}
