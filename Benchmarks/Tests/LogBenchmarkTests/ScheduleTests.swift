import Testing

@testable import LogBenchmark

@Suite("Schedule of the engine's benchmark")
struct ScheduleTests {
  private func schedule(_ parts: [Part] = Part.allCases, engines: [EngineName]? = nil) -> Schedule {
    Schedule(
      parts: parts, shapes: Shape.allCases, workloads: Workload.allCases, engines: engines,
      records: 1_000_000, largeRecords: 10_000_000, operations: 100_000, durableCommits: 1_000, rounds: 3)
  }

  @Test("The first round of every part precedes all second rounds")
  func order() throws {
    let turns = schedule().turns
    let second = try #require(turns.firstIndex { $0.plan.round == 1 })
    #expect(turns[second...].allSatisfy { $0.part == .main })
    #expect(Set(turns[..<second].map(\.part)) == Set(Part.allCases))
    #expect(turns.count == 3 * 4 + 2 + 2)
  }

  @Test("Every workload has a turn, and steady workloads run only in steady turns")
  func workloads() {
    let turns = schedule().turns
    #expect(Set(turns.flatMap(\.plan.workloads)) == Set(Workload.allCases))
    for turn in turns {
      #expect(turn.plan.workloads.contains { Workload.steady.contains($0) } == (turn.part == .steady))
      #expect(turn.part == .steady || turn.plan.workloads.contains(turn.plan.load))
    }
  }

  @Test("By default all engines run the main part; if engines are selected, only they run")
  func engines() {
    #expect(schedule([.main]).turns.allSatisfy { $0.engines == EngineName.allCases })
    #expect(schedule([.large], engines: [.sqlite]).turns.allSatisfy { $0.engines == [.sqlite] })
    // Only Perdure overwrites many records.
    #expect(schedule([.steady], engines: [.sqlite]).turns.map(\.plan.records) == [1_000_000])
  }

  @Test("Workloads with records of 1 KiB have a quarter of the records and half of the operations")
  func sizes() throws {
    let turn = try #require(schedule([.main]).turns.first { $0.plan.shape == .dense1024 })
    #expect(turn.plan.records == 250_000)
    #expect(turn.plan.operations == 50_000)
  }

  @Test("A schedule without large records omits the large part")
  func noLarge() {
    var schedule = schedule()
    schedule.largeRecords = 0
    #expect(schedule.turns.allSatisfy { $0.plan.records <= 1_000_000 && $0.part != .large })
  }
}
