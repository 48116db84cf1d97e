import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

/// These tests run a shell script in place of a campaign. They examine how the process ends and
/// which output it leaves.
@Suite("A campaign in a separate process")
struct CampaignProcessTests {
  private struct Quiet: Campaign {
    let name = "quiet"
    let summary = "does nothing"
    func run(_ plan: ProofPlan, _ progress: ProofProgress) async throws -> CampaignResult { CampaignResult() }
  }

  private let plan = ProofPlan(seed: 7, scale: 0.5)

  /// Runs a script. Its first argument is the folder.
  private func run(_ script: String, looksMax: Int = 100_000) async throws -> CampaignResult {
    let process = CampaignProcess("sh", looksMax: looksMax, pause: .milliseconds(1)) {
      ["-c", script, "sh", $0.path]
    }
    return try await process.run(Quiet(), plan).result
  }

  @Test("The result contains the campaign's output, and the process's memory is measured")
  func result() async throws {
    let script = #"printf 'count kills 3\nreport two\\nlines\nend\n' > "$1/result""#
    let process = CampaignProcess("sh", looksMax: 100_000, pause: .milliseconds(1)) {
      ["-c", script, "sh", $0.path]
    }
    let (result, peakBytes) = try await process.run(Quiet(), plan)
    #expect(result.violations.map(\.description) == [])
    #expect(result.counts.kills == 3 && result.report == ["two\nlines"])
    #expect(peakBytes > 100 << 10)
  }

  @Test("Temporary files of a killed process are removed with its folder")
  func leftovers() async throws {
    let path = Guarded("")
    let script = #"mkdir "$TMPDIR/left" && test -d "$1/left" && kill -KILL $$; exit 3"#
    let process = CampaignProcess("sh", looksMax: 100_000, pause: .milliseconds(1)) { folder in
      path.withLock { $0 = folder.path }
      return ["-c", script, "sh", folder.path]
    }
    let violation = try #require(try await process.run(Quiet(), plan).result.violations.first)
    #expect(violation.what == "the process was ended by signal 9")
    #expect(try POSIXFileSystem().kind(of: path.withLock { $0 }) == nil)
  }

  @Test(
    "A signal, an exit code and a missing result are violations with a command that repeats the campaign"
  )
  func ends() async throws {
    for (script, what) in [
      ("kill -ABRT $$", "was ended by signal 6"), ("exit 3", "ended with the code 3"),
      ("exit 0", "ended without a result"),
      (#"printf 'count kills 3\n' > "$1/result""#, "ended without a result"),
      // The process writes its result and then traps.
      (#"printf 'end\n' > "$1/result"; kill -SEGV $$"#, "was ended by signal 11"),
    ] {
      let violation = try #require(try await run(script).violations.first)
      #expect(violation.what == "the process \(what)")
      #expect(violation.command == #"make prove ARGS="--only quiet --seed 7 --scale 0.5""#)
    }
  }

  @Test("A process that reports no progress is killed, which is a violation")
  func hang() async throws {
    // The script never reports progress, so the test does not depend on the speed of the machine.
    // On a busy machine, the watching process may not check it for minutes.
    let violation = try #require(try await run("exec sleep 1000000", looksMax: 5).violations.first)
    #expect(violation.what.hasSuffix("made no progress for 0.005 seconds, and was killed"))
  }

  @Test("The violation names the last steps before the end, and the command tries each of them alone")
  func notes() async throws {
    // The script replaces the campaign's desk by a desk with two notes.
    let directory = try TemporaryDirectory()
    let path = directory.file("desk")
    try ProofDesk.make(path)
    let progress = ProofProgress(desk: try ProofDesk(path)) { _ in }
    let notes = (progress.newNote(), progress.newNote())
    notes.0.begin("record|17")
    notes.0.step(4)
    notes.1.begin("segment|2")
    let violation = try #require(
      try await run("cp '\(path)' \"$1/desk\"; kill -ABRT $$").violations.first)
    #expect(violation.what == "the process was ended by signal 6, at one of record|17|4; segment|2")
    #expect(violation.command.contains("--only quiet --seed 7 --scale 0.5 --part 'record|17|4'\""))
    #expect(violation.command.contains("--part 'segment|2'\""))
    withExtendedLifetime(notes) {}
  }

  @Test(
    "A desk shows beats and current steps to another process, keeps at most 63 notes, and drops released notes"
  )
  func desk() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("desk")
    try ProofDesk.make(path)
    let progress = ProofProgress(desk: try ProofDesk(path)) { _ in }
    var notes = (0..<70).map { _ in progress.newNote() }
    for (number, note) in notes.enumerated() { note.begin("\(number)") }
    progress.beat()
    progress.advance(of: 1, "things")
    var look = try ProofDesk.Look(path)
    #expect(look.beats == 2 && look.notes.count == 63)
    notes = []
    look = try ProofDesk.Look(path)
    #expect(look.notes == [])
    let note = progress.newNote()
    note.begin(String(repeating: "long ", count: 1000))
    #expect(try ProofDesk.Look(path).notes.map(\.count) == [1008])
    note.begin("a")
    note.step(0)
    #expect(try ProofDesk.Look(path).notes == ["a|0"])
    note.begin("b")
    #expect(try ProofDesk.Look(path).notes == ["b"])
  }

  @Test("A result with any content is parsed as it was written; an incomplete result is refused")
  func text() throws {
    var result = CampaignResult()
    for (number, field) in ProofCounts.fields.enumerated() { result.counts[keyPath: field.path] = number }
    let report = ["", "a\\nb", "two\nlines\r\nthree", "end", "\u{301}accent", "last\r"]
    result.report = report
    result.violations = [ProofViolation("it\nbroke", command: "make \\"), ProofViolation("", command: "")]
    let again = try #require(CampaignResult(text: result.text))
    #expect(again.counts == result.counts)
    #expect(again.report == report)
    #expect(again.violations.map(\.description) == result.violations.map(\.description))
    for text in [
      "", "end", "report a\n", "violation a\nend\n", "command a\nend\n", "count flies 1\nend\n",
      "count kills x\nend\n", "count kills\nend\n", "what\nend\n", "end\nend \n",
    ] {
      #expect(CampaignResult(text: text) == nil, "\(text)")
    }
  }
}
