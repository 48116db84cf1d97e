import PerdureFileIO
import PerdureTestSupport
import Testing

private struct Lost: Error {}

/// Creates three directories. The last one is acknowledged although it is not synced.
private func report(_ explorer: CrashExplorer) throws -> CrashReport {
  try explorer.explore { fileSystem, marker in
    for number in 1...3 {
      marker.begin(number)
      try fileSystem.createDirectory("/\(number)")
      if number < 3 { try fileSystem.syncDirectory("/") }
      marker.acknowledge(number)
    }
  } verify: { image, context in
    for number in context.acknowledged where !image.paths.contains("/\(number)/") { throw Lost() }
  }
}

@Suite("Repeating a crash that violates a check")
struct CrashReplayTests {
  private let violation: CrashViolation

  init() throws { violation = try #require(try report(CrashExplorer(seed: 5)).violation) }

  @Test("A violation has the steps begun and acknowledged, and the operations around the crash")
  func marks() {
    #expect(violation.begun == [1, 2, 3] && violation.acknowledged == [1, 2, 3])
    #expect(violation.description.contains("Begun: 1 2 3; acknowledged: 1 2 3\n"))
    #expect(
      violation.trace.suffix(4)
        == [
          "#4 syncDirectory /", "-- 2 is acknowledged", "-- 3 begins", "#5 createDirectory /3: LOST",
          "-- 3 is acknowledged",
        ].suffix(4))
    #expect(violation.description.hasPrefix("init(): after a loss of power after operation #5 "))
  }

  @Test("The place in a violation's report repeats only this crash")
  func only() throws {
    var explorer = CrashExplorer(seed: violation.seed)
    explorer.only = violation.place
    let report = try report(explorer)
    let again = try #require(report.violation)
    #expect(report.checkedCount == 1 && again.image == violation.image && again.place == violation.place)
    #expect(again.trace == violation.trace)
  }

  @Test("A place at which no crash occurs is reported, and an invalid text is not a place")
  func nowhere() throws {
    var explorer = CrashExplorer(seed: 5)
    explorer.only = "4.17"
    let report = try report(explorer)
    let mistake = #expect(throws: SuiteMistake.self) { try report.check() }
    #expect(mistake?.kind == .noCheck && mistake?.description.contains("no crash 4.17") == true)
    for text in ["", "4", "4.", "a.1", "4.-1", "4.1/", "4.1.2"] {
      #expect(CrashPlace(text) == nil, "\(text)")
    }
    #expect(CrashPlace("19.3/4.0").description == "19.3/4.0")
  }

  @Test("A repeated crash may pass its check, even if no step was acknowledged before the crash")
  func passing() throws {
    var explorer = CrashExplorer(seed: 5)
    explorer.only = "0.0"
    try report(explorer).check()
  }

  @Test("A disk can be written to files and read from them")
  func files() throws {
    var disk = CrashImage.empty.fileSystem()
    try disk.createDirectory("/a")
    try disk.createDirectory("/a/empty")
    try disk.open("/a/bytes", .create).write([1, 2, 3], at: 0)
    _ = try disk.open("/nothing", .create)
    let directory = try TemporaryDirectory()
    try disk.currentImage.write(to: directory.file("disk"))
    let back = try CrashImage(contentsOf: directory.file("disk"))
    #expect(back == disk.currentImage)
    #expect(back.paths == ["/a/", "/a/bytes", "/a/empty/", "/nothing"])
    expectError(.alreadyExists) { try back.write(to: directory.file("disk")) }
    disk = back.fileSystem()
    #expect(try disk.open("/a/bytes", .read).read(9, at: 0) == [1, 2, 3])
  }
}

@Suite("The printed command repeats the failure")
struct SeedWordsTests {
  private func again(_ explorer: CrashExplorer) throws -> String {
    let violation = try #require(try report(explorer).violation)
    return violation.description.components("To run it again: ")
  }

  @Test("If the seed is from the environment or the default, the command sets PERDURE_SEED")
  func environment() throws {
    let explorer = CrashExplorer()
    #expect(try again(explorer).hasPrefix("PERDURE_SEED=\(explorer.seed) swift test --filter environment\n"))
    let seed = SeededGenerator.seedFromEnvironment()
    #expect(try again(CrashExplorer(seed: seed)).hasPrefix("PERDURE_SEED=\(seed) "))
  }

  @Test("If a derived generator seeds the explorer, the command has the original seed")
  func generator() throws {
    let random = SeededGenerator.forTest("a generator and its explorer")
    var part = random.derived(3).derived(1)
    var explorer = CrashExplorer(using: &part)
    #expect(explorer.seed != random.seed && part.origin == random.seed)
    #expect(try again(explorer).hasPrefix("PERDURE_SEED=\(random.seed) "))
    #expect(try again(explorer).contains("explorer.seed = \(explorer.seed); "))
    explorer.seed = 0x5EED_0001
    #expect(try again(explorer).contains("which has CrashExplorer(seed: \(0x5EED_0001 as UInt64))"))
  }

