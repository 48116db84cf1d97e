import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@Suite("Histories compared with a model")
struct ModelsTests {
  @Test("Random histories give the model's answers, and the same answers again under other options")
  func slice() async throws {
    let seed = SeededGenerator.forTest("histories").seed
    let plan = ProofPlan(seed: seed, scale: 0.001)
    let (result, sum) = try await ModelsCampaign().runCounting(plan, .silent)
    for violation in result.violations { Issue.record("\(violation)") }
    for line in result.report { print(line) }
    #expect(result.counts.modelOperations >= 10_000)
    // The histories have consecutive numbers, and every eighth one is repeated.
    #expect(sum.histories > 0 && sum.variants == (sum.histories + 7) / 8)
  }

  @Test("The kept histories pass", arguments: KeptHistory.all)
  func kept(_ kept: KeptHistory) throws {
    let history = try History(kept.text)
    #expect(try HistoryRun.run(history, InMemoryFileSystem()).answers > 0)
    #expect(try HistoryRun.run(history, SimulatedFileSystem()).answers > 0)
  }

  @Test("A printed history is parsed as the same history")
  func text() throws {
    let random = SeededGenerator.forTest("texts of histories")
    for round in 0..<20 as Range<UInt64> {
      let history = HistoryGenerator.history(seed: random.derived(round).seed, steps: 200)
      #expect(try History("\(history)") == history)
    }
  }

  @Test("A text that is not a history is refused without a trap")
  func hostileText() throws {
    let history = HistoryGenerator.history(seed: SeededGenerator.forTest("broken texts").seed, steps: 20)
    let lines = "\(history)".split(separator: "\n")
    for text in [
      "", "universe 1 1 1 1", "\(lines[0])\n\(lines[1])\nread 1", "\(lines[0])\n\(lines[1])\nfly 1",
      "\(lines[0])\n\(lines[1])\ncommit 1000000", "\(lines[0])\n\(lines[1])\nhold x",
      "\(lines[0])\n\(lines[1])\nhold 1 1",
    ] {
      #expect(throws: Violation.self) { try History(text) }
    }
  }

  @Test("Two runs of a history give the same answers, and another history gives different ones")
  func digests() throws {
    let random = SeededGenerator.forTest("digests")
    let history = HistoryGenerator.history(seed: random.seed, steps: 100)
    let outcome = try HistoryRun.run(history, InMemoryFileSystem())
    #expect(try HistoryRun.run(history, InMemoryFileSystem()) == outcome)
    let other = HistoryGenerator.history(seed: random.derived(1).seed, steps: 100)
    #expect(try HistoryRun.run(other, InMemoryFileSystem()).digest != outcome.digest)
  }
}
