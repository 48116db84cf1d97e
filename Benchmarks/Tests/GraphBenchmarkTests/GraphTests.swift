import Foundation
import Measuring
import Testing

@testable import GraphBenchmark

private let script = Script(data: GraphData(workerCount: 2 * GraphData.companySize), scale: 0.01)

private let rows = Workload.allCases.map(\.rawValue)

private func outcome(
  of engine: any GraphEngine.Type, _ workloads: Set<Workload> = Set(Workload.allCases)
) throws -> Outcome {
  try Trial(
    script: script, repetitions: 1, workloads: workloads, comparesContent: true,
    folder: FileManager.default.temporaryDirectory
  )
  .run(engine)
}

@Suite struct GraphTests {
  @Test("All engines give the same answers and end with the same content")
  func agreement() throws {
    let outcomes = try Engines.all.map { try outcome(of: $0) }
    let report = try Report(settings: [], engines: outcomes.map(\.engine), rows: rows, outcomes)
    #expect(report.rows.count == Workload.allCases.count)
    // Every row has a figure of each engine, except for operations that plain classes cannot do.
    for row in report.rows {
      #expect(row.figures.dropLast().allSatisfy { $0 != nil }, "\(row.name)")
      let isPlain = PlainGraph.workloads.contains { $0.rawValue == row.name }
      #expect((row.figures.last.flatMap(\.self) != nil) == isPlain)
    }
    #expect(report.table(processor: false).contains("| get by unique email | 200 | "))
  }

  @Test(
    "A curve has a line for each row and engine, and a column for each size"
  )
  func curve() throws {
    func report(_ nanoseconds: [Double?]) throws -> Report {
      let outcomes = nanoseconds.enumerated().map { place, nanoseconds in
        Outcome(
          engine: "engine \(place)",
          measurements: nanoseconds.map {
            var answer = Answer()
            answer.addChanges(1)
            let cost = Cost(seconds: $0 / 1e9, processorSeconds: $0 / 2e9)
            return [Measurement(row: "get by id", isPerObject: true, answer: answer, cost: cost)]
          } ?? [], content: Answer())
      }
      return try Report(
        settings: [], engines: outcomes.map(\.engine), rows: Curve.rows.map(\.rawValue), outcomes)
    }
    let curve = Curve([(try report([100, 10]), 2_000), (try report([150, nil]), 4_000)])
    let lines = curve.table(processor: false).split(separator: "\n").suffix(3)
    #expect(
      lines == [
        "| | engine | 2000 | 4000 | last / first |", "|---|---|--:|--:|--:|",
        "| get by id | engine 0 | 100 ns | 150 ns | 1.50 |",
      ])
    #expect(curve.table(processor: true).contains("| 50 ns | 75 ns | 1.50 |"))
  }

  @Test("A report of engines with different answers throws an error")
  func wrongAnswer() throws {
    let right = try outcome(of: SQLGraph<SQLiteAccessByC>.self, [.getByID])
    var wrong = right
    wrong.engine = "another"
    wrong.measurements[1].answer.add("something else")
    #expect(throws: GraphDisagreement.self) {
      try Report(settings: [], engines: [right.engine, wrong.engine], rows: rows, [right, wrong])
    }
  }

  @Test("A report of graphs with different final contents throws an error")
  func wrongEnd() throws {
    let right = try outcome(of: PlainGraph.self, [.getByID])
    let more = try outcome(of: PlainGraph.self, [.getByID, .deleteWorker])
    #expect(throws: GraphDisagreement.self) {
      try Report(settings: [], engines: [right.engine], rows: rows, [right, more])
    }
  }

  @Test("The JSON file has engine, row, number of workers and nanoseconds")
  func file() throws {
    let found = try outcome(of: PlainGraph.self, [.getByID])
    let report = try Report(settings: ["how"], engines: [found.engine], rows: rows, [found])
    let file = try JSONSerialization.jsonObject(with: Report.json([(report, 2_000)])) as? [String: Any]
    let results = try #require(file?["results"] as? [[String: Any]])
    #expect(results.count == 2)
    #expect(results[1]["engine"] as? String == "plain classes")
    #expect(results[1]["workload"] as? String == "get by id")
    #expect(results[1]["n"] as? Int == 2_000)
    #expect((results[1]["ns_per_op"] as? Double ?? 0) > 0)
  }

  @Test("Moved or removed workers are not managers, and no worker is both moved and removed")
  func leavingAndMoving() {
    #expect(!script.moves.isEmpty && !script.dismissals.isEmpty)
    let managers = Set((0..<script.data.workerCount).compactMap(script.data.manager))
    #expect(script.moves.allSatisfy { !managers.contains($0.worker) })
    #expect(script.dismissals.allSatisfy { !managers.contains($0) })
    #expect(Set(script.moves.map(\.worker)).isDisjoint(with: script.dismissals))
  }

  @Test("No two workers have the same email or the same rating")
  func distinctValues() {
    let workers = script.data.workers
    #expect(Set(workers.map(\.email)).count == workers.count)
    #expect(Set(workers.map(\.rating)).count == workers.count)
  }
}