  @Test("If the seed is in the code, the command quotes the expression with the seed")
  func code() throws {
    let text = "swift test --filter code, which has "
    let seed = 0x5EED_0002 as UInt64
    #expect(try again(CrashExplorer(seed: seed)).hasPrefix("\(text)CrashExplorer(seed: \(seed))"))
    var random = SeededGenerator(seed: seed).derived(1)
    #expect(try again(CrashExplorer(using: &random)).hasPrefix("\(text)SeededGenerator(seed: \(seed))"))
  }

  @Test("The violation of a failure sweep has the Swift call that repeats only this run")
  func sweeps() throws {
    func alone(_ report: FailureReport) throws -> String {
      try #require(report.violation).description.components("This run alone: ")
    }
    let sweep = FailureSweep(seed: 1)
    let program = { (fileSystem: SimulatedFileSystem) in
      for name in ["/a", "/SUPER", "/SUPER2"] { try fileSystem.open(name, .create).sync(.full) }
    }
    let ofKind = sweep.run(only: .noSpace, nth: 2, repeats: true, program: program) { _, _ in }
    #expect(try alone(ofKind) == "sweep.run(only: .noSpace, nth: 2, repeats: true)")
    let failure = InjectedFailure(
      of: .sync, nth: 2, code: .noSpace, effect: .forgetsWrites, pathContains: "SUPER")
    let text = """
      sweep.run(only: InjectedFailure(of: .sync, nth: 2, repeats: false, code: .noSpace, effect: .forgetsWrites, \
      pathContains: "SUPER"))
      """
    let custom = try alone(sweep.run(only: failure, program: program) { _, _ in })
    #expect(custom == text)
    let number = InjectedFailure(of: nil, repeats: true, errno: 5, effect: .partialWrite(byteCount: 3))
    let numbered = try alone(sweep.run(only: number, program: program) { _, _ in })
    #expect(
      numbered == """
        sweep.run(only: InjectedFailure(of: nil, nth: 1, repeats: true, errno: 5, \
        effect: .partialWrite(byteCount: 3)))
        """)
  }

  @Test("A seed in the environment is a decimal or hexadecimal number")
  func numbers() {
    #expect(SeededGenerator.seed(from: "17") == 17 && SeededGenerator.seed(from: "0xff") == 255)
    for text in ["", "hello", "0x", "-1", "1 "] { #expect(SeededGenerator.seed(from: text) == nil) }
  }
}

extension String {
  /// The part after the first occurrence of `text`, or the whole string if `text` is absent.
  fileprivate func components(_ text: String) -> String {
    var rest = self[...]
    while !rest.isEmpty, !rest.hasPrefix(text) { rest.removeFirst() }
    return rest.isEmpty ? self : String(rest.dropFirst(text.count))
  }
}

@Suite("A trap leaves a note that describes the step in which it occurred")
struct RunNotesTests {
  private func path(in output: [UInt8]) throws -> String {
    let lines = String(decoding: output, as: UTF8.self).split(separator: "\n")
    let line = try #require(
      lines.first { $0.hasPrefix("PerdureTestSupport: if this process traps or hangs, ") })
    return String(try #require(line.split(separator: " ").first { $0.hasSuffix(".txt") }))
  }

  private func text(_ path: String) throws -> String {
    let file = try POSIXFileSystem().open(path, .read)
    return String(decoding: try file.read(Int(try file.size()), at: 0), as: UTF8.self)
  }

  @Test("The note of a check has the seed and the place of the crash")
  func check() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = try CrashExplorer(seed: 0x5EED, name: "mine").explore { fileSystem, _ in
        try fileSystem.createDirectory("/a")
      } verify: { _, context in
        if context.operation == 1 { fatalError("on purpose") }
      }
    }
    let path = try path(in: try #require(result).standardErrorContent)
    let seed = 0x5EED as UInt64
    let expected = "mine, CrashExplorer(seed: \(seed)): explorer.seed = \(seed); explorer.only = \"1.0\" "
    #expect(try text(path).hasPrefix(expected))
    try POSIXFileSystem().remove(path)
  }

  @Test("The note of a failure sweep has the Swift call that repeats the run")
  func sweep() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var sweep = FailureSweep(seed: 1, name: "mine")
      sweep.kinds = [.readOnly]
      _ = sweep.run { fileSystem in
        if (try? fileSystem.createDirectory("/a")) == nil { fatalError("on purpose") }
      } verify: { _, _ in
      }
    }
    let path = try path(in: try #require(result).standardErrorContent)
    #expect(
      try text(path).contains("mine, FailureSweep(seed: 1): run(only: .readOnly, nth: 1, repeats: false) "))
    try POSIXFileSystem().remove(path)
  }

  @Test("A process that ends normally leaves no note")
  func end() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      _ = CrashExplorer(seed: 1).examine(SimulatedFileSystem().journal) { _, _ in }
    }
    let path = try path(in: try #require(result).standardErrorContent)
    #expect(try POSIXFileSystem().kind(of: path) == nil)
  }
}
