import PerdureFileIO
import PerdureLog
import PerdureProving
import PerdureTestSupport
import Testing

/// Runs histories on deliberately wrong stores (BrokenStores.swift). The tests show that the
/// comparison of histories with a model detects errors.
@Suite("Histories detect errors of a store")
struct ModelsCanaryTests {
  @Test("A removal without effect is detected")
  func removal() throws {
    // The violation is a surplus value and never an inconsistency, because the store itself is
    // intact.
    try expectCaught(ForgottenTombstones(), notSaying: ["V1 at", "V2 at", "V3 at", "corruption"])
  }

  @Test("A compaction that drops a needed tombstone is detected")
  func tombstone() throws {
    // The first read of a removed key that reappears shows the error. Every byte of the store is as
    // it was written.
    try expectCaught(DroppedTombstones(), notSaying: ["V1 at", "V2 at", "corruption"])
  }

  @Test("A missing index entry is detected, although the index itself is consistent")
  func entry() throws { try expectCaught(MissingEntries(), notSaying: ["V4 at"]) }

  @Test("An unchecked precondition is detected")
  func precondition() throws {
    try expectCaught(UncheckedConditions(), saying: "it was committed, but should be refused")
  }

  @Test("A snapshot that sees later commits is detected")
  func stale() throws { try expectCaught(MovingSnapshots()) }

  @Test("A compaction that loses a live record is detected")
  func compaction() throws { try expectCaught(LossyCompactions()) }

  @Test("An answer that depends on the options is detected, even if it agrees with the model")
  func unsteady() async throws {
    let seed = SeededGenerator.forTest("unsteady answers").seed
    let plan = ProofPlan(seed: seed, scale: 0.001)
    let (result, sum) = try await ModelsCampaign(on: UnsteadyAnswers()).runCounting(plan, .silent)
    #expect(!result.violations.isEmpty && sum.histories > 0)
    #expect(sum.variants == 0, "no repetition gives the same answers")
    let what = "two runs under different options give different answers"
    #expect(result.violations.allSatisfy { $0.what.contains(what) })
  }

  @Test("Damage is reported as corruption only if the checksum is checked", arguments: [false, true])
  func checksum(isChecked: Bool) throws {
    let value = HistoryValue(length: 300, serial: 9, style: .noise, seed: 5)
    let place = HistoryPlace(.rows, 1)
    let history = History(
      universe: HistoryUniverse(seed: 1, ids: 4, names: 4, side: 2), options: HistoryOptions(),
      steps: [.commit(HistoryCommit([HistoryChange(place, value)])), .read(.newest, .get(place))])
    let fileSystem = InMemoryFileSystem()
    let found = #expect(throws: HistoryFailure.self) {
      try HistoryRun.run(
        history, on: Checksums(areChecked: isChecked), fileSystem,
        beside: { step in
          if step == 1 { try flipBit(of: value.bytes, in: fileSystem) }
        })
    }
    #expect(found?.what.contains("does not have the value") == !isChecked)
    #expect(found?.what.contains("corruption") == isChecked)
  }

  @Test("A failing history is shrunk to at most four steps, and fails again when parsed from its description")
  func shrunk() throws {
    func reason(_ history: History) -> String? {
      do {
        _ = try HistoryRun.run(history, on: UncheckedConditions(), InMemoryFileSystem())
        return nil
      } catch { return "\(error)" }
    }
    let random = SeededGenerator.forTest("shrinking histories")
    let failing = try #require(
      (0..<100 as Range<UInt64>).lazy.map {
        HistoryGenerator.history(seed: random.derived($0).seed, steps: 60)
      }
      .first { reason($0) != nil })
    let shrunk = try #require(HistoryShrinking.shrink(failing, trialsMax: 400, reason))
    print(shrunk.history)
    #expect(shrunk.history.steps.count <= 4)
    #expect(try reason(History("\(shrunk.history)")) != nil)
  }

  @Test("A history that fails for two reasons is shrunk for the first reason")
  func sameReason() throws {
    let random = SeededGenerator.forTest("shrinking for a reason")
    let history = HistoryGenerator.history(seed: random.seed, steps: 40)
    // Every history fails, but only histories with at least half of the steps fail for the first
    // reason.
    let shrunk = HistoryShrinking.shrink(history, trialsMax: 200) { candidate in
      let count = candidate.steps.count
      return count >= 20 ? "step \(count): a value is gone" : "step 1: it does not open"
    }
    #expect(shrunk?.history.steps.count == 20)
    #expect(shrunk?.reason == "step 20: a value is gone")
  }

  /// - Parameter others: Messages of other errors, which the violation must not contain.
  private func expectCaught(
    _ subject: any HistorySubject, saying consequence: String = "", notSaying others: [String] = []
  ) throws {
    let found = try #require(try failure(of: subject))
    #expect(consequence.isEmpty || found.what.contains(consequence), "\(found)")
    #expect(!others.contains { found.what.contains($0) }, "\(found)")
  }

  /// The violation of the first history that fails; nil if none of 200 histories fails.
  private func failure(of subject: any HistorySubject) throws -> HistoryFailure? {
    let random = SeededGenerator.forTest("\(subject)")
    for number in 0..<200 as Range<UInt64> {
      let history = HistoryGenerator.history(seed: random.derived(number).seed, steps: 120)
      do { _ = try HistoryRun.run(history, on: subject, InMemoryFileSystem()) } catch let failure
        as HistoryFailure
      {
        print("history \(number): \(failure.description.prefix(200))")
        return failure
      }
    }
    return nil
  }

  private func flipBit(of value: [UInt8], in fileSystem: InMemoryFileSystem) throws {
    for name in try fileSystem.contents(of: "/h.perdure") where name.hasSuffix(".segment") {
      let file = try fileSystem.open("/h.perdure/\(name)", .readWrite)
      let count = Int(try file.size())
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 8)
      defer { buffer.deallocate() }
      _ = try file.read(into: buffer, at: 0)
      guard let start = Array(buffer).firstRange(of: value)?.lowerBound else { continue }
      buffer[start + 100] ^= 4
      try file.write(UnsafeRawBufferPointer(buffer), at: 0)
      return
    }
    Issue.record("no segment contains the value")
  }
}
